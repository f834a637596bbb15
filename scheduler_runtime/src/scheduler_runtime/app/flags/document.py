"""Fields of the document that flags override."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from scheduler_runtime import config
from scheduler_runtime.app.flags import values
from scheduler_runtime.config import API_VERSION, Document, LeaderElection, Problem, Problems

LEADERSHIP: Mapping[str, tuple[Callable[[str], Any], str]] = MappingProxyType(
    {
        "leader-elect": (values.boolean, "leaderElect"),
        "leader-elect-lease-duration": (values.duration, "leaseDuration"),
        "leader-elect-renew-deadline": (values.duration, "renewDeadline"),
        "leader-elect-retry-period": (values.duration, "retryPeriod"),
        "leader-elect-resource-lock": (str, "resourceLock"),
        "leader-elect-resource-name": (str, "resourceName"),
        "leader-elect-resource-namespace": (str, "resourceNamespace"),
    }
)
"""For each flag, its parser and the field of ``leaderElection`` that it overrides, with or without a document."""

LEADERSHIP_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {name: LeaderElection().model_dump(by_alias=True)[path] for name, (_, path) in LEADERSHIP.items()}
)
"""The values of these flags if neither the flag nor the document has one."""

ONLY_WITHOUT_DOCUMENT: Mapping[str, str] = MappingProxyType(
    {"kube-api-qps": "clientConnection.qps", "kube-api-burst": "clientConnection.burst"}
)
"""Flags that count only without a document, as in kube-scheduler, and the fields that they set."""

_FLAGS: Mapping[str, str] = MappingProxyType(
    {
        **{f"leaderElection.{name}": flag for flag, (_, name) in LEADERSHIP.items()},
        **{path: flag for flag, path in ONLY_WITHOUT_DOCUMENT.items()},
    }
)
"""The flag that overrides each field."""

NO_DOCUMENT = f"apiVersion: {API_VERSION}\nkind: KubeSchedulerConfiguration\n"
"""The document of a process that is started without one: upstream's defaults."""

KUBECONFIG_REFUSED = (
    "a document that is followed in a ConfigMap names no credentials, as these may be a program to run; leave it out, "
    "and the credentials are those of --kubeconfig, of $KUBECONFIG or of the pod"
)


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line decides of a document."""

    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Values of fields, by their section."""
    refuses_kubeconfig: bool = False
    """Whether documents may name no credentials: whoever may write a ConfigMap must not choose a program to run."""

    @classmethod
    def from_flags(cls, args: object, *, has_document: bool) -> Overrides:
        """Return the overrides among the parsed flags ``args``."""
        flags = {name: getattr(args, name.replace("-", "_")) for name in (*LEADERSHIP, *ONLY_WITHOUT_DOCUMENT)}
        election = {LEADERSHIP[name][1]: flags[name] for name in LEADERSHIP if flags[name] is not None}
        connection = {
            path.partition(".")[2]: flags[name]
            for name, path in ONLY_WITHOUT_DOCUMENT.items()
            if flags[name] is not None and not has_document
        }
        sections = {"leaderElection": election, "clientConnection": connection}
        given = {name: section for name, section in sections.items() if section}
        return cls(given, refuses_kubeconfig=bool(getattr(args, "config_map", None)))

    def describe(self, section: str) -> str:
        """Return the flags that override fields of ``section``, as the end of a sentence about a problem there."""
        flags = [f"--{_FLAGS[f'{section}.{name}']}" for name in self.sections.get(section, {})]
        return f" (with {' and '.join(flags)})" if flags else ""


def load_document(text: str, overrides: Overrides) -> Document | Problems:
    """Parse a document with ``overrides`` in it, and check the result as a whole."""
    document = _parse(text, overrides)
    if isinstance(document, Problems) or not overrides.refuses_kubeconfig or not document.client_connection.kubeconfig:
        return document
    return Problems((Problem("clientConnection.kubeconfig", KUBECONFIG_REFUSED),))


def _parse(text: str, overrides: Overrides) -> Document | Problems:
    sources = config.read_yaml(text)
    if isinstance(sources, Problems) or len(sources) != 1 or not overrides.sections:
        return config.load(text)
    value = sources[0].value
    if not isinstance(value, Mapping):
        return config.load(text)
    fields = dict(value)
    for name, section in overrides.sections.items():
        present = value.get(name)
        if present is None:
            fields[name] = dict(section)
        elif isinstance(present, Mapping):  # anything else stays as it is, for the check of the document to report
            fields[name] = {**present, **section}
    document = config.parse_document(fields)
    if not isinstance(document, Problems):
        return document
    # The field with the problem may not even be in the document, so each problem names the flags that may cause it.
    sections = [(problem, problem.path.partition(".")[0]) for problem in document]
    return Problems(tuple(Problem(problem.path, problem.message + overrides.describe(at)) for problem, at in sections))
