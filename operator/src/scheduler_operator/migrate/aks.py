"""AKS' SchedulerConfiguration, ``aks.azure.com/v1alpha1``: a document in a string, or profiles of its own."""

from __future__ import annotations

from scheduler_operator.migrate.api_versions import GROUP
from scheduler_operator.migrate.documents import KIND, read_document
from scheduler_operator.migrate.draft import Process
from scheduler_operator.migrate.parts import Part
from scheduler_operator.migrate.texts import read_text

API_GROUP = "aks.azure.com"


def read_aks(source: Part) -> Process | None:
    """The process that a SchedulerConfiguration describes."""
    source.take("apiVersion")
    source.take("kind")
    spec = source.mapping("spec")
    raw = spec.text("rawConfig")
    if raw is None and "profiles" not in spec:
        spec.refuse("rawConfig", f"is required: it holds a {KIND}")
        return None
    inner = _inner(spec, raw)
    source.report_unread(_left_out)
    if inner is None or (process := read_document(inner)) is None:
        return None
    process.allowed |= inner.allowed
    return process


def _inner(spec: Part, raw: str | None) -> Part | None:
    if raw is not None:
        return read_text(raw, spec.at("rawConfig"), spec.notes, spec.allowed)
    document = {"apiVersion": f"{GROUP}/v1", "kind": KIND, "profiles": spec.take("profiles")}
    return Part(document, spec.notes, spec.path, spec.allowed)


def _left_out(_path: str, key: str) -> str:
    return f"left out: {key} is AKS' own; a profile's name is what pods write as spec.schedulerName"
