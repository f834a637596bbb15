"""kube-scheduler's flags, 1.2 to 1.37: which are carried over, and why the others are not."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from scheduler_operator.migrate.documents import OWN_CREDENTIALS, OWN_LEASE

PROGRAM = "kube-scheduler"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of a command line, with dashes for underscores, and where it stands."""

    name: str
    value: str
    path: str


_SERVING = "left out: Berth's schedulers serve health and metrics in their own way, and the Service names the port"
_METRICS = "left out: the names and labels of Berth's metrics are fixed; drop what you do not want when scraping"
_LOGS = "left out: Berth's schedulers log to standard error in one format; spec.scheduler.logLevel says how much"
_LOCKING = "left out: Berth's schedulers talk to the API server within limits for the whole process, not for binding"
_ONCE = "left out: it makes the program print something and end, instead of scheduling"
_VERSION = "left out: spec.scheduler.kubernetesVersion says which version to behave as; the default is the API server's"
_POLICY_PLACE = "was read together with the flag that names the Policy"

CARRIED = frozenset(
    {
        "algorithm-provider",
        "config",
        "contention-profiling",
        "feature-gates",
        "hard-pod-affinity-symmetric-weight",
        "kube-api-burst",
        "kube-api-content-type",
        "kube-api-qps",
        "leader-elect",
        "leader-elect-lease-duration",
        "leader-elect-renew-deadline",
        "leader-elect-retry-period",
        "policy-config-file",
        "policy-configmap",
        "profiling",
        "scheduler-name",
        "v",
    }
)
"""Flags whose value finds a place in the objects."""

_GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "address bind-address cert-dir disable-http2-serving http2-max-streams-per-connection permit-address-sharing "
        "permit-port-sharing port public-address-override secure-port tls-ca-file tls-cert-file tls-cipher-suites "
        "tls-curve-preferences tls-min-version tls-private-key-file tls-sni-cert-key": _SERVING,
        "authentication-kubeconfig authentication-skip-lookup authentication-token-webhook-cache-ttl "
        "authentication-tolerate-lookup-failure authorization-always-allow-paths authorization-kubeconfig "
        "authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl client-ca-file "
        "google-json-key kubeconfig master requestheader-allowed-names requestheader-client-ca-file "
        "requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers "
        "requestheader-username-headers": OWN_CREDENTIALS,
        "leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace lock-object-name "
        "lock-object-namespace": OWN_LEASE,
        "allow-metric-labels allow-metric-labels-manifest disabled-metrics show-hidden-metrics-for-version": _METRICS,
        "add-dir-header alsologtostderr experimental-logging-sanitization log-backtrace-at log-dir log-file "
        "log-file-max-size log-flush-frequency log-json-info-buffer-size log-json-split-stream "
        "log-text-info-buffer-size log-text-split-stream logging-format logtostderr one-output skip-headers "
        "skip-log-headers stderrthreshold vmodule": _LOGS,
        "bind-pods-burst bind-pods-qps": _LOCKING,
        "help version write-config-to": _ONCE,
        "policy-configmap-namespace use-legacy-policy-config": _POLICY_PLACE,
        "failure-domains": "left out: an affinity without a topologyKey, which it was for, is refused since 1.6",
        "emulated-version min-compatibility-version": _VERSION,
        "pod-max-in-unschedulable-pods-duration": "left out: pods are tried again after five minutes at the latest, "
        "which is fixed",
    }
)
EXPLAINED: Mapping[str, str] = MappingProxyType({name: why for names, why in _GROUPS.items() for name in names.split()})
"""Flags that find no place, and why."""

BESIDE_CONFIG = frozenset(
    {"config", "feature-gates", "v", "algorithm-provider", "policy-config-file", "policy-configmap"}
    | {name for name in CARRIED if name.startswith("leader-elect")}
)
"""The carried flags that count even when ``--config`` is given; kube-scheduler ignores the others then."""

_BOOLEAN = frozenset(
    {
        "add-dir-header",
        "alsologtostderr",
        "authentication-skip-lookup",
        "authentication-tolerate-lookup-failure",
        "contention-profiling",
        "disable-http2-serving",
        "experimental-logging-sanitization",
        "help",
        "leader-elect",
        "log-json-split-stream",
        "log-text-split-stream",
        "logtostderr",
        "one-output",
        "permit-address-sharing",
        "permit-port-sharing",
        "profiling",
        "skip-headers",
        "skip-log-headers",
        "use-legacy-policy-config",
        "version",
    }
)
_REDIRECTIONS = ("<", ">", "|", "&", ";", "1>", "2>")


def read_flags(words: Sequence[tuple[str, str]]) -> list[Flag]:
    """The flags among ``words``, which are the parts of a command line, each with its path.

    A shell that is given the whole command line as one word is seen through.
    """
    return list(_flags([part for word, path in words for part in _split(word, path)]))


def _split(word: str, path: str) -> Iterator[tuple[str, str]]:
    if PROGRAM not in word or not any(space in word for space in " \t\n"):
        yield word, path
        return
    try:
        parts = shlex.split(word, comments=True)
    except ValueError:
        parts = word.split()
    for part in parts:
        if part.startswith(_REDIRECTIONS):
            return
        yield part, path


def _flags(words: list[tuple[str, str]]) -> Iterator[Flag]:
    index = 0
    while index < len(words):
        word, path = words[index]
        index += 1
        if not word.startswith("-") or not word.strip("-"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = name.replace("_", "-")
        if not equals and name not in _BOOLEAN and index < len(words) and not words[index][0].startswith("-"):
            value = words[index][0]
            index += 1
        yield Flag(name, value if value or equals else "true", path)
