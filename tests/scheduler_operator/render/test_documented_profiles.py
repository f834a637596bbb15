"""Every profile that the documentation and the examples show is a good one, and together they show every field."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_operator.models import PluginConfigSpec, ProfileSpec
from scheduler_operator.render import Rendered, check, owner_name, render
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.catalog.openapi_schema import structural_schema
from tests.scheduler_operator.builders import NAMESPACE, V1_36
from tests.support.manifests import PAGE, documented_manifests

MANIFESTS = documented_manifests()


def authored(manifest: dict[str, Any]) -> UserObject:
    metadata = {"uid": "a", "generation": 1, **manifest["metadata"]}
    return UserObject.from_object({**manifest, "metadata": metadata})


def sorted_out(objects: list[dict[str, Any]]) -> tuple[list[UserObject], dict[str, UserObject]]:
    """The profiles, whose process it is first, and the PluginConfigs."""
    result = [authored(item) for item in objects]
    profiles = [item for item in result if item.kind == "SchedulerProfile"]
    configs = {item.name: item for item in result if item.kind == "PluginConfig"}
    return sorted(profiles, key=owner_name), configs


@pytest.mark.parametrize("place", MANIFESTS)
@pytest.mark.parametrize("version", ["1.35", "1.36", "1.37"])
def test_what_is_displayed_renders_without_a_warning(place: str, version: str) -> None:
    profiles, configs = sorted_out(MANIFESTS[place])
    if profiles:
        outcome = render(profiles, configs, NAMESPACE, Target(Version.parse(version)))
        assert isinstance(outcome, Rendered), str(outcome)
        assert [str(finding) for finding in outcome.findings if finding.severity != "note"] == []


@pytest.mark.parametrize("place", MANIFESTS)
def test_every_plugin_config_that_is_displayed_is_valid(place: str) -> None:
    _, configs = sorted_out(MANIFESTS[place])
    assert [
        str(result)
        for plugin_config in configs.values()
        if (result := check(plugin_config, configs, NAMESPACE, Target(V1_36)))
    ] == []


def fields(schema: dict[str, Any], path: str) -> Iterator[str]:
    """The paths of all fields, but for what stands in args, labels and the like."""
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from fields(inner, f"{path}.{name}")
        yield from fields(inner.get("items", {}), f"{path}.{name}")


def used(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{path}.{name}"
            yield from used(inner, f"{path}.{name}")
    if isinstance(value, list):
        for inner in value:
            yield from used(inner, path)


IN_WORDS = ("certData", "keyData", "caData")
SELECTOR = "matchExpressions"
"""Requirements on labels are shown once, at spec.nodes, and are the same everywhere."""
POINTS = {f"spec.plugins.{point}" for point in structural_schema(ProfileSpec)["properties"]["plugins"]["properties"]}


@pytest.mark.parametrize(("kind", "model"), [("SchedulerProfile", ProfileSpec), ("PluginConfig", PluginConfigSpec)])
def test_the_page_shows_every_field(kind: str, model: type[Any]) -> None:
    objects = [item for place, result in MANIFESTS.items() if place.startswith("docs/") for item in result]
    documented_fields = {path for item in objects if item["kind"] == kind for path in used(item["spec"], "spec")}
    missing = set(fields(structural_schema(model), "spec")) - documented_fields
    at_points = {path for path in missing if any(path == point or path.startswith(f"{point}.") for point in POINTS)}
    assert [path for path in sorted(missing - at_points) if not path.endswith(IN_WORDS) and SELECTOR not in path] == []


@pytest.mark.parametrize("word", [*(point.rpartition(".")[2] for point in sorted(POINTS)), *IN_WORDS])
def test_what_has_no_example_of_its_own_is_named(word: str) -> None:
    assert re.search(rf"\b{word}\b", PAGE.read_text())
