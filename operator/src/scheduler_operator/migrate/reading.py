"""Inputs of every kind, one or several, into objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from scheduler_operator.migrate import aks, documents, openshift, policy
from scheduler_operator.migrate.config_maps import configuration
from scheduler_operator.migrate.context import Context
from scheduler_operator.migrate.draft import Process
from scheduler_operator.migrate.manifests import WORKLOADS, read_manifest, runs_a_scheduler
from scheduler_operator.migrate.naming import fits
from scheduler_operator.migrate.objects import objects
from scheduler_operator.migrate.outcome import Imported, Notes
from scheduler_operator.migrate.parts import Part
from scheduler_operator.models import GROUP
from scheduler_runtime.config import Problems

Reader = Callable[[Part], Process | None]
_NO_FILES: Mapping[str, str] = MappingProxyType({})
_KINDS = (
    "a KubeSchedulerConfiguration, a scheduler Policy, a ConfigMap with either, a Pod, DaemonSet or Deployment of "
    "kube-scheduler, OpenShift's Scheduler, or AKS' SchedulerConfiguration"
)
_BESIDE = "left out: Berth makes what its schedulers need besides their profiles, permissions first of all"


def imported(document: Mapping[str, Any], name: str = "", files: Mapping[str, str] = _NO_FILES) -> Imported | Problems:
    """What one parsed ``document`` of any kind asks for, as objects of the API.

    ``name`` is for a profile that brings none. ``files`` are contents by name, for the flags of a manifest.
    Paths begin at the document.
    """
    return import_all([document], name, files)


def import_all(
    inputs: Sequence[Mapping[str, Any]],
    name: str = "",
    files: Mapping[str, str] = _NO_FILES,
    allowed: Sequence[Collection[str]] = (),
) -> Imported | Problems:
    """What several documents ask for together: a manifest and the ConfigMap that it mounts are one.

    With more than one document, paths begin with its number, as in ``[1].spec``. ``allowed`` are the codes of
    findings that the comments of each document accept: whoever parsed it knows, the document no longer does.
    """
    notes = Notes()
    if name and not fits(name):
        notes.refuse("", f"{name!r} cannot be the name of a profile; write a DNS label of at most 52 characters")
    given = [
        Part(each, notes, f"[{index}]" * (len(inputs) > 1), allowed[index] if allowed else ())
        for index, each in enumerate(inputs)
    ]
    parts = _once([part for each in given for part in _parts(each)])
    found = _objects(parts, _context(parts, files), name, notes)
    if not found and not notes.problems:
        notes.refuse("", f"there is nothing to import; give {_KINDS}")
    _tell_idle_wish(name, found, notes)
    return notes.refused or Imported(tuple(found), tuple(notes.remarks))


def _tell_idle_wish(name: str, found: Sequence[Mapping[str, Any]], notes: Notes) -> None:
    names = [each["metadata"]["name"] for each in found if each["kind"] == "SchedulerProfile"]
    if name and names and name not in names:
        message = f"the name {name} that was wished is not used, because the input names its schedulers: "
        notes.remark("", f"{message}{', '.join(names)}; change schedulerName in the input, and in its pods")


def _once(parts: list[Part]) -> list[Part]:
    """The parts without those that say what another has said already, which would be a scheduler of the same name."""
    kept: list[Part] = []
    for part in parts:
        same = next((each for each in kept if each.value == part.value), None)
        if same is None:
            kept.append(part)
        else:
            same.allowed |= part.allowed
            part.notes.remark(part.path, "left out, because the same was given before")
    return kept


def _parts(part: Part) -> Iterator[Part]:
    """The document, or what it lists."""
    if str(part.value.get("kind", "")).endswith("List") and "items" in part:
        yield from part.entries("items")
    else:
        yield part


def _context(parts: Sequence[Part], files: Mapping[str, str]) -> Context:
    context = Context(files)
    for part in parts:
        if part.value.get("kind") == "ConfigMap":
            metadata = part.value.get("metadata")
            context.config_maps[str(metadata.get("name")) if isinstance(metadata, dict) else ""] = part
        elif _plain_reader(part):
            context.documents.append(part)
    return context


def _objects(parts: Sequence[Part], context: Context, name: str, notes: Notes) -> list[dict[str, Any]]:
    """The objects of all parts. Manifests come first, because they use up what belongs to them."""
    found: list[dict[str, Any]] = []
    taken: set[str] = set()
    is_alone = len(parts) == 1
    for part in sorted(parts, key=lambda part: part.value.get("kind") not in WORKLOADS):
        if id(part) in context.used:
            continue
        process = _process(part, context, is_alone)
        if process is not None and not notes.problems:
            found += objects(process, "" if name in taken else name, notes, taken)
    return found


def _process(part: Part, context: Context, is_alone: bool) -> Process | None:
    """The process that a part describes; None, with the reason told, when it describes none."""
    if _plain_reader(part):
        return read_configuration(part)
    kind, api_version = part.value.get("kind"), str(part.value.get("apiVersion", ""))
    if kind in WORKLOADS and (is_alone or runs_a_scheduler(part)):
        return read_manifest(part, context, read_configuration)
    if kind == "ConfigMap":
        inner = configuration(part)
        return None if inner is None else read_configuration(inner)
    if is_alone or api_version.startswith(f"{GROUP}/"):
        part.refuse("kind", _not_importable(kind, api_version))
    else:
        part.notes.remark(part.path, f"{kind}: {_BESIDE}")
    return None


def _not_importable(kind: object, api_version: str) -> str:
    if api_version.startswith(f"{GROUP}/"):
        return f"{kind} is Berth's own: there is nothing to import, apply it"
    return f"{kind or 'a document without a kind'} cannot be imported; give {_KINDS}"


def read_configuration(part: Part) -> Process | None:
    """The process that a configuration describes; None, with the reason told, when it is none."""
    reader = _plain_reader(part)
    if reader is None:
        part.refuse("", f"is no KubeSchedulerConfiguration and no Policy, but {part.value.get('kind')!r}")
        return None
    process = reader(part)
    if process is not None:
        process.allowed |= part.allowed
    return process


def _plain_reader(part: Part) -> Reader | None:
    """Who reads a part that is complete in itself."""
    kind, api_version = part.value.get("kind"), str(part.value.get("apiVersion", ""))
    if kind == documents.KIND:
        return documents.read_document
    if policy.is_policy(part):
        return policy.read_policy
    if kind == "Scheduler" and api_version == openshift.API_VERSION:
        return openshift.read_openshift
    if kind == "SchedulerConfiguration" and api_version.startswith(f"{aks.API_GROUP}/"):
        return aks.read_aks
    return None
