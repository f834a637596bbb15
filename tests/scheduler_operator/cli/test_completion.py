"""Completion: in a shell, and behind ``kubectl berth``."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from scheduler_operator.cli.kubectl import completions
from scheduler_operator.cli.program import COMMANDS, group
from tests.scheduler_operator.cli.berth import berth
from tests.support.distributions import install


def completed(*arguments: str) -> list[tuple[str, str]]:
    *before, unfinished = arguments
    result = ShellComplete(group, {}, "berth", "_BERTH_COMPLETE").get_completions(before, unfinished)
    return [(item.type, item.value) for item in result]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("re",), [("plain", "render")], id="command"),
        pytest.param(("plugins", "noderesourcesf"), [("plain", "NodeResourcesFit")], id="plugin"),
        pytest.param(("lint", "prof"), [("file", "prof")], id="file"),
        pytest.param(("render", "--kubernetes", "1.37"), [("plain", "1.37")], id="version"),
        pytest.param(("lint", "-o", "s"), [("plain", "sarif")], id="form"),
    ],
)  # fmt: skip
def test_completes(arguments: tuple[str, ...], expected: list[tuple[str, str]]) -> None:
    assert completed(*arguments) == expected


def test_completes_what_is_installed_without_running_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "completed-caps", CompletedCap="PriceCap")
    monkeypatch.syspath_prepend(tmp_path)
    assert completed("plugins", "comp") == [("plain", "CompletedCap")]
    assert "completed_caps" not in sys.modules


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_every_shell_is_printed(shell: str) -> None:
    ran = berth("completion", shell)
    assert (ran.status, ran.stderr) == (0, "")
    assert f"_BERTH_COMPLETE={shell}_complete" in ran.stdout


def test_bash_takes_the_script() -> None:
    script = berth("completion", "bash").stdout
    subprocess.run(["bash", "--norc", "-c", script + "\ncomplete -p berth"], check=True, capture_output=True)


def test_the_shell_is_answered() -> None:
    variables = {"_BERTH_COMPLETE": "bash_complete", "COMP_WORDS": "berth plug", "COMP_CWORD": "1"}
    call = "import sys; sys.argv[0] = 'berth'; from scheduler_operator.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", call], env=variables, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["plain,plugins"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["plugins", "volumez"], ["VolumeZone", ":4"], id="plugin"),
        pytest.param(["lint", "prof"], [":0"], id="kubectl-completes-files"),
        pytest.param(["exp"], ["expand\tShow which plugins run, and why each is there.", ":4"], id="command"),
    ],
)
def test_kubectl_is_answered(arguments: list[str], expected: list[str]) -> None:
    assert list(completions(arguments)) == expected


def test_kubectl_gets_every_command() -> None:
    assert [line.partition("\t")[0] for line in completions([""])][:-1] == list(COMMANDS)
