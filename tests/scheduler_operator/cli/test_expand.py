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


def test_every_plugin_is_displayed_with_what_put_it_there() -> None:
    lines = berth("expand", "-", stdin=PROFILE).stdout.splitlines()
    assert lines[0] == "packed (<stdin>), Kubernetes 1.36"
    assert lines[2].split() == ["POINT", "PLUGIN", "WEIGHT", "WHY"]
    first = next(line.split() for line in lines if line.startswith("score"))
    assert " ".join(first) == (
        "score NodeResourcesFit 5 spec.plugins.score.enabled[0] replaces the default, which has weight 1"
    )


def test_a_default_that_was_removed_is_displayed_with_what_took_it() -> None:
    output = [" ".join(line.split()) for line in berth("expand", "-", stdin=PROFILE).stdout.splitlines()]
    assert "(NodeResourcesBalancedAllocation) taken away by spec.plugins.score.disabled[0]" in output


def test_paths_in_a_document_are_those_of_the_document() -> None:
    assert "profiles[0].plugins.score.enabled[0] replaces the default" in berth("expand", "-", stdin=DOCUMENT).stdout


def test_json_and_yaml_say_the_same() -> None:
    result = json.loads(berth("expand", "-o", "json", "-", stdin=PROFILE).stdout)
    assert result == yaml.safe_load(berth("expand", "-o", "yaml", "-", stdin=PROFILE).stdout)
    assert result[0]["profile"] == "packed"
    assert result[0]["plugins"]["score"][0] == {
        "name": "NodeResourcesFit",
        "weight": 5,
        "why": "spec.plugins.score.enabled[0] replaces the default, which has weight 1",
    }
    assert [item["name"] for item in result[0]["takenAway"]["score"]] == ["NodeResourcesBalancedAllocation"]


def test_the_defaults_are_those_of_the_version_and_its_gates() -> None:
    def plugins(point: str, *options: str) -> dict[str, str]:
        result = json.loads(berth("expand", "-o", "json", "-", *options, stdin=DOCUMENT).stdout)
        return {plugin["name"]: plugin["why"] for plugin in result[0]["plugins"][point]}

    assert list(plugins("filter", "--kubernetes", "1.36"))[:2] == ["NodeUnschedulable", "NodeName"]
    assert list(plugins("filter", "--kubernetes", "1.37"))[:2] == ["NodeName", "NodeUnschedulable"]
    assert "GangScheduling" not in plugins("preEnqueue", "--kubernetes", "1.37")
    gated = plugins("preEnqueue", "--kubernetes", "1.37", "--feature-gates", "GenericWorkload=true")
    assert gated["GangScheduling"] == "default of 1.37 with GenericWorkload"


MISSING = [name for name, _ in catalog.defaults(Version.parse("1.36")).multi_point if catalog.find(name) is None]


def test_what_the_engine_does_not_have_is_marked_and_does_not_run() -> None:
    output = berth("expand", "-", stdin=PROFILE).stdout
    marked = [line for line in output.splitlines() if line.endswith("; not in Berth's scheduler yet")]
    assert {name for name in MISSING if any(f" ({name}) " in line for line in marked)} == set(MISSING)
    (result,) = json.loads(berth("expand", "-o", "json", "-", stdin=PROFILE).stdout)
    running = {entry["name"] for entries in result["plugins"].values() for entry in entries}
    absent = {entry["name"] for entries in result["notInThisEngine"].values() for entry in entries}
    assert running <= set(catalog.in_tree())
    assert absent == set(MISSING)
    assert (FOOTNOTE in output) is bool(MISSING)


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
    install(tmp_path, "engine-caps", CODE.replace("PriceCap", "EngineCap"), EngineCap="EngineCap")
    monkeypatch.syspath_prepend(tmp_path)
    inputs = DOCUMENT + "    filter: {enabled: [{name: EngineCap}]}\n"
    output = berth("expand", "-", "--engine", engine, stdin=inputs).stdout
    (line,) = (line for line in output.splitlines() if "EngineCap" in line)
    assert ("(EngineCap)" in line, line.endswith("[0]; in Berth's scheduler only")) == (engine != "Python",) * 2
    assert (REFUSED in output) is (engine != "Python")
    (result,) = json.loads(berth("expand", "-", "-o", "json", "--engine", engine, stdin=inputs).stdout)
    absent = result["notInThisEngine"].get("filter", [])
    assert ("EngineCap" in {item["name"] for item in absent}) is (engine != "Python")


def test_what_is_removed_from_a_document_has_no_star() -> None:
    without_filter = DOCUMENT.replace("score:", "filter: {disabled: [{name: VolumeBinding}]}\n    score:")
    output = berth("expand", "-", stdin=without_filter).stdout
    assert "(VolumeBinding) " in output
    assert "VolumeBinding* " in output


def test_a_profile_says_itself_where_it_runs() -> None:
    upstream = PROFILE.replace("spec:", "spec:\n  engine: KubeScheduler", 1)
    output = berth("expand", "-", "--engine", "Python", stdin=upstream).stdout
    assert FOOTNOTE not in output
    assert STARRED not in output
