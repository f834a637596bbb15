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


def test_the_crds_are_printed() -> None:
    kinds = [crd["spec"]["names"]["kind"] for crd in yaml.safe_load_all(berth("crds").stdout)]
    assert kinds == ["SchedulerProfile", "PluginConfig"]


def test_the_version_is_printed() -> None:
    assert berth("--version").stdout.startswith("berth ")


def test_the_command_starts_without_what_only_the_operator_needs() -> None:
    look = "import sys, scheduler_operator.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    assert {"kubernetes", "kopf", "aiohttp", "numpy"}.isdisjoint(loaded)
