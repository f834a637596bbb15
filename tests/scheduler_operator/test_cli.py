"""The ``berth`` command."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from scheduler_operator.cli import main

PROFILE = """
apiVersion: berth.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: packed}
spec:
  pluginConfig: [{name: NodeResourcesFit, ref: most}]
---
apiVersion: berth.dev/v1alpha1
kind: PluginConfig
metadata: {name: most}
spec: {plugin: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}
"""


def berth(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, arguments, input=stdin)


def test_a_profile_is_rendered_with_the_plugin_configs_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "profile.yaml"
    file.write_text(PROFILE)
    result = berth("render", str(file), "--namespace", "elsewhere")
    assert result.exit_code == 0
    document = yaml.safe_load(result.stdout)
    assert document["profiles"][0]["schedulerName"] == "packed"
    assert document["leaderElection"]["resourceNamespace"] == "elsewhere"


def test_standard_input_is_a_file_too() -> None:
    assert "schedulerName: packed" in berth("render", "-", stdin=PROFILE).stdout


def test_every_problem_is_told_with_its_file_profile_and_path() -> None:
    result = berth("render", "-", stdin=PROFILE.replace("ref: most", "ref: least"))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("<stdin>: packed: spec.pluginConfig[0].ref: there is no PluginConfig least")


BARE = """---
apiVersion: berth.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: %s}
spec: {%s}
"""


def test_several_profiles_are_several_documents() -> None:
    found = list(yaml.safe_load_all(berth("render", "-", stdin=PROFILE + BARE % ("calm", "")).stdout))
    assert [each["profiles"][0]["schedulerName"] for each in found] == ["packed", "calm"]


def test_what_is_wrong_with_one_profile_does_not_hide_what_is_wrong_with_the_next() -> None:
    odd = BARE % ("odd", "engine: Rust") + BARE % ("fine", "") + BARE % ("Even", "replicas: 2")
    result = berth("render", "-", stdin=odd)
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.split(": ")[1:3] for line in result.stderr.splitlines()] == [
        ["odd", "spec.engine"],
        ["Even", "metadata.name"],
        ["Even", "spec.replicas"],
    ]


def test_every_document_that_is_not_ours_is_named() -> None:
    result = berth("render", "-", stdin=PROFILE + "---\nkind: Pod\n---\nkind: Job\n")
    assert "document 3: is None Pod" in result.stderr
    assert "document 4: is None Job" in result.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("a: [", "is not YAML", id="not-yaml"),
        pytest.param("", "has no SchedulerProfile", id="empty"),
        pytest.param("kind: Pod\napiVersion: v1", "is v1 Pod", id="another-kind"),
        pytest.param("- 1", "is None None", id="not-an-object"),
        pytest.param(PROFILE.replace("{name: packed}", "{}"), "metadata.name is missing", id="no-name"),
        pytest.param(
            "apiVersion: berth.dev/v1alpha1\nkind: SchedulerProfile\nmetadata: {name: a}", "spec", id="no-spec"
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence(text: str, words: str) -> None:
    result = berth("render", "-", stdin=text)
    assert result.exit_code == 1
    assert words in result.stderr
    assert "Traceback" not in result.output


def test_a_version_that_is_none_is_a_usage_error() -> None:
    result = berth("render", "-", "--kubernetes", "latest", stdin=PROFILE)
    assert result.exit_code == 2
    assert "'latest' is not a Kubernetes version" in result.stderr


def test_a_version_older_than_all_is_a_usage_error_with_the_known_ones() -> None:
    result = berth("render", "-", "--kubernetes", "1.20", stdin=PROFILE)
    assert result.exit_code == 2
    assert "1.20 is older than this release knows; it knows 1.35 to 1.37" in result.stderr


def test_a_version_newer_than_all_is_remarked_on() -> None:
    result = berth("render", "-", "--kubernetes", "1.38", stdin=PROFILE)
    assert result.exit_code == 0
    assert result.stderr == "<stdin>: packed: Kubernetes 1.38 is newer than this release knows, 1.37 is used\n"


def test_the_crds_are_printed() -> None:
    kinds = [crd["spec"]["names"]["kind"] for crd in yaml.safe_load_all(berth("crds").stdout)]
    assert kinds == ["SchedulerProfile", "PluginConfig"]


def test_the_version_is_printed() -> None:
    assert berth("--version").stdout.startswith("berth ")


def test_the_command_starts_without_what_only_the_operator_needs() -> None:
    look = "import sys, scheduler_operator.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    assert {"kubernetes", "kopf", "aiohttp", "numpy"}.isdisjoint(loaded)
