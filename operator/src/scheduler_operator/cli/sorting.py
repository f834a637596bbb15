"""Which of the documents in a file are profiles, plugin configurations, or KubeSchedulerConfigurations."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from scheduler_operator.cli.answers import Refusal
from scheduler_operator.cli.reading import EXPECTED, refusal
from scheduler_operator.resources.kinds import API_VERSION, GROUP
from scheduler_runtime import config
from scheduler_runtime.config import Problem, Source

_UPSTREAM, _, _ = config.API_VERSION.partition("/")
_OLDER = [f"{_UPSTREAM}/{version}" for version in ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3")]
_IMPORTED = frozenset({"ConfigMap", "Pod", "Deployment", "DaemonSet", "Policy", "Scheduler", "SchedulerConfiguration"})
"""Kinds that the import command reads, beside every version of KubeSchedulerConfiguration."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """The documents by what they are. What is none of them is refused by a line."""

    profiles: tuple[Source, ...] = ()
    plugin_configs: tuple[Source, ...] = ()
    documents: tuple[Source, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    def unpinned(self) -> "Sorted":
        """The same without the Kubernetes versions that profiles name."""
        return replace(self, profiles=tuple(map(_unpinned, self.profiles)))


def sort(sources: Iterable[Source], ignored: frozenset[str] = frozenset()) -> Sorted:
    """Sort ``sources``. In files whose names are ``ignored``, what is not ours is left aside."""
    found: dict[str, list[Source]] = {"SchedulerProfile": [], "PluginConfig": [], "KubeSchedulerConfiguration": []}
    refusals: list[Refusal] = []
    for source in chain.from_iterable(map(_unlisted, sources)):
        problems = list(_problems(source))
        if not problems:
            found[source.value["kind"]].append(source)
        elif source.name not in ignored or _is_of_our_groups(source.value):
            refusals.extend(refusal(source, problem) for problem in problems)
    profiles, plugin_configs, documents = (tuple(each) for each in found.values())
    refusals.extend((*_repeated(profiles, ignored), *_repeated(plugin_configs, ignored)))
    return Sorted(profiles, plugin_configs, documents, tuple(refusals))


def _unlisted(source: Source) -> Iterator[Source]:
    """The items of a list, such as kubectl prints; anything else is itself."""
    value = source.value
    items = value.get("items") if isinstance(value, dict) and str(value.get("kind")).endswith("List") else None
    if not isinstance(items, list):
        yield source
        return
    for index, item in enumerate(items):
        yield replace(source.below(f"items[{index}]"), value=item)


def _repeated(sources: Iterable[Source], ignored: frozenset[str]) -> Iterator[Refusal]:
    """A refusal for every object whose kind and name another has that was read before it: a cluster holds one.

    Files of a directory may be about several clusters.
    """
    found: dict[tuple[str, str], Source] = {}
    for source in sources:
        name = name_of(source)
        before = found.setdefault((source.name if source.name in ignored else "", name), source)
        if before is not source:
            place = f"{before.name}:{before.line('metadata.name')}"
            message = f"{source.value['kind']} {name} is at {place} already; give one of them another name"
            yield refusal(source, Problem("metadata.name", message))


def _unpinned(source: Source) -> Source:
    spec = source.value["spec"]
    if not isinstance(spec.get("scheduler"), dict):
        return source
    process = {key: value for key, value in spec["scheduler"].items() if key != "kubernetesVersion"}
    return replace(source, value={**source.value, "spec": {**spec, "scheduler": process}})


def name_of(source: Source) -> str:
    """The name of a profile or a plugin configuration."""
    return str(source.value["metadata"]["name"])


def _problems(source: Source) -> Iterator[Problem]:
    value = source.value
    if not isinstance(value, dict):
        yield Problem("", f"is {called(value)}; {EXPECTED}")
        return
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if (api_version, kind) == (config.API_VERSION, "KubeSchedulerConfiguration"):
        return
    if api_version != API_VERSION or kind not in ("SchedulerProfile", "PluginConfig"):
        yield Problem("", f"is {_named(api_version, kind)}; {_instead(api_version, kind)}")
        return
    yield from _unfinished(value)


def _unfinished(value: dict[str, Any]) -> Iterator[Problem]:
    metadata, spec = value.get("metadata"), value.get("spec")
    if not isinstance(metadata, dict):
        yield Problem("metadata", "is required, with a name")
    elif not isinstance(metadata.get("name"), str) or not metadata["name"]:
        yield Problem("metadata.name", "is required and is text")
    elif not _is_annotations(metadata.get("annotations") or {}):
        yield Problem("metadata.annotations", "is not a mapping of names to text")
    if not isinstance(spec, dict):
        yield Problem("spec", "is required; write spec: {} for a profile that is all defaults")


def _is_annotations(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _instead(api_version: Any, kind: Any) -> str:
    is_older = kind == "KubeSchedulerConfiguration" and api_version in _OLDER
    if is_older or (isinstance(kind, str) and kind in _IMPORTED):
        return "'berth import' reads it and writes profiles"
    return EXPECTED


def _is_of_our_groups(value: Any) -> bool:
    api_version = str(value.get("apiVersion")) if isinstance(value, dict) else ""
    return api_version.partition("/")[0] in (GROUP, _UPSTREAM)


def _named(api_version: Any, kind: Any) -> str:
    if not isinstance(api_version, str) or not isinstance(kind, str):
        missing = " and ".join(
            name for name, value in (("apiVersion", api_version), ("kind", kind)) if not isinstance(value, str)
        )
        return f"a mapping without {missing}"
    return f"{api_version} {kind}"


def called(value: Any) -> str:
    """What a document is that is no mapping."""
    match value:
        case list():
            return "a list"
        case str():
            return "plain text"
        case None:
            return "empty"
    return "a single value"
