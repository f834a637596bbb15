"""PluginConfigs by themselves, and which profiles use them."""

from typing import Any

import pytest

from scheduler_operator.render import check, references, uses
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import Target
from tests.scheduler_operator.builders import NAMESPACE, V1_36, declaring, plugin_config, profile

MOST_ALLOCATED = {"scoringStrategy": {"type": "MostAllocated"}}


def test_references_are_read_in_a_profile_that_is_otherwise_wrong() -> None:
    broken = profile(
        engine="Rust", pluginConfig=[{"name": "A", "ref": "one"}, {"ref": "two"}, "nonsense", {"name": "B"}]
    )
    assert references(broken) == {"one", "two"}


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        pytest.param(plugin_config("c", "NodeResourcesFit", **MOST_ALLOCATED), None, id="valid"),
        pytest.param(plugin_config("c", "NodeResourcesFit", nonsense=1), "Invalid", id="no-such-argument"),
        pytest.param(plugin_config("c", "NodeName", anything=1), "Invalid", id="takes-no-arguments"),
        pytest.param(plugin_config("c", "Nonsense"), "PluginUnknown", id="no-such-plugin"),
    ],
)
def test_a_plugin_config_is_judged_by_itself(config: UserObject, reason: str | None) -> None:
    result = check(config, {config.name: config}, NAMESPACE, Target(V1_36))
    assert (result.reason if result else None) == reason
    if result:
        assert all(problem.path.startswith("spec.") for problem in result.problems)


@pytest.mark.parametrize(
    ("spec", "paths"),
    [
        pytest.param(
            {"plugin": "NodeResourcesFit", "odd": 1, "args": {"nonsense": 1}},
            ["spec.odd", "spec.args.nonsense"],
            id="arguments",
        ),
        pytest.param({"plugin": "Nonsense", "odd": 1}, ["spec.odd", "spec.plugin"], id="name"),
        pytest.param(
            {"plugin": "PriceCap", "declares": {"hooks": ["score", "none"]}, "args": {"cap": 1}},
            ["spec.declares.hooks[1]"],
            id="what-may-be-a-consequence",
        ),
        pytest.param({"args": {"nonsense": 1}}, ["spec.plugin"], id="nothing-to-go-by"),
    ],
)
def test_a_mistake_in_a_plugin_config_hides_no_other(spec: dict[str, Any], paths: list[str]) -> None:
    config = UserObject("PluginConfig", "c", "uid", 1, spec, {})
    result = check(config, {"c": config}, NAMESPACE, Target(V1_36))
    assert result is not None
    assert [problem.path for problem in result.problems] == paths


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"pluginConfig": [{"name": "A", "ref": "prices"}]}, True, id="by-reference"),
        pytest.param({"plugins": {"score": {"enabled": [{"name": "PriceCap"}]}}}, True, id="by-its-plugin"),
        pytest.param({"pluginConfig": [{"name": "PriceCap", "args": {}}]}, True, id="by-arguments-for-its-plugin"),
        pytest.param({"plugins": {"score": {"disabled": [{"name": "PriceCap"}]}}}, False, id="disabled"),
        pytest.param({"plugins": "nonsense", "pluginConfig": {"name": "PriceCap"}}, False, id="nonsense"),
    ],
)
def test_who_uses_a_plugin_config_that_declares(spec: dict[str, Any], expected: bool) -> None:
    assert uses(profile(**spec), declaring("prices", "PriceCap", {"hooks": ["score"]})) is expected


def test_arguments_for_a_plugin_are_no_use_of_a_config_that_declares_nothing() -> None:
    assert not uses(profile(pluginConfig=[{"name": "A", "args": {}}]), plugin_config("a", "A"))
