"""Reading of files into objects: SchedulerProfiles, PluginConfigs and KubeSchedulerConfigurations, each with its place.

names ──► read_files ──► documents of YAML, each with its lines ──► sort_objects ──► InputObjects
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scheduler_operator.cli.answers import Refusal, RefusedError
from scheduler_operator.cli.console import Console
from scheduler_operator.resources.kinds import API_VERSION, GROUP
from scheduler_runtime import config
from scheduler_runtime.catalog.bounds import MAX_BYTES
from scheduler_runtime.config import Problem, Problems, Source

STDIN = "-"
EXPECTED = (
    f"expected is a SchedulerProfile or PluginConfig of {API_VERSION}, "
    f"or a KubeSchedulerConfiguration of {config.API_VERSION}"
)
_LINE_NUMBER = re.compile(r"\bline (\d+): ")
_SUFFIXES = (".yaml", ".yml", ".json")
_UPSTREAM, _, _ = config.API_VERSION.partition("/")
_GROUPS = (GROUP.encode(), _UPSTREAM.encode())
_OLDER = [f"{_UPSTREAM}/{version}" for version in ("v1alpha1", "v1alpha2", "v1beta1", "v1beta2", "v1beta3")]
_IMPORTED = frozenset({"ConfigMap", "Pod", "Deployment", "DaemonSet", "Policy", "Scheduler", "SchedulerConfiguration"})
"""Kinds that the import command reads, beside every version of KubeSchedulerConfiguration."""


@dataclass(frozen=True, slots=True)
class FileDocuments:
    """The documents in some files, and the refusals of what cannot be read."""

    sources: tuple[Source, ...]
    refusals: tuple[Refusal, ...]


def read_files(names: Iterable[str], console: Console) -> FileDocuments:
    """Read every document in the files called ``names``."""
    sources: list[Source] = []
    refusals: list[Refusal] = []
    for name in names:
        try:
            sources.extend(_read_file(name, console))
        except RefusedError as error:
            refusals.extend(error.refusals)
    return FileDocuments(tuple(sources), tuple(refusals))


def refusal(source: Source, problem: Problem) -> Refusal:
    """Return a problem with its line in the file."""
    return Refusal(source.name, problem.message, problem.path, source.line(problem.path))


def expand_directories(names: Sequence[str]) -> list[str]:
    """Replace each directory in ``names`` by the files below it that mention our groups."""
    files: list[str] = []
    for name in names:
        if name == STDIN or not os.path.isdir(name):
            # A file that is named is read whatever it holds: its author wants to know why it is refused.
            files.append(name)
            continue
        # os.walk reads `folders` again after each step: what is removed from the list is not entered.
        for folder, folders, entries in os.walk(name):
            # Templates of a chart are no YAML yet.
            skipped = {"templates"} if "Chart.yaml" in entries else set()
            folders[:] = sorted(inner for inner in folders if not inner.startswith(".") and inner not in skipped)
            paths = (Path(folder, entry) for entry in sorted(entries) if entry.endswith(_SUFFIXES))
            files.extend(str(path) for path in paths if _mentions_our_groups(path))
    return files


def _mentions_our_groups(path: Path) -> bool:
    """Return whether a file of a directory is worth reading: charts and other manifests live beside ours."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError:
        return True  # it may be one of ours: reading it reports why it cannot be read
    return any(group in content for group in _GROUPS)


def _read_file(name: str, console: Console) -> tuple[Source, ...]:
    """Read the documents of one file. Raises RefusedError when it cannot be read or is no YAML."""
    if name == STDIN:
        label, content = "<stdin>", console.read_stdin(MAX_BYTES + 1)
    else:
        label = name
        try:
            with open(name, "rb") as file:
                if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                    raise IsADirectoryError
                content = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:  # a ValueError for a name with a zero byte in it
            match error:
                case FileNotFoundError():
                    message = "there is no such file"
                case IsADirectoryError():
                    message = "is a directory; name the files in it"
                case PermissionError():
                    message = "you may not read it"
                case OSError(strerror=str() as reason):
                    message = f"cannot be read: {reason}"
                case _:
                    message = f"cannot be read: {error}"
            raise RefusedError(Refusal(name, message)) from error
    if len(content) > MAX_BYTES:
        message = f"is longer than {MAX_BYTES:,} bytes; a document has no more, as a ConfigMap"
        raise RefusedError(Refusal(label, message))
    documents = config.read_yaml(content, label)
    if not isinstance(documents, Problems):
        return documents
    refusals = []
    for problem in documents:  # there is no document yet that knows its lines: the message itself has the line
        if (line := _LINE_NUMBER.search(problem.message)) is None:
            refusals.append(Refusal(label, problem.message, problem.path))
        else:
            message = problem.message[: line.start()] + problem.message[line.end() :]
            refusals.append(Refusal(label, message, problem.path, int(line[1])))
    raise RefusedError(*refusals)


@dataclass(frozen=True, slots=True)
class InputObjects:
    """The objects of the input by kind, and the refusals of everything else."""

    profiles: tuple[Source, ...] = ()
    plugin_configs: tuple[Source, ...] = ()
    documents: tuple[Source, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    def unpinned(self) -> "InputObjects":
        """Return the same objects without the Kubernetes versions that profiles name."""
        profiles = []
        for source in self.profiles:
            spec = source.value["spec"]
            if isinstance(spec.get("scheduler"), dict):
                scheduler = {key: value for key, value in spec["scheduler"].items() if key != "kubernetesVersion"}
                source = replace(source, value={**source.value, "spec": {**spec, "scheduler": scheduler}})
            profiles.append(source)
        return replace(self, profiles=tuple(profiles))


def sort_objects(sources: Iterable[Source], lenient_files: frozenset[str] = frozenset()) -> InputObjects:
    """Sort ``sources`` by kind. In ``lenient_files``, objects of other groups are ignored instead of refused."""
    by_kind: dict[str, list[Source]] = {"SchedulerProfile": [], "PluginConfig": [], "KubeSchedulerConfiguration": []}
    refusals: list[Refusal] = []
    objects: list[Source] = []
    for source in sources:
        # A List, as kubectl prints one, is its items.
        is_list = isinstance(source.value, dict) and str(source.value.get("kind")).endswith("List")
        items = source.value.get("items") if is_list else None
        if isinstance(items, list):
            objects.extend(replace(source.below(f"items[{index}]"), value=item) for index, item in enumerate(items))
        else:
            objects.append(source)
    for source in objects:
        problems = list(_object_problems(source))
        if not problems:
            by_kind[source.value["kind"]].append(source)
            continue
        api_version = str(source.value.get("apiVersion")) if isinstance(source.value, dict) else ""
        if source.name not in lenient_files or api_version.partition("/")[0] in (GROUP, _UPSTREAM):
            refusals.extend(refusal(source, problem) for problem in problems)
    profiles, plugin_configs, documents = map(tuple, by_kind.values())
    refusals.extend((*_duplicates(profiles, lenient_files), *_duplicates(plugin_configs, lenient_files)))
    return InputObjects(profiles, plugin_configs, documents, tuple(refusals))


def _duplicates(sources: Iterable[Source], lenient_files: frozenset[str]) -> Iterator[Refusal]:
    """Yield a refusal for every object with the kind and name of an earlier one: a cluster holds only one.

    Files of a directory may be for several clusters, so they are compared only within one file.
    """
    first_by_name: dict[tuple[str, str], Source] = {}
    for source in sources:
        name = name_of(source)
        first = first_by_name.setdefault((source.name if source.name in lenient_files else "", name), source)
        if first is not source:
            place = f"{first.name}:{first.line('metadata.name')}"
            message = f"{source.value['kind']} {name} is at {place} already; give one of them another name"
            yield refusal(source, Problem("metadata.name", message))


def name_of(source: Source) -> str:
    """Return the name of a profile or a PluginConfig."""
    return str(source.value["metadata"]["name"])


def _object_problems(source: Source) -> Iterator[Problem]:
    """Yield why an object is none of our kinds, or lacks what every object of them has."""
    value = source.value
    if not isinstance(value, dict):
        yield Problem("", f"is {describe_value(value)}; {EXPECTED}")
        return
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if (api_version, kind) == (config.API_VERSION, "KubeSchedulerConfiguration"):
        return
    if api_version != API_VERSION or kind not in ("SchedulerProfile", "PluginConfig"):
        fields = (("apiVersion", api_version), ("kind", kind))
        missing = " and ".join(name for name, field in fields if not isinstance(field, str))
        is_older = kind == "KubeSchedulerConfiguration" and api_version in _OLDER
        can_import = is_older or (isinstance(kind, str) and kind in _IMPORTED)
        advice = "'berth import' reads it and writes profiles" if can_import else EXPECTED
        yield Problem("", f"is {f'a mapping without {missing}' if missing else f'{api_version} {kind}'}; {advice}")
        return
    metadata, spec = value.get("metadata"), value.get("spec")
    if not isinstance(metadata, dict):
        yield Problem("metadata", "is required, with a name")
    elif not isinstance(metadata.get("name"), str) or not metadata["name"]:
        yield Problem("metadata.name", "is required and is text")
    else:
        annotations = metadata.get("annotations") or {}
        if not isinstance(annotations, dict) or not all(isinstance(text, str) for text in annotations.values()):
            yield Problem("metadata.annotations", "is not a mapping of names to text")
    if not isinstance(spec, dict):
        yield Problem("spec", "is required; write spec: {} for a profile that is all defaults")


def describe_value(value: Any) -> str:
    """Describe a document that is no mapping."""
    match value:
        case list():
            return "a list"
        case str():
            return "plain text"
        case None:
            return "empty"
    return "a single value"
