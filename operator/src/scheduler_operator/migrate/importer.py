"""Import of one document or several, of any kind: finds the reader of each, and joins what belongs together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from scheduler_operator.migrate import documents, policy, vendors
from scheduler_operator.migrate.draft import ProcessDraft
from scheduler_operator.migrate.input_part import ImportNotes, ImportRemark, InputPart
from scheduler_operator.migrate.inputs import OtherInputs, read_config_map
from scheduler_operator.migrate.manifests import WORKLOADS, read_manifest, runs_scheduler
from scheduler_operator.migrate.objects import build_objects, is_profile_name
from scheduler_operator.models import GROUP
from scheduler_runtime.config import Problems

Reader = Callable[[InputPart], ProcessDraft | None]
_NO_FILES: Mapping[str, str] = MappingProxyType({})
_KINDS = (
    "a KubeSchedulerConfiguration, a scheduler Policy, a ConfigMap with either, a Pod, DaemonSet or Deployment of "
    "kube-scheduler, OpenShift's Scheduler, or AKS' SchedulerConfiguration"
)
_BESIDE = "left out: Berth creates what its schedulers need besides their profiles, for example permissions"


@dataclass(frozen=True, slots=True)
class Imported:
    """SchedulerProfile and PluginConfig objects, and remarks on everything of the input that they do not hold."""

    objects: tuple[dict[str, Any], ...]
    remarks: tuple[ImportRemark, ...]


def import_document(
    document: Mapping[str, Any], name: str = "", files: Mapping[str, str] = _NO_FILES
) -> Imported | Problems:
    """Import one parsed ``document`` of any kind.

    ``name`` is for a profile without a name. ``files`` are contents by name, for the flags of a manifest. Paths begin
    at the document.
    """
    return import_documents([document], name, files)


def import_documents(
    inputs: Sequence[Mapping[str, Any]],
    name: str = "",
    files: Mapping[str, str] = _NO_FILES,
    allowed: Sequence[Collection[str]] = (),
) -> Imported | Problems:
    """Import several documents together: a manifest and the ConfigMap that it mounts are one.

    With more than one document, paths begin with its number, as in ``[1].spec``. ``allowed`` are the codes of findings
    that the comments of each document accept: the parsed document no longer has them.
    """
    notes = ImportNotes()
    if name and not is_profile_name(name):
        notes.refuse("", f"{name!r} cannot be the name of a profile; write a DNS label of at most 52 characters")
    parts: list[InputPart] = []
    for index, document in enumerate(inputs):
        path = f"[{index}]" if len(inputs) > 1 else ""
        part = InputPart(document, notes, path, allowed[index] if allowed else ())
        # kubectl prints a List where several objects are asked for.
        is_list = str(part.value.get("kind", "")).endswith("List") and "items" in part
        for item in part.entries("items") if is_list else [part]:
            # The same input twice would be two schedulers of one name.
            same = next((other for other in parts if other.value == item.value), None)
            if same is None:
                parts.append(item)
            else:
                same.allowed |= item.allowed
                notes.remark(item.path, "left out, because the same was given before")
    objects = _import_parts(parts, name, files, notes)
    if not objects and not notes.problems:
        notes.refuse("", f"there is nothing to import; give {_KINDS}")
    names = [item["metadata"]["name"] for item in objects if item["kind"] == "SchedulerProfile"]
    if name and names and name not in names:
        message = f"the name {name} that was requested is not used, because the input names its schedulers: "
        notes.remark("", f"{message}{', '.join(names)}; change schedulerName in the input, and in its pods")
    return Problems(tuple(notes.problems)) if notes.problems else Imported(tuple(objects), tuple(notes.remarks))


def _import_parts(
    parts: Sequence[InputPart], name: str, files: Mapping[str, str], notes: ImportNotes
) -> list[dict[str, Any]]:
    """Return the objects of all parts."""
    inputs = OtherInputs(files)
    for part in parts:
        if part.value.get("kind") == "ConfigMap":
            metadata = part.value.get("metadata")
            inputs.config_maps[str(metadata.get("name")) if isinstance(metadata, dict) else ""] = part
        elif _configuration_reader(part):
            inputs.documents.append(part)
    objects: list[dict[str, Any]] = []
    used_names: set[str] = set()
    is_alone = len(parts) == 1
    # Manifests first: they claim the inputs that belong to them, which are not imported on their own then.
    for part in sorted(parts, key=lambda part: part.value.get("kind") not in WORKLOADS):
        if id(part) in inputs.claimed:
            continue
        process = _read_part(part, inputs, is_alone)
        if process is not None and not notes.problems:
            # The requested name is for one profile; a second one without a name is default-scheduler.
            objects += build_objects(process, "" if name in used_names else name, notes, used_names)
    return objects


def _read_part(part: InputPart, inputs: OtherInputs, is_alone: bool) -> ProcessDraft | None:
    """Return the process that a part describes; None, with a remark or a problem, if it describes none."""
    if _configuration_reader(part):
        return read_configuration(part)
    kind, api_version = part.value.get("kind"), str(part.value.get("apiVersion", ""))
    # Beside other inputs a manifest may be that of another program; alone it is meant to be a scheduler.
    if kind in WORKLOADS and (is_alone or runs_scheduler(part)):
        return read_manifest(part, inputs, read_configuration)
    if kind == "ConfigMap":
        document = read_config_map(part)
        return None if document is None else read_configuration(document)
    if api_version.startswith(f"{GROUP}/"):
        part.refuse("kind", f"{kind} is Berth's own: there is nothing to import, apply it")
    elif is_alone:
        part.refuse("kind", f"{kind or 'a document without a kind'} cannot be imported; give {_KINDS}")
    else:
        part.notes.remark(part.path, f"{kind}: {_BESIDE}")
    return None


def read_configuration(part: InputPart) -> ProcessDraft | None:
    """Return the process that a configuration describes; None, with the reason among the problems, if it is none."""
    reader = _configuration_reader(part)
    if reader is None:
        part.refuse("", f"is no KubeSchedulerConfiguration and no Policy, but {part.value.get('kind')!r}")
        return None
    process = reader(part)
    if process is not None:
        process.allowed |= part.allowed
    return process


def _configuration_reader(part: InputPart) -> Reader | None:
    """Return the reader of a part that is a whole configuration in itself."""
    kind, api_version = part.value.get("kind"), str(part.value.get("apiVersion", ""))
    if kind == documents.KIND:
        return documents.read_document
    if policy.is_policy(part):
        return policy.read_policy
    if kind == "Scheduler" and api_version == vendors.OPENSHIFT_API_VERSION:
        return vendors.read_openshift
    if kind == "SchedulerConfiguration" and api_version.startswith(f"{vendors.AKS_GROUP}/"):
        return vendors.read_aks
    return None
