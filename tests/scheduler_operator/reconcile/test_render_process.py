"""Rendering in processes of their own: results as in this one, and limits on time and memory."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from scheduler_operator.cluster.user_objects import StoredObject
from scheduler_operator.desired import desired_objects
from scheduler_operator.reconcile.render_process import RenderLimits, RenderProcesses, count_cpu_time
from scheduler_operator.render import ObjectProblems, Rendered, SharedProcess, render_shared
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import Target
from tests.scheduler_operator.builders import NAMESPACE, RELEASE, V1_36, declaring, plugin_config, profile

pytestmark = pytest.mark.timeout(600)  # the processes run after all others: a busy machine gives them little

T = TypeVar("T")
TARGET = Target(V1_36)


def stored(user_object: UserObject, version: str = "7", **status: Any) -> StoredObject:
    """The object as the API server sends it, taken in."""
    metadata = {
        "name": user_object.name,
        "uid": user_object.uid,
        "generation": user_object.generation,
        "resourceVersion": version,
        "annotations": {"written-with": version},
    }
    raw = {"kind": user_object.kind, "metadata": metadata, "spec": user_object.spec, "status": status}
    return StoredObject.from_object(raw)


def with_processes(work: Callable[[RenderProcesses], Awaitable[T]], limits: RenderLimits | None = None) -> T:
    async def run() -> T:
        processes = RenderProcesses(1, limits or RenderLimits(wall_seconds=NEVER))
        try:
            return await work(processes)
        finally:
            await processes.close()

    return asyncio.run(run())


def shared(owner: UserObject, *joiners: UserObject, configs: tuple[UserObject, ...] = ()) -> SharedProcess:
    by_name = {config.name: stored(config) for config in configs}
    joining = [stored(joiner) for joiner in joiners]
    return with_processes(lambda processes: processes.render_shared(stored(owner), joining, by_name, NAMESPACE, TARGET))


def test_what_a_process_renders_is_applied_as_what_is_rendered_here() -> None:
    configs = (
        plugin_config("shared", "NodeResourcesFit", scoringStrategy={"type": "MostAllocated"}),
        declaring("own", "Own", {"hooks": ["filter"], "argsSchema": {"type": "object"}}, args={}),
        plugin_config("unused", "NodeAffinity"),
    )
    owner = profile(
        pluginConfig=[{"name": "NodeResourcesFit", "ref": "shared"}, {"name": "Own", "ref": "own"}],
        plugins={"filter": {"enabled": [{"name": "Own"}]}},
    )
    guest = profile("guest", joins="bin-packing", nodes={"matchLabels": {"a": "b"}})
    there = shared(owner, guest, configs=configs).outcome
    here = render_shared(owner, [guest], {config.name: config for config in configs}, NAMESPACE, TARGET).outcome
    assert isinstance(there, Rendered), str(there)
    assert isinstance(here, Rendered)
    assert (there.text, there.extras, there.rules) == (here.text, here.extras, here.rules)
    assert desired_objects(owner, there, RELEASE) == desired_objects(owner, here, RELEASE)


def test_problems_come_back_as_they_are() -> None:
    refused = shared(profile(plugins={"filter": {"enabled": [{"name": "Nonsense"}]}})).outcome
    assert isinstance(refused, ObjectProblems)
    assert refused.reason == "PluginUnknown"


def slow(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Make each process do something else first when it renders."""

    async def start(self: RenderProcesses) -> Any:
        limits = (str(self.limits.cpu_seconds), str(self.limits.data_bytes))
        pipe = asyncio.subprocess.PIPE
        code = (
            f"from scheduler_operator.reconcile import render_process as r; f = r._FUNCTIONS['_render_shared']\n"
            f"def g(owner, *rest):\n    {program}\n    return f(owner, *rest)\n"
            "r._FUNCTIONS['_render_shared'] = g; r.main()"
        )
        return await asyncio.create_subprocess_exec(sys.executable, "-c", code, *limits, stdin=pipe, stdout=pipe)

    monkeypatch.setattr(RenderProcesses, "start_process", start)


HOSTILE = profile("hostile", pluginConfig=[{"name": "NodeAffinity", "args": {"a": list(range(1000))}}])
NEVER = 3600.0
"""A wall limit that no busy machine meets."""


def unrenderable(sentence: str) -> str:
    place = "spec.pluginConfig[0].args.a is the largest part, with 1,001 values"
    return f"spec: {sentence}; write less, or something else: {place}"


def count_requests(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The requests that processes get from now on."""
    requests, exchange = list[bytes](), RenderProcesses.exchange

    async def counted(self: RenderProcesses, process: asyncio.subprocess.Process, request: bytes) -> Any:
        requests.append(request)
        return await exchange(self, process, request)

    monkeypatch.setattr(RenderProcesses, "exchange", counted)
    return requests


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        pytest.param("while owner.name == 'hostile': pass", "takes more than 1 s of CPU time to render", id="time"),
        pytest.param(
            "x = bytearray(10**10 if owner.name == 'hostile' else 1)",
            "takes more than 300 MiB of memory to render",
            id="memory",
        ),
        pytest.param(
            "assert owner.name != 'hostile'",
            "is not understood by this release of Berth (AssertionError; its log has more)",
            id="mistake-of-ours",
        ),
    ],
)
def test_a_spec_that_cannot_be_rendered_is_told_and_the_next_one_is_rendered(
    program: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow(monkeypatch, program)
    requests = count_requests(monkeypatch)

    async def work(processes: RenderProcesses) -> tuple[SharedProcess, SharedProcess, SharedProcess]:
        first = await processes.render_shared(stored(HOSTILE), [], {}, NAMESPACE, TARGET)
        honest = await processes.render_shared(stored(profile()), [], {}, NAMESPACE, TARGET)
        # The same spec is not tried again, whatever status was written: with one process, others would wait each time.
        written = stored(HOSTILE, "8", conditions=[])
        return first, honest, await processes.render_shared(written, [], {}, NAMESPACE, TARGET)

    first, honest, again = with_processes(work, RenderLimits(1, NEVER, 300 * 2**20))
    assert str(first.outcome) == unrenderable(sentence)
    assert isinstance(honest.outcome, Rendered)
    assert again == first
    assert len(requests) == 2


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        pytest.param("os.kill(os.getpid(), 9)", "ended the process that renders it, by signal 9", id="killed"),
        pytest.param("os._exit(1)", "ended the process that renders it, with exit code 1", id="ended"),
        pytest.param("time.sleep(1000)", "could not be rendered within 3 s", id="stuck"),
    ],
)
def test_a_process_that_ends_for_other_reasons_is_followed_by_another(
    program: str, sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    healthy = tmp_path / "healthy"
    slow(monkeypatch, f"import os, time; os.path.exists({str(healthy)!r}) or {program}")
    requests = count_requests(monkeypatch)

    async def work(processes: RenderProcesses) -> tuple[SharedProcess, SharedProcess]:
        first = await processes.render_shared(stored(HOSTILE), [], {}, NAMESPACE, TARGET)
        healthy.touch()
        processes.limits = replace(processes.limits, wall_seconds=NEVER)
        return first, await processes.render_shared(stored(HOSTILE), [], {}, NAMESPACE, TARGET)

    first, again = with_processes(work, RenderLimits(wall_seconds=3.0 if "sleep" in program else NEVER))
    assert str(first.outcome) == unrenderable(sentence)
    assert "is not a field" in str(again.outcome)  # rendered, with the mistake that it has
    assert len(requests) == 3


def test_the_cpu_time_of_a_request_is_counted_also_without_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = "import time; e = time.process_time() + (99 if owner.name == 'hostile' else 0.6)"
    slow(monkeypatch, f"{busy}\n    while owner.name != 'honest' and time.process_time() < e: pass")

    async def work(processes: RenderProcesses) -> dict[str, float]:
        counted = {}
        for owner in (profile("honest"), profile("large"), HOSTILE):
            with count_cpu_time() as spent:
                await processes.render_shared(stored(owner), [], {}, NAMESPACE, TARGET)
            counted[owner.name] = spent.cpu_seconds
        return counted

    counted = with_processes(work, RenderLimits(2, NEVER))
    assert 0 < counted["honest"] < 0.5
    assert 0.6 <= counted["large"] < 2
    assert counted["hostile"] == 2


def processes_started(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.subprocess.Process]:
    """The processes that are started from now on."""
    started, start = list[asyncio.subprocess.Process](), RenderProcesses.start_process

    async def noted(self: RenderProcesses) -> asyncio.subprocess.Process:
        started.append(await start(self))
        return started[-1]

    monkeypatch.setattr(RenderProcesses, "start_process", noted)
    return started


def test_a_profile_is_not_blamed_for_the_end_of_an_idle_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started = processes_started(monkeypatch)

    async def work(processes: RenderProcesses) -> SharedProcess:
        await processes.render_shared(stored(profile("first")), [], {}, NAMESPACE, TARGET)
        os.kill(started[0].pid, signal.SIGKILL)
        return await processes.render_shared(stored(profile("second")), [], {}, NAMESPACE, TARGET)

    assert isinstance(with_processes(work).outcome, Rendered)


def test_the_memory_of_a_process_is_its_own_not_that_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    started = processes_started(monkeypatch)
    limits = RenderLimits(wall_seconds=NEVER, data_bytes=300 * 2**20)
    ballast = bytearray(b"x") * limits.data_bytes
    del ballast

    async def work(processes: RenderProcesses) -> None:
        for name in ("first", "second"):
            await processes.render_shared(stored(profile(name)), [], {}, NAMESPACE, TARGET)

    with_processes(work, limits)
    assert len(started) == 1


def test_of_several_profiles_the_one_that_cannot_be_rendered_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    slow(monkeypatch, "assert all(one.name != 'hostile' for one in (owner, *rest[0]))")
    guests = [profile("guest", joins="bin-packing"), profile("hostile", joins="bin-packing")]
    outcome = shared(profile(), *guests)
    assert isinstance(outcome.outcome, Rendered)
    assert list(outcome.outcome.profiles) == ["bin-packing", "guest"]
    assert list(outcome.excluded) == ["hostile"]


def test_of_profiles_that_cannot_be_rendered_together_the_last_one_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    slow(monkeypatch, "assert len(rest[0]) < 3")
    outcome = shared(profile(), *(profile(f"guest-{number}", joins="bin-packing") for number in range(3)))
    assert isinstance(outcome.outcome, Rendered)
    assert list(outcome.outcome.profiles) == ["bin-packing", "guest-0", "guest-1"]
    (problems,) = outcome.excluded.values()
    assert problems.reason == "JoinConflict"
    assert str(problems).startswith("spec.joins: with this profile, the document of bin-packing and those that joined")


def test_joining_profiles_are_told_nothing_when_the_owner_alone_cannot_be_rendered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow(monkeypatch, "assert owner.name != 'bin-packing'")
    outcome = shared(profile(), profile("guest", joins="bin-packing"))
    assert isinstance(outcome.outcome, ObjectProblems)
    assert not outcome.excluded


def test_the_event_loop_goes_on_while_a_process_works(monkeypatch: pytest.MonkeyPatch) -> None:
    slow(monkeypatch, "import time; e = time.process_time() + 1\n    while time.process_time() < e: pass")

    async def work(processes: RenderProcesses) -> int:
        rendering = asyncio.create_task(processes.render_shared(stored(profile()), [], {}, NAMESPACE, TARGET))
        turns = 0
        while not rendering.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert isinstance((await rendering).outcome, Rendered)
        return turns

    assert with_processes(work) > 20


def test_a_cancelled_request_leaves_no_answer_for_the_next_one() -> None:
    async def work(processes: RenderProcesses) -> SharedProcess:
        await processes.render_shared(stored(profile("first")), [], {}, NAMESPACE, TARGET)
        rendering = asyncio.create_task(processes.render_shared(stored(profile("second")), [], {}, NAMESPACE, TARGET))
        await asyncio.sleep(0)
        rendering.cancel()
        return await processes.render_shared(stored(profile("third")), [], {}, NAMESPACE, TARGET)

    outcome = with_processes(work).outcome
    assert isinstance(outcome, Rendered)
    assert list(outcome.profiles) == ["third"]


def test_a_spec_beyond_the_bounds_is_not_even_sent() -> None:
    large = profile(pluginConfig=[{"name": "NodeAffinity", "args": {"a": list(range(60_000))}}])
    assert stored(large).spec == b"{}"
    refused = shared(large).outcome
    assert str(refused).startswith("spec: has more than 50,000 values; write less of spec.pluginConfig[0].args.a")


def test_an_object_keeps_its_spec_as_text_and_its_relations_beside_it() -> None:
    owner = profile(joins="other", pluginConfig=[{"name": "A", "ref": "b", "args": {"c": [1] * 1000}}])
    kept = stored(owner)
    assert kept.relations.spec == {"joins": "other", "pluginConfig": [{"name": "A", "ref": "b"}]}
    assert json.loads(kept.spec) == owner.spec
    assert kept.decode() == replace(owner, created="", annotations={"written-with": "7"})
