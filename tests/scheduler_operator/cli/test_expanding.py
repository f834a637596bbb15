"""``berth expand``: which plugins run, and why."""

import json

import yaml

from tests.scheduler_operator.cli.berth import DOCUMENT, PROFILE, berth


def rows(text: str) -> list[list[str]]:
    return [line.split(maxsplit=3) for line in text.splitlines()]


def test_each_plugin_is_shown_with_what_put_it_there() -> None:
    lines = berth("expand", "-", stdin=PROFILE).stdout.splitlines()
    assert lines[0] == "packed (<stdin>), Kubernetes 1.36"
    assert lines[2].split() == ["POINT", "PLUGIN", "WEIGHT", "WHY"]
    first = next(line.split() for line in lines if line.startswith("score"))
    assert " ".join(first) == (
        "score NodeResourcesFit 5 spec.plugins.score.enabled[0] replaces the default, which has weight 1"
    )


def test_a_default_that_was_taken_away_is_shown_with_what_took_it() -> None:
    shown = [" ".join(line.split()) for line in berth("expand", "-", stdin=PROFILE).stdout.splitlines()]
    assert "(NodeResourcesBalancedAllocation) taken away by spec.plugins.score.disabled[0]" in shown


def test_paths_in_a_document_are_those_of_the_document() -> None:
    assert "profiles[0].plugins.score.enabled[0] replaces the default" in berth("expand", "-", stdin=DOCUMENT).stdout


def test_json_and_yaml_say_the_same() -> None:
    found = json.loads(berth("expand", "-o", "json", "-", stdin=PROFILE).stdout)
    assert found == yaml.safe_load(berth("expand", "-o", "yaml", "-", stdin=PROFILE).stdout)
    assert found[0]["profile"] == "packed"
    assert found[0]["plugins"]["score"][0] == {
        "name": "NodeResourcesFit",
        "weight": 5,
        "why": "spec.plugins.score.enabled[0] replaces the default, which has weight 1",
    }
    assert [each["name"] for each in found[0]["takenAway"]["score"]] == ["NodeResourcesBalancedAllocation"]


def test_the_defaults_are_those_of_the_version_and_its_gates() -> None:
    def plugins(point: str, *options: str) -> dict[str, str]:
        found = json.loads(berth("expand", "-o", "json", "-", *options, stdin=DOCUMENT).stdout)
        return {each["name"]: each["why"] for each in found[0]["plugins"][point]}

    assert list(plugins("filter", "--kubernetes", "1.36"))[:2] == ["NodeUnschedulable", "NodeName"]
    assert list(plugins("filter", "--kubernetes", "1.37"))[:2] == ["NodeName", "NodeUnschedulable"]
    assert "GangScheduling" not in plugins("preEnqueue", "--kubernetes", "1.37")
    gated = plugins("preEnqueue", "--kubernetes", "1.37", "--feature-gates", "GenericWorkload=true")
    assert gated["GangScheduling"] == "default of 1.37 with GenericWorkload"
