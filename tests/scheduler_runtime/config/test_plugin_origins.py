"""Reasons why plugins run agree with the plugins that run."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings

from scheduler_runtime import config
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import EffectiveProfile, Problems, Profile, expand_profile
from scheduler_runtime.config.plugin_origins import PluginOrigin, origins
from tests.support.documents import documents

V1_36, V1_37 = Target.parse("1.36"), Target.parse("1.37")


def profile(**plugins: Any) -> Profile:
    return Profile.model_validate_json(json.dumps({"schedulerName": "a", "plugins": plugins}))


def explained(profile: Profile, target: Target = V1_36) -> Mapping[str, tuple[PluginOrigin, ...]]:
    effective = expand_profile(profile, target)
    assert not isinstance(effective, Problems), effective
    return origins(profile, effective, target)


def sentences(profile: Profile, point: str, target: Target = V1_36) -> dict[str, str]:
    return {origin.plugin: origin.sentence(target) for origin in explained(profile, target)[point]}


@pytest.mark.parametrize(
    ("plugins", "plugin", "sentence"),
    [
        pytest.param({}, "NodeAffinity", "default of 1.36", id="default"),
        pytest.param(
            {"score": {"enabled": [{"name": "NodeAffinity"}]}},
            "NodeAffinity",
            "plugins.score.enabled[0] replaces the default, which has weight 2",
            id="replaced-with-another-weight",
        ),
        pytest.param(
            {"multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 2}]}},
            "NodeAffinity",
            "plugins.multiPoint.enabled[0] replaces the default",
            id="replaced-with-the-same",
        ),
        pytest.param(
            {
                "multiPoint": {"enabled": [{"name": "NodeAffinity", "weight": 7}]},
                "score": {"enabled": [{"name": "NodeAffinity", "weight": 9}]},
            },
            "NodeAffinity",
            "plugins.score.enabled[0] replaces the default, which has weight 2",
            id="its-point-is-stronger-than-multi-point",
        ),
        pytest.param(
            {"score": {"disabled": [{"name": "*"}]}},
            "NodeAffinity",
            "taken away by plugins.score.disabled[0]",
            id="all-taken-away",
        ),
        pytest.param(
            {"multiPoint": {"disabled": [{"name": "ImageLocality"}, {"name": "NodeAffinity"}]}},
            "NodeAffinity",
            "taken away by plugins.multiPoint.disabled[1]",
            id="taken-away-everywhere",
        ),
    ],
)
def test_says(plugins: dict[str, Any], plugin: str, sentence: str) -> None:
    assert sentences(profile(**plugins), "score")[plugin] == sentence


def test_a_plugin_that_is_no_default_is_there_because_of_its_entry() -> None:
    described = profile(multiPoint={"enabled": [{"name": "GangScheduling"}]})
    assert sentences(described, "permit") == {"GangScheduling": "plugins.multiPoint.enabled[0]"}


def test_a_default_that_a_gate_adds_names_the_gate() -> None:
    gated = Target(V1_37.version, {"GenericWorkload": True})
    assert sentences(profile(), "permit", gated) == {"GangScheduling": "default of 1.37 with GenericWorkload"}


@pytest.mark.thorough
@settings(max_examples=100, deadline=None)
@given(document=documents(V1_36))
def test_origins_agree_with_what_runs(document: dict[str, Any]) -> None:
    read = config.parse_document(document)
    assert not isinstance(read, Problems)
    for profile in read.profiles:
        effective = expand_profile(profile, V1_36)
        if not isinstance(effective, Problems):
            agree(profile, effective)


def agree(profile: Profile, effective: EffectiveProfile) -> None:
    defaults = expand_profile(Profile(), V1_36)
    assert not isinstance(defaults, Problems)
    for point, at_point in origins(profile, effective, V1_36).items():
        running = {origin.plugin: origin.weight for origin in at_point if origin.runs}
        assert list(running.items()) == [(p.name, p.weight) for p in effective.points[point]]
        disabled = {origin.plugin for origin in at_point if not origin.runs}
        assert disabled == {p.name for p in defaults.points[point]} - set(running)
        for origin in at_point:
            check(profile, origin, {p.name: p.weight for p in defaults.points[point]})


def check(profile: Profile, origin: PluginOrigin, defaults: Mapping[str, int]) -> None:
    """The entry that is named says what the origin claims; without one it is a default as it stands."""
    if not origin.path:
        assert origin.runs
        assert defaults[origin.plugin] == origin.weight
        return
    _, point, entry = origin.path.split(".")
    kind, index = entry.rstrip("]").split("[")
    named = getattr(profile.plugins.at(point), kind)[int(index)]
    assert named.name == origin.plugin or (named.name == "*" and not origin.runs)
    assert kind == ("enabled" if origin.runs else "disabled")
    if origin.runs and origin.weight:
        assert origin.weight == (named.weight or 1)
