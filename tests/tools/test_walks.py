"""Walks cut out of recordings that are made for the test, and the tracer on a small program."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tools.walks.__main__ import main
from tools.walks.recording import Call, Points, WalkError, Walks, count, stacks_of
from tools.walks.ways import TRACER

Recording = dict[str, Any]
TRANSPORT = "scheduler_runtime/kube/http/stream.py:Stream.read"
REFLECTOR = "scheduler_runtime/kube/watch/reflector.py:Reflector.run"
QUEUE = "scheduler_runtime/scheduling/pending/queue.py:Queue.add"
LOOP = "scheduler_runtime/scheduling/loop.py:SchedulingLoop.run"
FILTER = "scheduler_runtime/plugins/noderesources/fit.py:NodeResourcesFit.filter"
SCORE = "scheduler_runtime/framework/scoring.py:score"
ASSUME = "scheduler_runtime/state/cache.py:Cache.assume"
BIND = "scheduler_runtime/scheduling/binding_cycle.py:BindingCycle.bind"
OUTBOX = "scheduler_runtime/scheduling/reporting/outbox.py:Outbox.put"
HEARTBEAT = "scheduler_runtime/app/watchdog/heartbeat.py:Heartbeat.run"
COMMIT = "scheduler_runtime/reload/frameworks.py:PreparedFrameworks.commit"
HANDLER = "scheduler_operator/kopf_seam/handlers.py:profile_seen"
REPORT = "scheduler_operator/reconcile/reconciler.py:report"


def recording(*lines: str) -> Recording:
    """Return a recording of calls like ``>> path:function mention``; each ``>`` is a level of depth."""
    functions: list[list[str]] = []
    calls = []
    for line in lines:
        arrows, _, rest = line.rpartition("> ") if line.startswith(">") else ("", "", line)
        point, _, mention = rest.partition(" ")
        function = point.split(":")
        if function not in functions:
            functions.append(function)
        calls.append([functions.index(function), len(arrows) + bool(arrows or line.startswith(">")), mention])
    return {"functions": functions, "calls": calls}


ARRIVAL = (f"{TRANSPORT} name", REFLECTOR, f"> {QUEUE} name")
CHOICE = (LOOP, f"> {FILTER} name", f"> {SCORE} name", f"> {ASSUME} name")
RECORDINGS = {
    "idle": recording(HEARTBEAT, TRANSPORT),
    "idle operator": recording(),
    "bound": recording(
        HEARTBEAT,
        *ARRIVAL,
        HEARTBEAT,
        *CHOICE,
        *(f"{BIND} name", TRANSPORT, f"{TRANSPORT} name", REFLECTOR, f"> {QUEUE} name"),
        *(BIND, f"> {OUTBOX} pod.17", f"> {BIND} name"),
    ),
    "first of its class": recording(*ARRIVAL, *CHOICE, f"> {OUTBOX} pod.17"),
    "fails": recording(*ARRIVAL, LOOP, f"> {OUTBOX} pod.17"),
    "wakes": recording(*ARRIVAL, LOOP),
    "document": recording(*ARRIVAL, LOOP, f"> {COMMIT}", f">> {QUEUE}", f"> {COMMIT}", f">> {QUEUE}", f"> {LOOP}"),
    "preempts": recording(*ARRIVAL, f"{OUTBOX} pod.17", *ARRIVAL, f"{OUTBOX} pod.18", LOOP),
    "profile": recording(f"{HANDLER} name", REPORT, f"> {REPORT} status", REPORT),
}


def walk(way: str) -> list[str]:
    """Return the points of a way in the recordings above."""
    walks = Walks(RECORDINGS, Points()).all()
    (calls,) = (calls for title, calls in walks.items() if title.startswith(way))
    return [call.point for call in calls]


def test_a_stack_begins_where_the_event_loop_calls_again() -> None:
    stacks = stacks_of(recording(LOOP, f"> {SCORE}", LOOP))
    assert [[call.depth for call in stack] for stack in stacks] == [[0, 1], [0]]


def test_switches_are_between_a_call_and_the_next() -> None:
    calls = [Call("a/x/one.py", "f", 0, ""), Call("a/x/two.py", "g", 1, ""), Call("a/y.py", "f", 1, "")]
    counts = count([*calls, calls[0]])
    assert (counts.calls, counts.functions, counts.files, counts.units) == (4, 3, 3, 2)
    assert (counts.file_switches, counts.unit_switches) == (3, 2)


@pytest.mark.parametrize(
    ("way", "points"),
    [
        pytest.param(
            "(a)",
            [REFLECTOR, QUEUE, LOOP, FILTER, SCORE, ASSUME, BIND, TRANSPORT, BIND, OUTBOX],
            id="from-the-object-to-the-event-without-background-and-later-lines",
        ),
        pytest.param("  · line", [REFLECTOR, QUEUE], id="first-part"),
        pytest.param("  · decision", [LOOP, FILTER, SCORE, ASSUME], id="second-part"),
        pytest.param("  · binding", [BIND, TRANSPORT, BIND, OUTBOX], id="third-part"),
        pytest.param("(b)", [REFLECTOR, QUEUE, LOOP, OUTBOX], id="until-the-event"),
        pytest.param("(b′)", [REFLECTOR, QUEUE], id="one-stack"),
        pytest.param(
            "(c)", [REFLECTOR, QUEUE, LOOP, COMMIT, QUEUE, COMMIT, QUEUE], id="until-the-last-part-of-the-swap-ends"
        ),
        pytest.param("(c′)", [COMMIT, QUEUE, COMMIT, QUEUE], id="swap-alone"),
        pytest.param("(d)", [HANDLER, REPORT, REPORT], id="from-handler-to-status"),
        pytest.param(
            "(e)", [REFLECTOR, QUEUE, OUTBOX, TRANSPORT, REFLECTOR, QUEUE, OUTBOX], id="until-the-event-of-the-binding"
        ),
        pytest.param("(f)", [FILTER, SCORE], id="from-the-filter-to-the-choice"),
    ],
)
def test_walks_are_cut_where_they_begin_and_end(way: str, points: list[str]) -> None:
    assert walk(way) == points


def test_a_walk_without_its_end_is_an_error() -> None:
    with pytest.raises(WalkError, match="no end of the walk"):
        Walks({**RECORDINGS, "fails": recording(*ARRIVAL, LOOP)}, Points()).all()


def test_points_of_another_tree_and_the_calls_of_a_way_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recordings, points = tmp_path / "recordings.json", tmp_path / "points.json"
    recordings.write_text(json.dumps(RECORDINGS))
    points.write_text(json.dumps({"assume": "scoring.py:score$"}))
    assert main(["--load", str(recordings), "--points", str(points), "--show", "f"]) == 0
    assert capsys.readouterr().out == "  plugins/noderesources/fit.py: NodeResourcesFit.filter\n"
    assert main(["--load", str(recordings)]) == 0
    assert "| (d) kopf handler → status reported | 3 | 2 | 2 | 2 | 1 | 1 |" in capsys.readouterr().out


PROGRAM = """
import pathlib, time

class Pod:
    name = "walk"

def outer(pod):
    inner("x", ("event", "walk.0123456789abcdef"))

def inner(text, key):
    pass

while not pathlib.Path("stop").exists():
    outer(Pod())
    pathlib.Path("called").touch()
    time.sleep(0.01)
"""


def test_the_tracer_writes_what_is_called_while_it_is_ordered_to(tmp_path: Path) -> None:
    package = tmp_path / "src/scheduler_runtime"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(TRACER), str(tmp_path), "scheduler_runtime.program"]
    with subprocess.Popen(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "src")}) as process:
        try:
            for order, expected in (("1 walk", "1.started"), ("2 none", "1.json"), ("3 none", "2.json")):
                (tmp_path / "order").write_text(order)
                wait_for(tmp_path / expected)
                for _ in range(2):  # the first call may have begun before the order
                    (tmp_path / "called").unlink(missing_ok=True)
                    wait_for(tmp_path / "called")
            (tmp_path / "stop").touch()
            assert process.wait(10) == 0
        finally:
            process.kill()
    calls, others = (
        {(call.point, call.mention) for stack in stacks_of(json.loads((tmp_path / name).read_text())) for call in stack}
        for name in ("1.json", "2.json")
    )
    program = "scheduler_runtime/program.py"
    assert (f"{program}:outer", "name") in calls
    assert (f"{program}:inner", "walk.0123456789abcdef") in calls
    assert {mention for _, mention in others} == {""}


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 10
    while not file.exists():
        assert time.monotonic() < deadline, f"no {file.name}"
        time.sleep(0.05)
