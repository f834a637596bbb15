"""Odd inputs: a command ends with 0, 1 or 2, and a refusal names its place."""

import json
import os
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_runtime.catalog import Target
from tests.fuzz.budget import Budget
from tests.fuzz.inputs import OBJECTS, SEEDS, WORDS, fuzzed
from tests.fuzz.regressions import INPUTS
from tests.scheduler_operator.cli.berth import Ran, berth
from tests.support.documents import documents, mutated

pytestmark = pytest.mark.thorough

TOTAL = int(os.environ.get("FUZZ", "1000"))
"""5,000 in ``make test``, and as many as you like in ``make fuzz``."""
SHARDS = 10
DOCUMENTS = TOTAL // 10
"""How many of the inputs hypothesis makes: those that are nearly right, which take it a while."""

COMMANDS = (
    ("lint",),
    ("lint", "-o", "sarif"),
    ("lint", "-o", "json", "--kubernetes", "1.35"),
    ("render",),
    ("render", "--defaulted", "-o", "json", "--kubernetes", "1.37"),
    ("expand",),
    ("expand", "-o", "yaml", "--feature-gates", "AllAlpha=true"),
    ("diff", "--to", "1.37"),
    ("diff", "--to", "1.35", "-o", "json"),
    ("import",),
    ("import", "-o", "json", "--name", "legacy"),
)
PLACE = re.compile(r"^(<stdin>(:\d+)?|--[a-z-]+|berth [a-z]+): \S")


def check(arguments: tuple[str, ...], standard_input: bytes) -> Ran:
    """Run a command on ``given_input``, which a failure shows."""
    ran = berth(*arguments, stdin=standard_input)
    story = f"berth {' '.join(arguments)} < {standard_input!r}\n{ran.stderr}"
    assert ran.status in (0, 1, 2), story
    if ran.status == 2:
        assert not ran.stdout or arguments[0] == "lint", story
        assert ran.stderr or "-o" in arguments, story
        assert all(PLACE.match(line) for line in ran.stderr.splitlines()), story
    return ran


@pytest.mark.parametrize("shard", range(SHARDS))
def test_noise_slips_and_grafts(shard: int) -> None:
    budget = Budget(seconds=5, megabytes=200)
    for number in range(shard, TOTAL - DOCUMENTS, SHARDS):
        command, text = COMMANDS[number // SHARDS % len(COMMANDS)], fuzzed(Random(number))  # noqa: S311 - chance
        with budget.input(f"berth {' '.join(command)}, input {number}"):
            check((*command, "-"), text)
    budget.print("commands")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("text", [*INPUTS, *(seed.encode() for seed in SEEDS)])
def test_what_once_ended_badly(command: tuple[str, ...], text: bytes) -> None:
    check((*command, "-"), text)


def as_profile(document: dict[str, Any], process: dict[str, Any]) -> dict[str, Any]:
    """The first profile of a document as a SchedulerProfile."""
    profiles = document.get("profiles")
    first = profiles[0] if isinstance(profiles, list) and profiles and isinstance(profiles[0], dict) else {}
    spec = {key: value for key, value in first.items() if key != "schedulerName"}
    return {
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": "made"},
        "spec": {**spec, **process},
    }


V1_36 = Target.parse("1.36")
nearly = documents(V1_36) | mutated(documents(V1_36))
process_settings = st.sampled_from([{}, {"engine": "KubeScheduler"}, {"scheduler": {"replicas": 1}}, {"nodes": {}}])
profiles = st.builds(as_profile, nearly, process_settings)


@settings(max_examples=DOCUMENTS, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(document=nearly | profiles, command=st.sampled_from(COMMANDS))
def test_documents_that_are_nearly_right(document: dict[str, Any], command: tuple[str, ...]) -> None:
    check((*command, "-"), json.dumps(document).encode())


@pytest.mark.parametrize("shard", range(2))
def test_command_lines(shard: int, tmp_path: Path) -> None:
    words = (
        "-",
        "--",
        "-o",
        "--output=",
        "--kubernetes",
        "--feature-gates",
        "--severity",
        "--name",
        "--to",
        "--defaulted",
    )
    commands = ("lint", "render", "expand", "diff", "import", "plugins", "completion", "crds", "nothing")
    values = (*WORDS, "", "\0", "../..", str(tmp_path), "1.36", "A=true", "A=", "json", "é" * 300, "a" * 5000)
    for number in range(shard, TOTAL // 10, 2):
        random = Random(number)  # noqa: S311 - chance, not secrets
        rest = [random.choice(random.choice((words, values))) for _ in range(random.randint(0, 4))]
        arguments = (random.choice(commands), *(word for word in rest if word not in ("-h", "--help")))
        ran = berth(*arguments, stdin=random.choice(SEEDS))
        assert ran.status in (0, 1, 2), f"{arguments}\n{ran.stderr}"


def test_the_seeds_are_worth_fuzzing() -> None:
    assert len(OBJECTS) >= 6
    for text in SEEDS:
        assert any(check((*command, "-"), text.encode()).status < 2 for command in COMMANDS)
