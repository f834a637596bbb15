"""``berth expand``: which plugins run, and why."""

import json
from pathlib import Path

import pytest
import yaml

from scheduler_operator.cli.commands.expand import FOOTNOTE, REFUSED, STARRED
from scheduler_runtime import catalog
from scheduler_runtime.catalog import Version
from tests.scheduler_operator.cli.berth import DOCUMENT, PROFILE, berth
from tests.support.distributions import CODE, install


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


MISSING = [name for name, _ in catalog.defaults(Version.parse("1.36")).multi_point if catalog.find(name) is None]


def test_what_the_engine_does_not_have_is_marked_and_does_not_run() -> None:
    shown = berth("expand", "-", stdin=PROFILE).stdout
    marked = [line for line in shown.splitlines() if line.endswith("; not in Berth's scheduler yet")]
    assert {name for name in MISSING if any(f" ({name}) " in line for line in marked)} == set(MISSING)
    (found,) = json.loads(berth("expand", "-o", "json", "-", stdin=PROFILE).stdout)
    running = {each["name"] for entries in found["plugins"].values() for each in entries}
    absent = {each["name"] for entries in found["notInThisEngine"].values() for each in entries}
    assert running <= set(catalog.in_tree())
    assert absent == set(MISSING)
    assert (FOOTNOTE in shown) is bool(MISSING)


@pytest.mark.parametrize("engine", ["KubeScheduler", "Python"])
def test_a_document_runs_where_the_option_says(engine: str) -> None:
    ran = berth("expand", "-", "--engine", engine, stdin=DOCUMENT)
    assert (FOOTNOTE in ran.stdout) is (engine == "Python" and bool(MISSING))
    starred = {name.removesuffix("*") for name in ran.stdout.split() if name.endswith("*") and name != "*"}
    assert starred == (set() if engine == "Python" else set(MISSING))
    assert (STARRED in ran.stdout) is bool(starred)


@pytest.mark.parametrize("engine", ["KubeScheduler", "Python"])
def test_a_plugin_in_python_does_not_run_in_a_kube_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    install(tmp_path, "shown-caps", CODE.replace("PriceCap", "ShownCap"), ShownCap="ShownCap")
    monkeypatch.syspath_prepend(tmp_path)
    given = DOCUMENT + "    filter: {enabled: [{name: ShownCap}]}\n"
    shown = berth("expand", "-", "--engine", engine, stdin=given).stdout
    (line,) = (line for line in shown.splitlines() if "ShownCap" in line)
    assert ("(ShownCap)" in line, line.endswith("[0]; in Berth's scheduler only")) == (engine != "Python",) * 2
    assert (REFUSED in shown) is (engine != "Python")
    (found,) = json.loads(berth("expand", "-", "-o", "json", "--engine", engine, stdin=given).stdout)
    absent = found["notInThisEngine"].get("filter", [])
    assert ("ShownCap" in {each["name"] for each in absent}) is (engine != "Python")


def test_what_is_taken_out_of_a_document_has_no_star() -> None:
    taken = DOCUMENT.replace("score:", "filter: {disabled: [{name: VolumeBinding}]}\n    score:")
    shown = berth("expand", "-", stdin=taken).stdout
    assert "(VolumeBinding) " in shown
    assert "VolumeBinding* " in shown


def test_a_profile_says_itself_where_it_runs() -> None:
    upstream = PROFILE.replace("spec:", "spec:\n  engine: KubeScheduler", 1)
    shown = berth("expand", "-", "--engine", "Python", stdin=upstream).stdout
    assert FOOTNOTE not in shown
    assert STARRED not in shown
