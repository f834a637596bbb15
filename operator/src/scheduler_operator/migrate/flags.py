"""kube-scheduler's flags, 1.2 to 1.37: those that are carried over, and the reasons why the others are not.

Reads command lines into flags, and the value of ``--feature-gates`` into the gates that a known version accepts.
"""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from scheduler_operator.migrate.documents import OWN_CREDENTIALS, OWN_LEASE
from scheduler_operator.migrate.draft import TARGETS
from scheduler_operator.migrate.input_part import ImportNotes
from scheduler_runtime.catalog.target import gates_of

PROGRAM = "kube-scheduler"


@dataclass(frozen=True, slots=True)
class CommandFlag:
    """One flag of a command line, with dashes for underscores, and its place in the input."""

    name: str
    value: str
    path: str


_SERVING = "left out: Berth's schedulers serve health and metrics in their own way, and the Service names the port"
_METRICS = "left out: the names and labels of Berth's metrics are fixed; drop what you do not want when scraping"
_LOGS = "left out: Berth's schedulers log to standard error in one format; spec.scheduler.logLevel sets the verbosity"
_LOCKING = "left out: Berth's schedulers talk to the API server within limits for the whole process, not for binding"
_ONCE = "left out: it makes the program print something and end, instead of scheduling"
_VERSION = "left out: spec.scheduler.kubernetesVersion sets the version; the default is the API server's"
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
"""Flags whose value has a place in the objects."""

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
"""Flags that have no place in the objects, and the reason for each."""

BESIDE_CONFIG = frozenset(
    {"config", "feature-gates", "v", "algorithm-provider", "policy-config-file", "policy-configmap"}
    | {name for name in CARRIED if name.startswith("leader-elect")}
)
"""The carried flags that count even when ``--config`` is given; kube-scheduler ignores the others then.

Options.ApplyTo in cmd/kube-scheduler/app/options/options.go: with a file, flags that are fields of the configuration
are ignored, but for those that choose the algorithm, up to 1.22, and those of the leader election.
"""

# Only a flag that is not of these takes the next word as its value, when it has no "=".
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


def read_flags(words: Sequence[tuple[str, str]]) -> list[CommandFlag]:
    """Return the flags among ``words``, the parts of a command line, each with its path.

    A word that is a whole command line, for a shell, is split into its own words.
    """
    parts: list[tuple[str, str]] = []
    for word, path in words:
        if PROGRAM not in word or not any(space in word for space in " \t\n"):
            parts.append((word, path))
            continue
        try:
            shell_words = shlex.split(word, comments=True)
        except ValueError:
            shell_words = word.split()
        # Behind a redirection are files and other commands.
        own_words = itertools.takewhile(lambda part: not part.startswith(_REDIRECTIONS), shell_words)
        parts.extend((part, path) for part in own_words)
    flags: list[CommandFlag] = []
    index = 0
    while index < len(parts):
        word, path = parts[index]
        index += 1
        if not word.startswith("-") or not word.strip("-"):
            continue
        name, equals, value = word.lstrip("-").partition("=")
        # kube-scheduler normalizes underscores (component-base/cli/flag).
        name = name.replace("_", "-")
        if not equals and name not in _BOOLEAN and index < len(parts) and not parts[index][0].startswith("-"):
            value = parts[index][0]
            index += 1
        flags.append(CommandFlag(name, value if value or equals else "true", path))
    return flags


_GATE_GROUPS = ("AllAlpha", "AllBeta")
_RENAMED_GATES: Mapping[str, str] = MappingProxyType({"VolumeCapacityPriority": "StorageCapacityScoring"})


def read_feature_gates(flag: CommandFlag, notes: ImportNotes) -> dict[str, bool]:
    """Return the gates that the flag turns on or off, without those that no known version accepts.

    A gate is refused by a version that no longer has it, and by one that has locked it to the other value.
    """
    gates: dict[str, bool] = {}
    for pair in filter(None, flag.value.split(",")):
        # The oldest versions had "component:Name=true".
        name, _, value = pair.rpartition(":")[2].strip().partition("=")
        if value.lower() not in ("true", "false"):
            notes.refuse(flag.path, f"{pair!r} turns no feature gate on or off; write it like Name=true")
            continue
        value = value.lower()
        if name in _RENAMED_GATES:
            message = f"the feature gate {name} is called {_RENAMED_GATES[name]} since Kubernetes 1.33"
            notes.remark(flag.path, message)
            name = _RENAMED_GATES[name]
        is_on = value == "true"
        accepting = [
            target
            for target in TARGETS
            if name in _GATE_GROUPS
            or ((gate := gates_of(target.minor).get(name)) and not (gate.locked and gate.default != is_on))
        ]
        if len(accepting) == len(TARGETS):
            gates[name] = is_on
            continue
        words = f"the feature gate {name}"
        if not accepting:
            message = f"{words} is left out: no kube-scheduler since {TARGETS[0]} takes {name}={value}"
            notes.remark(flag.path, message)
            continue
        accepted_by = " and ".join(target.minor for target in accepting)
        refused_by = " and ".join(target.minor for target in TARGETS if target not in accepting)
        if all(gates_of(target.minor)[name].locked for target in accepting):
            # The value changes nothing where it is accepted: left out, the profile runs on every version.
            message = f"{words} is left out: on Kubernetes {accepted_by} it is {value} in any case, and "
            notes.remark(flag.path, f"{message}kube-scheduler of {refused_by} refuses to start with it")
            continue
        message = f"{words} is kept, and right on Kubernetes {accepted_by}; on {refused_by} a profile with "
        advice = "is refused: delete it from spec.scheduler.featureGates there"
        notes.remark(flag.path, f"{message}{name}={value} {advice}")
        gates[name] = is_on
    return gates
