"""Flags of kube-scheduler that have no effect here, are refused, or were removed upstream; and the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_NO_HTTP2 = "the endpoints speak HTTP/1.1"
_NO_LOOKUP = "the cluster is never asked how its callers are to be authenticated"
_NO_PROFILING = "there is no profiling of Go here"
_NO_BUFFERS = "every line is written at once"
_NO_PROXY = "callers are known by their own token or certificate, never by a header"
_ALL_LABELS = "every label is shown"

WITHOUT_EFFECT: Mapping[str, str] = MappingProxyType(
    {
        "disable-http2-serving": _NO_HTTP2,
        "http2-max-streams-per-connection": _NO_HTTP2,
        "permit-address-sharing": "an address that others have just left can always be used",
        "tls-curve-preferences": "OpenSSL chooses the curve",
        "authentication-skip-lookup": _NO_LOOKUP,
        "authentication-tolerate-lookup-failure": _NO_LOOKUP,
        "requestheader-allowed-names": _NO_PROXY,
        "requestheader-client-ca-file": _NO_PROXY,
        "requestheader-extra-headers-prefix": _NO_PROXY,
        "requestheader-group-headers": _NO_PROXY,
        "requestheader-uid-headers": _NO_PROXY,
        "requestheader-username-headers": _NO_PROXY,
        "profiling": _NO_PROFILING,
        "contention-profiling": _NO_PROFILING,
        "kube-api-content-type": "the API server is always spoken to in JSON",
        "min-compatibility-version": "only the version to behave like matters",
        "allow-metric-labels": _ALL_LABELS,
        "allow-metric-labels-manifest": _ALL_LABELS,
        "show-hidden-metrics-for-version": "no metric is hidden",
        "log-flush-frequency": _NO_BUFFERS,
        "log-json-info-buffer-size": _NO_BUFFERS,
        "log-json-split-stream": "everything is written to stderr",
        "log-text-info-buffer-size": _NO_BUFFERS,
        "log-text-split-stream": "everything is written to stderr",
        "vmodule": "the verbosity is one for all",
    }
)
"""Flags that are accepted and change nothing."""

SWITCHES = frozenset(
    {
        "authentication-skip-lookup",
        "authentication-tolerate-lookup-failure",
        "contention-profiling",
        "disable-http2-serving",
        "log-json-split-stream",
        "log-text-split-stream",
        "permit-address-sharing",
        "profiling",
    }
)
"""Those of them that may have no value."""

REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "master": "write the server into the kubeconfig",
        "permit-port-sharing": "a second scheduler on one port would answer for the first; give each its own",
    }
)
"""Flags that would have an effect in kube-scheduler that this scheduler cannot have; and what to do instead."""

_POLICY = "berth import makes a profile of a policy"
_STDERR = "every line is written to stderr"
_HEADERS = "the text format always has the same header; --logging-format=json has none"

REMOVED: Mapping[str, str] = MappingProxyType(
    {
        "port": "--secure-port serves, over HTTPS only",
        "address": "--bind-address says where to serve, over HTTPS only",
        "algorithm-provider": "the document says which plugins run",
        "policy-config-file": _POLICY,
        "policy-configmap": _POLICY,
        "policy-configmap-namespace": _POLICY,
        "use-legacy-policy-config": _POLICY,
        "scheduler-name": "the document says it: profiles[].schedulerName",
        "hard-pod-affinity-symmetric-weight": "the document says it: hardPodAffinityWeight of InterPodAffinity",
        "lock-object-name": "--leader-elect-resource-name says it",
        "lock-object-namespace": "--leader-elect-resource-namespace says it",
        "logtostderr": _STDERR,
        "alsologtostderr": _STDERR,
        "stderrthreshold": _STDERR,
        "log-dir": _STDERR,
        "log-file": _STDERR,
        "log-file-max-size": _STDERR,
        "one-output": _STDERR,
        "add-dir-header": _HEADERS,
        "skip-headers": _HEADERS,
        "skip-log-headers": _HEADERS,
        "log-backtrace-at": "a failure is logged with its traceback",
        "experimental-logging-sanitization": "leave it out: log lines are not filtered",
    }
)
"""Flags that kube-scheduler had once, and what to do today."""
