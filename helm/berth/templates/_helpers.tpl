{{- define "berth.labels" -}}
app.kubernetes.io/name: berth-operator
app.kubernetes.io/part-of: berth
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "berth.selector" -}}
app.kubernetes.io/name: berth-operator
{{- end }}

{{- define "berth.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "berth.schedulerImage" -}}
{{ .Values.scheduler.image | default (include "berth.image" .) }}
{{- end }}

{{- /* The names of the Secrets with which images are pulled, as a JSON list, which is one of CEL too. */}}
{{- define "berth.imagePullSecrets" -}}
{{- $names := list -}}
{{- range .Values.imagePullSecrets }}{{ $names = append $names .name }}{{ end -}}
{{ $names | toJson }}
{{- end }}

{{- /* The images that schedulers may run, as a JSON list, which is one of CEL too. */}}
{{- define "berth.allowedImages" -}}
{{- $release := list (include "berth.schedulerImage" .) (include "berth.image" .) -}}
{{- $upstream := ternary (list "registry.k8s.io/kube-scheduler") list (has "KubeScheduler" .Values.profiles.allowed.engines) -}}
{{ concat $release $upstream .Values.profiles.allowed.images | uniq | toJson }}
{{- end }}

{{- /* CEL: whether the schedulers may run the image of that expression. A repository is every version of it, which begins
with a colon or an @ and has no slash; so it is not what else begins with its name, nor a registry with a port. */}}
{{- define "berth.isAllowedImage" -}}
{{ index . 0 }}.exists(entry, entry.endsWith('/') ? {{ index . 1 }}.startsWith(entry)
: entry == {{ index . 1 }} || (!entry.matches('[:@][^/]*$') && {{ index . 1 }}.startsWith(entry)
&& {{ index . 1 }}.substring(entry.size()).matches('^[:@][^/\\s]*$')))
{{- end }}

{{- /* CEL: the keys of a map that have a domain and are not among a list of keys and domains. */}}
{{- define "berth.excessKeys" -}}
{{ index . 0 }}.filter(key, key.contains('/') && !{{ index . 1 }}.exists(entry,
entry.endsWith('/') ? key.startsWith(entry) : key == entry))
{{- end }}

{{- /* An admission policy takes effect by a binding: called with the context and the policy's name. */}}
{{- define "berth.policyBinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: {{ index . 1 }}
  labels:
    {{- include "berth.labels" (index . 0) | nindent 4 }}
spec:
  policyName: {{ index . 1 }}
  validationActions: [Deny]
{{- end }}

{{- /* CEL: the sentence about what a profile may not have, as the operator words it. Called with the path, the CEL
expression of the value, the list of what is allowed, and the name of that list in profiles.allowed. */}}
{{- define "berth.excessMessage" -}}
{{ printf "%s: " (index . 0) | toJson }} + {{ index . 1 }} + {{ printf
" is not among what profiles may have here (%s); change it, or have it added to profiles.allowed.%s of the chart"
(index . 2 | join ", " | default "none") (index . 3) | toJson }}
{{- end }}
