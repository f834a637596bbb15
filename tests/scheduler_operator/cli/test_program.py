"""The command itself: how it starts, helps and ends."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from scheduler_operator.cli import plugin_facts
from scheduler_operator.cli.console import wants_colour
from scheduler_operator.cli.program import COMMANDS, group
from tests.scheduler_operator.cli.berth import DOCUMENT, FORGETFUL, PROFILE, berth

CALL = "import sys; sys.argv[0] = '{name}'; from scheduler_operator.cli import main; main()"


def process(
    *arguments: str, name: str = "berth", before: str = "", **options: object
) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-c", before + CALL.format(name=name), *arguments]
    return subprocess.run(command, capture_output=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


def helped(name: str = "") -> str:
    """The help of a command, or of all, on a terminal of 80 columns."""
    context = click.Context(group, info_name="berth", terminal_width=80, help_option_names=["-h", "--help"])
    command = group.get_command(context, name) if name else None
    return click.Context(command, context, name).get_help() if command else context.get_help()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_a_terminal_and_says_everything(command: str) -> None:
    text = helped(command)
    assert text.startswith(f"Usage: berth {command}".rstrip())
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.replace("FILE...", "").replace("PROFILE...", "").replace("[ARGS]...", "")


@pytest.mark.parametrize("command", sorted({*COMMANDS} - {"completion"}))
def test_help_has_examples(command: str) -> None:
    assert f"\n    berth {command}" in helped(command)


def test_without_a_command_there_is_help() -> None:
    ran = berth()
    assert (ran.status, ran.stderr) == (0, "")
    assert "Exit codes" in ran.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["rendr"], "there is no command 'rendr'; did you mean render?", id="command"),
        pytest.param(["render", "--kubernets", "1.36", "-"], "--kubernetes", id="option"),
        pytest.param(["lint"], "see 'berth lint --help'", id="no-file"),
        pytest.param(
            ["lint", "-o", "xml", "-"], "'xml' is not one of 'text', 'table', 'yaml', 'json', 'sarif'", id="form"
        ),
    ],
)
def test_a_mistyped_command_line_is_refused_with_what_was_perhaps_intended(arguments: list[str], words: str) -> None:
    ran = berth(*arguments)
    assert (ran.status, ran.stdout) == (2, "")
    assert words in ran.stderr


def test_it_calls_itself_what_it_was_called() -> None:
    assert process("--help", name="/usr/bin/kubectl-berth").stdout.startswith(b"Usage: kubectl berth ")


def test_the_version_is_printed() -> None:
    assert process("--version").stdout.startswith(b"berth 0.")


def test_the_crds_are_printed() -> None:
    assert berth("crds").stdout.count("kind: CustomResourceDefinition") == 2


def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KeyError("odd")

    monkeypatch.setattr(plugin_facts, "every_plugin", fail)


def test_an_internal_error_is_one_line_that_asks_for_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch)
    ran = berth("plugins")
    assert (ran.status, ran.stdout) == (70, "")
    assert ran.stderr.startswith("berth: internal error: KeyError: 'odd' (test_program.py:")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("way", ["option", "variable"])
def test_the_traceback_is_for_who_asks_for_it(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    broken(monkeypatch)
    ran = berth("--debug", "plugins") if way == "option" else berth("plugins", debug=True)
    assert ran.status == 70
    assert ran.stderr.startswith("Traceback (most recent call last):")


def test_a_reader_who_has_had_enough_is_no_error() -> None:
    command = [sys.executable, "-c", CALL.format(name="berth"), "crds"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


def test_what_cannot_be_encoded_is_reported() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-c", CALL.format(name="berth"), "plugins"]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert ran.stderr == b"berth: standard output cannot be written: No space left on device\n"
    assert ran.returncode == 74


def test_closed_streams_are_no_internal_error() -> None:
    command = [sys.executable, "-c", CALL.format(name="berth"), "lint", "-"]
    ran = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command], check=False)
    assert ran.returncode == 2


def test_the_locale_does_not_decide_the_output_encoding() -> None:
    inputs = PROFILE.replace("name: packed", "name: packed, annotations: {who: ü}")
    ran = process(
        "render", "-", input=inputs.encode(), env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    )
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("terminal", "environment", "expected"),
    [
        pytest.param(True, {}, True, id="terminal"),
        pytest.param(False, {}, False, id="pipe"),
        pytest.param(True, {"NO_COLOR": "1"}, False, id="asked-not-to"),
        pytest.param(True, {"NO_COLOR": ""}, True, id="empty-is-unset"),
        pytest.param(True, {"TERM": "dumb"}, False, id="dumb-terminal"),
    ],
)
def test_colours_help_on_terminals(terminal: bool, environment: dict[str, str], expected: bool) -> None:
    assert wants_colour(terminal, environment) is expected


def modules_after(*arguments: str, stdin: str) -> set[str]:
    look = "import atexit, sys; atexit.register(lambda: sys.stderr.write(' '.join(sys.modules))); "
    ran = process(*arguments, before=look, input=stdin.encode())
    return set(ran.stderr.decode().split())


@pytest.mark.parametrize(
    ("stdin", "more"),
    [
        pytest.param(FORGETFUL, {"scheduler_operator.models", "jsonpatch"}, id="document"),
        pytest.param(PROFILE, {"jsonpatch"}, id="profile"),
    ],
)
def test_linting_loads_nothing_that_it_does_not_need(stdin: str, more: set[str]) -> None:
    loaded = modules_after("lint", "-", stdin=stdin)
    assert "click" in loaded
    assert loaded.isdisjoint({"kubernetes", "kopf", "aiohttp", "numpy", "rich", "msgspec", "asyncio", "ssl"} | more)


def cpu_seconds(*command: str, stdin: str = "") -> float:
    """What a process costs, whatever else this machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", *command], input=stdin.encode(), capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.thorough
@pytest.mark.parametrize("stdin", [pytest.param(FORGETFUL, id="document"), pytest.param(PROFILE, id="profile")])
def test_linting_a_file_costs_no_more_than_a_few_times_the_libraries_it_needs(stdin: str) -> None:
    """On an idle machine that is less than half a second; a busy one stretches both alike."""
    libraries = min(cpu_seconds("import click, pydantic, yaml; pydantic.BaseModel") for _ in range(3))
    linting = min(cpu_seconds(CALL.format(name="berth"), "lint", "-", stdin=stdin) for _ in range(3))
    assert linting < 4 * libraries


def test_many_profiles_take_no_longer_apiece_than_few(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"{number}.yaml").write_text(PROFILE.replace("packed", f"p{number}").replace("most", f"m{number}"))
    started = time.process_time()
    assert berth("lint", str(tmp_path)).status == 0
    assert time.process_time() - started < 3


def test_the_python_that_runs_it_may_be_isolated(tmp_path: Path) -> None:
    file = tmp_path / "kube scheduler.yaml"
    file.write_text(DOCUMENT)
    ran = process("lint", os.fspath(file), cwd=tmp_path, env={})
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
