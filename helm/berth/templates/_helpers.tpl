{{- /* The name of the operator's objects. It begins with berth- only where it is the default, because the objects of a
profile are called berth-NAME. */}}
{{- define "berth.fullname" -}}
{{ .Values.fullnameOverride | default "berth-operator" }}
{{- end }}

{{- define "berth.name" -}}
{{ .Values.nameOverride | default "berth-operator" }}
{{- end }}

{{- define "berth.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "berth.fullname" .) }}
{{- end }}

{{- define "berth.selector" -}}
app.kubernetes.io/name: {{ include "berth.name" . | quote }}
{{- end }}

{{- define "berth.labels" -}}
{{- include "berth.labelsAnd" (list . dict) }}
{{- end }}

{{- /* The labels of an object that has others, too: called with the context and these. */}}
{{- define "berth.labelsAnd" -}}
{{- $others := index . 1 -}}
{{- with index . 0 -}}
{{- $own := include "berth.selector" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/part-of" "berth" -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- merge $own $others .Values.commonLabels | toYaml }}
{{- end }}
{{- end }}

{{- define "berth.podLabels" -}}
{{- $own := merge (include "berth.selector" . | fromYaml) (dict "app.kubernetes.io/part-of" "berth") -}}
{{- merge $own .Values.podLabels .Values.commonLabels | toYaml }}
{{- end }}

{{- /* What the cluster has of a CRD: nothing, or it cannot be asked (absent); one that is this release's to upgrade (own);
one that was applied by others and is as new as the chart's (foreign), or older (old). Called with the context and the CRD. */}}
{{- define "berth.crdState" -}}
{{- $crd := index . 1 -}}
{{- with index . 0 -}}
{{- $live := lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" $crd.metadata.name -}}
{{- $annotations := dig "metadata" "annotations" dict $live -}}
{{- $owner := printf "%s/%s" (get $annotations "meta.helm.sh/release-namespace") (get $annotations "meta.helm.sh/release-name") -}}
{{- $revision := "berth.dev/schema-revision" -}}
{{- if not $live -}}
absent
{{- else if eq $owner (printf "%s/%s" .Release.Namespace .Release.Name) -}}
own
{{- else if lt (get $annotations $revision | int) (get $crd.metadata.annotations $revision | int) -}}
old
{{- else -}}
foreign
{{- end -}}
{{- end -}}
{{- end }}

{{- define "berth.image" -}}
{{- with .Values.image -}}
{{- $tag := .tag | default (ternary "" $.Chart.AppVersion (ne .digest "")) -}}
{{ with .registry }}{{ . }}/{{ end }}{{ .repository }}{{ with $tag }}:{{ . }}{{ end }}{{ with .digest }}@{{ . }}{{ end }}
{{- end }}
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

{{- /* CEL: whether the operator or one of its schedulers sends the request. */}}
{{- define "berth.isAccount" -}}
{{- $accounts := printf "system:serviceaccount:%s:" .Release.Namespace -}}
(request.userInfo.username.startsWith('{{ $accounts }}berth-')
{{- if not (hasPrefix "berth-" (include "berth.serviceAccount" .)) }} || {{ include "berth.isOperator" . }}{{ end }})
{{- end }}

{{- /* CEL: whether the operator itself does. */}}
{{- define "berth.isOperator" -}}
request.userInfo.username == 'system:serviceaccount:{{ .Release.Namespace }}:{{ include "berth.serviceAccount" . }}'
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
expression of the value, what is allowed, as a list or as the CEL expression of one, and its name in profiles.allowed. */}}
{{- define "berth.excessMessage" -}}
{{- $allowed := index . 2 -}}
{{ printf "%s: " (index . 0) | toJson }} + {{ index . 1 }} + " is not among what profiles may have here ("
+ {{ if kindIs "string" $allowed }}{{ $allowed }}.join(', ')
{{- else }}{{ join ", " $allowed | default "none" | toJson }}{{ end }} + {{ printf
"); change it, or have it added to profiles.allowed.%s of the chart" (index . 3) | toJson }}
{{- end }}

{{- /* Annotations of what exists only while helm test runs: called with the place in the order, as a string. */}}
{{- define "berth.testHook" -}}
helm.sh/hook: test
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}
