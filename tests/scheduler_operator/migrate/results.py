"""What an import came to, for tests."""

from collections.abc import Mapping
from typing import Any

from scheduler_operator.migrate import Imported, import_document, import_documents
from scheduler_runtime import config
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.config import Problems


def outcome(document: Mapping[str, Any], name: str = "", **files: str) -> Imported:
    """The import of one document; a test whose input is refused fails here, and with the reasons."""
    found = import_document(document, name, files)
    assert isinstance(found, Imported), str(found)
    return found


def outcome_of_all(*documents: Mapping[str, Any], name: str = "") -> Imported:
    """The import of several documents together."""
    found = import_documents(documents, name)
    assert isinstance(found, Imported), str(found)
    return found


def profiles(found: Imported) -> dict[str, dict[str, Any]]:
    """The specs of the profiles by name, the first one first."""
    return {each["metadata"]["name"]: each["spec"] for each in found.objects if each["kind"] == "SchedulerProfile"}


def spec(document: Mapping[str, Any], name: str = "mine", **files: str) -> dict[str, Any]:
    """The spec of the only profile."""
    (found,) = profiles(outcome(document, name, **files)).values()
    return found


def remarks(document: Mapping[str, Any], name: str = "mine", **files: str) -> dict[str, str]:
    """The remarks by path; several at one path are joined."""
    said: dict[str, str] = {}
    for remark in outcome(document, name, **files).remarks:
        said[remark.path] = f"{said[remark.path]}; {remark.message}" if remark.path in said else remark.message
    return said


def refusals(document: Mapping[str, Any], name: str = "mine", **files: str) -> dict[str, str]:
    """Why a document is refused, by path."""
    found = import_document(document, name, files)
    assert isinstance(found, Problems), str(found)
    return {problem.path: problem.message for problem in found}


def document(version: str = "v1", **fields: Any) -> dict[str, Any]:
    """A KubeSchedulerConfiguration that says of qps what Berth does, which needs no remark."""
    header = {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": "KubeSchedulerConfiguration"}
    return {**header, "clientConnection": {"qps": -1}, **fields}


def one_profile(version: str = "v1", **fields: Any) -> dict[str, Any]:
    """A KubeSchedulerConfiguration of one profile called ``mine``, with its fields as keyword arguments."""
    return document(version, profiles=[{"schedulerName": "mine", **fields}])


def effective(told: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The plugins that run at each point for Kubernetes 1.36, with their weights."""
    found = spec(told)
    written = {key: found[key] for key in ("plugins", "pluginConfig") if key in found}
    profile = config.Profile.model_validate({"schedulerName": "mine", **written}, strict=False)
    expanded = config.expand_profile(profile, Target(Version(1, 36)))
    assert isinstance(expanded, config.EffectiveProfile), str(expanded)
    return {point: {plugin.name: plugin.weight for plugin in plugins} for point, plugins in expanded.points.items()}
