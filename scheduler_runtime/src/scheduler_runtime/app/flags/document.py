"""What the command line says instead of the document."""

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
"""For each flag, how it is read and which field of ``leaderElection`` it overrides, with or without a document."""

LEADERSHIP_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {name: LeaderElection().model_dump(by_alias=True)[path] for name, (_, path) in LEADERSHIP.items()}
)
"""What holds where neither the flag nor the document says anything."""

ONLY_WITHOUT_DOCUMENT: Mapping[str, str] = MappingProxyType(
    {"kube-api-qps": "clientConnection.qps", "kube-api-burst": "clientConnection.burst"}
)

_FLAGS: Mapping[str, str] = MappingProxyType(
    {
        **{f"leaderElection.{name}": flag for flag, (_, name) in LEADERSHIP.items()},
        **{path: flag for flag, path in ONLY_WITHOUT_DOCUMENT.items()},
    }
)
"""The flag that overrides each field."""

NO_DOCUMENT = f"apiVersion: {API_VERSION}\nkind: KubeSchedulerConfiguration\n"
"""What holds where no document is given: upstream's defaults."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """Fields of the document that the command line decides, by section."""

    sections: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, asked: object, *, has_document: bool) -> Overrides:
        """Those among the flags ``asked`` for."""
        given = {name: getattr(asked, name.replace("-", "_")) for name in (*LEADERSHIP, *ONLY_WITHOUT_DOCUMENT)}
        election = {LEADERSHIP[name][1]: given[name] for name in LEADERSHIP if given[name] is not None}
        connection = {
            path.partition(".")[2]: given[name]
            for name, path in ONLY_WITHOUT_DOCUMENT.items()
            if given[name] is not None and not has_document
        }
        sections = {"leaderElection": election, "clientConnection": connection}
        return cls({name: section for name, section in sections.items() if section})

    def involved(self, section: str) -> str:
        """The flags by which ``section`` is not as the document has it, as the end of a sentence about it."""
        flags = [f"--{_FLAGS[f'{section}.{name}']}" for name in self.sections.get(section, {})]
        return f" (with {' and '.join(flags)})" if flags else ""


def load(text: str, overrides: Overrides) -> Document | Problems:
    """Read a document with ``overrides`` in it; what is judged is the whole."""
    sources = config.read_yaml(text)
    if isinstance(sources, Problems) or len(sources) != 1 or not overrides.sections:
        return config.load(text)
    value = sources[0].value
    if not isinstance(value, Mapping):
        return config.load(text)
    whole = config.parse_document(
        {**value, **{name: _with(value.get(name), over) for name, over in overrides.sections.items()}}
    )
    return _blamed(whole, overrides) if isinstance(whole, Problems) else whole


def _blamed(problems: Problems, overrides: Overrides) -> Problems:
    """The same, with the flags that may be at fault: the document may not even have what is wrong."""
    sections = [(problem, problem.path.partition(".")[0]) for problem in problems]
    return Problems(tuple(Problem(each.path, each.message + overrides.involved(at)) for each, at in sections))


def _with(section: Any, over: Mapping[str, Any]) -> Any:
    return {**section, **over} if isinstance(section, Mapping) else dict(over) if section is None else section
