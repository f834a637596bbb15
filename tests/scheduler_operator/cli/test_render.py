"""``berth render``: profiles to documents."""

import json
from pathlib import Path

import pytest
import yaml

from tests.scheduler_operator.cli.berth import BARE, DOCUMENT, PROFILE, berth


def test_a_profile_is_rendered_with_the_plugin_configs_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "profile.yaml"
    file.write_text(PROFILE)
    ran = berth("render", str(file), "--namespace", "elsewhere")
    assert (ran.status, ran.stderr) == (0, "")
    document = yaml.safe_load(ran.stdout)
    assert document["profiles"][0]["schedulerName"] == "packed"
    assert document["leaderElection"]["resourceNamespace"] == "elsewhere"


def test_standard_input_is_a_file_too() -> None:
    assert "schedulerName: packed" in berth("render", "-", stdin=PROFILE).stdout


def test_plugin_configs_may_be_in_a_file_of_their_own(tmp_path: Path) -> None:
    profile, _, plugin_config = PROFILE.partition("---\n")
    (tmp_path / "a.yaml").write_text(profile)
    (tmp_path / "b.yaml").write_text(plugin_config)
    ran = berth("render", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"))
    assert yaml.safe_load(ran.stdout)["profiles"][0]["pluginConfig"][0]["args"] == {
        "scoringStrategy": {"type": "MostAllocated"}
    }


def test_a_problem_is_reported_with_its_file_line_and_path() -> None:
    ran = berth("render", "-", stdin=PROFILE.replace("ref: most", "ref: least"))
    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("<stdin>:9: spec.pluginConfig[0].ref: there is no PluginConfig least")


def test_a_problem_of_a_plugin_config_is_reported_where_that_stands() -> None:
    ran = berth("render", "-", stdin=PROFILE.replace("MostAllocated", "Most"))
    assert ran.status == 2
    assert ran.stderr.startswith("<stdin>:14: spec.args.scoringStrategy.type: 'Most' is not")


def test_several_profiles_are_several_documents() -> None:
    inputs = PROFILE + BARE % ("calm", "")
    documents = list(yaml.safe_load_all(berth("render", "-", stdin=inputs).stdout))
    assert [document["profiles"][0]["schedulerName"] for document in documents] == ["packed", "calm"]
    assert berth("render", "-", "-o", "json", stdin=inputs).stdout.count("KubeSchedulerConfiguration") == 2


def test_what_is_wrong_with_one_profile_does_not_hide_what_is_wrong_with_the_next() -> None:
    odd = BARE % ("odd", "engine: Rust") + BARE % ("fine", "") + BARE % ("Even", "replicas: 2")
    ran = berth("render", "-", stdin=odd)
    assert (ran.status, ran.stdout) == (2, "")
    assert [line.split(": ")[:2] for line in ran.stderr.splitlines()] == [
        ["<stdin>:5", "spec.engine"],
        ["<stdin>:14", "metadata.name"],
        ["<stdin>:15", "spec.replicas"],
    ]


def test_every_default_can_be_spelled_out() -> None:
    document = yaml.safe_load(berth("render", "--defaulted", "-", stdin=DOCUMENT).stdout)
    assert document["parallelism"] == 16
    assert document["leaderElection"]["resourceName"] == "spread"


def test_json_is_the_same_document() -> None:
    assert json.loads(berth("render", "-o", "json", "-", stdin=PROFILE).stdout) == yaml.safe_load(
        berth("render", "-", stdin=PROFILE).stdout
    )


@pytest.mark.parametrize(
    ("version", "words"),
    [
        pytest.param("latest", "'latest' is not a Kubernetes version", id="none"),
        pytest.param("1.20", "1.20 is older than this release knows; it knows 1.35 to 1.37", id="too-old"),
    ],
)
def test_a_version_that_cannot_be_followed_is_refused(version: str, words: str) -> None:
    ran = berth("render", "-", "--kubernetes", version, stdin=PROFILE)
    assert ran.status == 2
    assert words in ran.stderr


def test_a_version_newer_than_all_is_remarked_on() -> None:
    ran = berth("render", "-", "--kubernetes", "1.38", stdin=BARE % ("calm", ""))
    assert ran.status == 0
    assert ran.stderr == "<stdin>: Kubernetes 1.38 is newer than this release knows, 1.37 is used\n"


@pytest.mark.parametrize(
    ("gates", "words"),
    [
        pytest.param("GangScheduling", "'GangScheduling' sets no feature gate; write Name=true", id="no-value"),
        pytest.param("NodeDeclaredFeature=true", "did you mean NodeDeclaredFeatures", id="misspelt"),
    ],
)
def test_a_feature_gate_that_is_none_is_refused(gates: str, words: str) -> None:
    ran = berth("render", "-", "--feature-gates", gates, stdin=PROFILE)
    assert (ran.status, ran.stdout) == (2, "")
    assert words in ran.stderr
