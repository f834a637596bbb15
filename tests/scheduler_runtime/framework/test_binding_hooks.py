"""After the decision: waiting for a permit, pre_bind, bind, post_bind."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import ALLOW, PARALLEL, SERIAL, SKIP, Answer, Plugin, Pod, QueueEntry, Reject, Wait, Watch
from scheduler_runtime.framework import BindError, Framework, Placed, PluginServices, QueueGate, RegistrationError
from scheduler_runtime.framework.permit_waits import go_duration

CALLS: list[str] = []


@pytest.fixture(autouse=True)
def _forget_calls() -> None:
    CALLS.clear()


class ApiServer:
    """Remembers what was bound."""

    def __init__(self) -> None:
        self.bound: list[tuple[str, str, str, str]] = []

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        self.bound.append((namespace, name, uid, node))


def framework_of(*plugins: type[Plugin], api_server: ApiServer | None = None, sorts: str = "PrioritySort") -> Framework:
    enabled = [{"name": name} for name in (sorts, *(plugin.__name__ for plugin in plugins), "DefaultBinder")]
    profile = {"plugins": {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}}}
    services = PluginServices(api_server or ApiServer(), lambda *_: None, lambda _: None)
    return testing.framework(profile, *plugins, services=services)


def placed_by(decides: Framework) -> Placed:
    outcome = decides.schedule(testing.pod("p"), testing.Cluster(testing.node("a")))
    assert isinstance(outcome, Placed)
    return outcome


async def test_the_default_binder_binds_with_the_uid() -> None:
    api_server = ApiServer()
    decides = framework_of(api_server=api_server)
    await decides.binding.run_bind_plugins(placed_by(decides))
    assert api_server.bound == [("default", "p", "uid-of-p", "a")]


class Holds(Plugin):
    seconds = 5.0

    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        return Wait(self.seconds)

    def release(self) -> None:
        for waiting in self.handle.waiting_pods():
            waiting.allow(type(self).__name__)

    def throw_out(self) -> None:
        for waiting in self.handle.waiting_pods():
            waiting.reject(type(self).__name__, "the gang is incomplete")


class HoldsBriefly(Holds):
    seconds = 0.01


class HoldsForEver(Holds):
    seconds = 1e9


def plugin_of(decides: Framework, name: str) -> Any:
    return decides.plugin(name)


def test_the_time_for_which_plugins_hold_a_pod_is_bounded() -> None:
    placed = placed_by(framework_of(Holds, HoldsForEver))
    assert placed.waits == {"Holds": 5.0, "HoldsForEver": 900.0}


async def test_a_pod_goes_on_when_no_plugin_holds_it() -> None:
    decides = framework_of(Holds, HoldsForEver)
    placed = placed_by(decides)
    waiting = asyncio.ensure_future(decides.binding.wait_on_permit(placed))
    await asyncio.sleep(0)
    (pod_wait,) = plugin_of(decides, "Holds").handle.waiting_pods()
    assert pod_wait.held_by == {"Holds", "HoldsForEver"}
    plugin_of(decides, "Holds").release()
    await asyncio.sleep(0)
    assert not waiting.done()
    assert pod_wait.held_by == {"HoldsForEver"}
    plugin_of(decides, "HoldsForEver").release()
    assert await waiting is None


async def test_a_pod_goes_back_when_a_plugin_rejects_it() -> None:
    decides = framework_of(Holds)
    waiting = asyncio.ensure_future(decides.binding.wait_on_permit(placed_by(decides)))
    await asyncio.sleep(0)
    plugin_of(decides, "Holds").throw_out()
    refused = await waiting
    assert refused is not None
    assert refused.message == "0/1 nodes are available: 1 the gang is incomplete."
    assert refused.plugins == {"Holds"}
    assert list(plugin_of(decides, "Holds").handle.waiting_pods()) == []


async def test_a_pod_goes_back_when_it_waited_too_long() -> None:
    decides = framework_of(HoldsBriefly)
    refused = await decides.binding.wait_on_permit(placed_by(decides))
    assert refused is not None
    reason = "rejected due to timeout after waiting 10ms at plugin HoldsBriefly"
    assert refused.message == f"0/1 nodes are available: 1 {reason}."


async def test_a_pod_that_nobody_holds_does_not_wait() -> None:
    decides = framework_of()
    assert await decides.binding.wait_on_permit(placed_by(decides)) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.25, "250ms"), (10, "10s"), (1.5, "1.5s"), (60, "1m0s"), (900, "15m0s"), (3661, "1h1m1s"), (0, "0s")],
)
def test_durations_as_go_prints_them(seconds: float, text: str) -> None:
    assert go_duration(seconds) == text


class Prepares(Plugin):
    async def pre_bind(self, pod: Pod, node: str, state: Any) -> None:
        CALLS.append(f"{type(self).__name__} begins")
        await asyncio.sleep(0)
        CALLS.append(f"{type(self).__name__} ends")


class Beside(Prepares):
    def pre_bind_flight(self, pod: Pod, node: str, state: Any) -> Answer:
        return PARALLEL


class BesideToo(Beside):
    pass


class After(Prepares):
    def pre_bind_flight(self, pod: Pod, node: str, state: Any) -> Answer:
        return SERIAL


class NotAtAll(Prepares):
    def pre_bind_flight(self, pod: Pod, node: str, state: Any) -> Answer:
        return SKIP


class Breaks(Beside):
    async def pre_bind(self, pod: Pod, node: str, state: Any) -> None:
        raise ConnectionError("the volume is gone")


async def test_neighbours_that_agree_prepare_at_the_same_time() -> None:
    decides = framework_of(Beside, BesideToo, After, NotAtAll)
    placed = placed_by(decides)
    flights = decides.binding.run_pre_bind_pre_flights(placed)
    assert set(flights) == {"Beside", "BesideToo", "After"}
    await decides.binding.run_pre_bind_plugins(placed, flights)
    assert CALLS == ["Beside begins", "BesideToo begins", "Beside ends", "BesideToo ends", "After begins", "After ends"]


async def test_a_preparation_that_fails_names_its_plugin_after_the_others_ended() -> None:
    decides = framework_of(Breaks, Beside)
    placed = placed_by(decides)
    with pytest.raises(
        BindError, match='running PreBind plugin "Breaks": ConnectionError: the volume is gone'
    ) as failed:
        await decides.binding.run_pre_bind_plugins(placed, decides.binding.run_pre_bind_pre_flights(placed))
    assert failed.value.plugin == "Breaks"
    assert CALLS == ["Beside begins", "Beside ends"]


class Declines(Plugin):
    async def bind(self, pod: Pod, node: str, state: Any) -> Literal[Answer.SKIP] | None:
        return SKIP


class Fails(Plugin):
    async def bind(self, pod: Pod, node: str, state: Any) -> Literal[Answer.SKIP] | None:
        raise TimeoutError("no answer")


class Exits(Plugin):
    async def pre_bind(self, pod: Pod, node: str, state: Any) -> None:
        raise SystemExit(3)

    async def bind(self, pod: Pod, node: str, state: Any) -> None:
        raise SystemExit(3)


async def test_a_plugin_in_the_background_cannot_end_the_program() -> None:
    decides = framework_of(Exits)
    placed = placed_by(decides)
    with pytest.raises(BindError, match='running PreBind plugin "Exits": SystemExit: 3'):
        await decides.binding.run_pre_bind_plugins(placed, decides.binding.run_pre_bind_pre_flights(placed))
    with pytest.raises(BindError, match='running Bind plugin "Exits": SystemExit: 3'):
        await decides.binding.run_bind_plugins(placed)


async def test_a_binder_may_pass_a_pod_on() -> None:
    api_server = ApiServer()
    decides = framework_of(Declines, api_server=api_server)
    await decides.binding.run_bind_plugins(placed_by(decides))
    assert len(api_server.bound) == 1


async def test_a_binding_that_fails_names_its_plugin_and_no_other_binds() -> None:
    api_server = ApiServer()
    decides = framework_of(Fails, api_server=api_server)
    with pytest.raises(BindError, match='running Bind plugin "Fails": TimeoutError: no answer'):
        await decides.binding.run_bind_plugins(placed_by(decides))
    assert api_server.bound == []


class Tells(Plugin):
    def post_bind(self, pod: Pod, node: str, state: Any) -> None:
        CALLS.append(type(self).__name__)


class TellsWrong(Tells):
    def post_bind(self, pod: Pod, node: str, state: Any) -> None:
        raise RuntimeError("dropped the phone")


def test_one_listener_that_fails_does_not_keep_it_from_the_others(caplog: pytest.LogCaptureFixture) -> None:
    decides = framework_of(TellsWrong, Tells)
    decides.binding.run_post_bind_plugins(placed_by(decides))
    assert CALLS == ["Tells"]
    assert "plugin failed" in caplog.text


def test_a_gate_keeps_a_pod_out_of_the_queue() -> None:
    decides = testing.framework()
    gated = testing.pod("p", schedulingGates=[{"name": "a"}, {"name": "b"}])
    assert decides.queue.pre_enqueue(gated) == QueueGate("SchedulingGates", "waiting for scheduling gates: [a b]")
    assert decides.queue.pre_enqueue(testing.pod("q")) is None


def test_the_queue_goes_by_priority_and_then_by_time() -> None:
    decides = testing.framework()
    entries = [
        QueueEntry(testing.pod("late"), added_at=2.0, attempts=1),
        QueueEntry(testing.pod("early"), added_at=1.0, attempts=5),
        QueueEntry(testing.pod("important", priority=10), added_at=3.0, attempts=1),
    ]
    assert [entry.pod.name for entry in sorted(entries, key=decides.queue.sort_key)] == ["important", "early", "late"]


class Watches(Plugin):
    watches = (Watch("v1", "ConfigMap", name="node-prices"),)

    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        return ALLOW


def test_a_plugin_that_watches_needs_a_process_that_keeps_objects() -> None:
    with pytest.raises(
        RegistrationError, match="plugin Watches: it watches ConfigMap, which this process cannot offer"
    ):
        framework_of(Watches)
