"""Results of imports, for tests: profiles, remarks and refusals by name or path."""

from collections.abc import Mapping
from typing import Any

from scheduler_operator.migrate import Imported, import_document, import_documents
from scheduler_runtime import config
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.config import Problems


def outcome(document: Mapping[str, Any], name: str = "", **files: str) -> Imported:
    """The import of one document; a test whose input is refused fails here, and with the reasons."""
    result = import_document(document, name, files)
    assert isinstance(result, Imported), str(result)
    return result


def outcome_of_all(*documents: Mapping[str, Any], name: str = "") -> Imported:
    """The import of several documents together."""
    result = import_documents(documents, name)
    assert isinstance(result, Imported), str(result)
    return result


def profiles(result: Imported) -> dict[str, dict[str, Any]]:
    """The specs of the profiles by name, the first one first."""
    return {item["metadata"]["name"]: item["spec"] for item in result.objects if item["kind"] == "SchedulerProfile"}


def spec(document: Mapping[str, Any], name: str = "mine", **files: str) -> dict[str, Any]:
    """The spec of the only profile."""
    (result,) = profiles(outcome(document, name, **files)).values()
    return result


def remarks(document: Mapping[str, Any], name: str = "mine", **files: str) -> dict[str, str]:
    """The remarks by path; several at one path are joined."""
    messages: dict[str, str] = {}
    for remark in outcome(document, name, **files).remarks:
        messages[remark.path] = (
            f"{messages[remark.path]}; {remark.message}" if remark.path in messages else remark.message
        )
    return messages


def refusals(document: Mapping[str, Any], name: str = "mine", **files: str) -> dict[str, str]:
    """Why a document is refused, by path."""
    result = import_document(document, name, files)
    assert isinstance(result, Problems), str(result)
    return {problem.path: problem.message for problem in result}


def document(version: str = "v1", **fields: Any) -> dict[str, Any]:
    """A KubeSchedulerConfiguration that says of qps what Berth does, which needs no remark."""
    header = {"apiVersion": f"kubescheduler.config.k8s.io/{version}", "kind": "KubeSchedulerConfiguration"}
    return {**header, "clientConnection": {"qps": -1}, **fields}


def one_profile(version: str = "v1", **fields: Any) -> dict[str, Any]:
    """A KubeSchedulerConfiguration of one profile called ``mine``, with its fields as keyword arguments."""
    return document(version, profiles=[{"schedulerName": "mine", **fields}])


def effective(source: dict[str, Any]) -> dict[str, dict[str, int]]:
    """The plugins that run at each point for Kubernetes 1.36, with their weights."""
    result = spec(source)
    plugin_fields = {key: result[key] for key in ("plugins", "pluginConfig") if key in result}
    profile = config.Profile.model_validate({"schedulerName": "mine", **plugin_fields}, strict=False)
    expanded = config.expand_profile(profile, Target(Version(1, 36)))
    assert isinstance(expanded, config.EffectiveProfile), str(expanded)
    return {point: {plugin.name: plugin.weight for plugin in plugins} for point, plugins in expanded.points.items()}
