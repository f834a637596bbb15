"""reserve and permit: a placement that is refused or fails leaves nothing behind."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Answer, Plugin, Pod, Reject, Wait
from scheduler_runtime.framework import PluginError, Unschedulable
from scheduler_runtime.framework.binding_hooks import BindingHooks
from tests.support.decisions import CALLS, only


class Reserves(Plugin):
    def reserve(self, pod: Pod, node: str, state: Any) -> Reject | None:
        CALLS.append(f"{type(self).__name__}.reserve {node}")
        return None

    def unreserve(self, pod: Pod, node: str, state: Any) -> None:
        CALLS.append(f"{type(self).__name__}.unreserve {node}")


class ReservesToo(Reserves):
    pass


class RefusesTheNode(Reserves):
    def reserve(self, pod: Pod, node: str, state: Any) -> Reject | None:
        return Reject.pod("the node was taken")


class Forbids(Plugin):
    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        return Reject.pod("no permission")


class Raises(Plugin):
    def permit(self, pod: Pod, node: str, state: Any) -> Literal[Answer.ALLOW] | Reject | Wait:
        raise RuntimeError("out of order")


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (RefusesTheNode, "0/1 nodes are available: 1 the node was taken."),
        (Forbids, "0/1 nodes are available: 1 no permission."),
    ],
)
def test_a_placement_that_is_refused_is_undone_in_reverse(last: type[Plugin], message: str) -> None:
    cluster = testing.Cluster(testing.node("a"))
    plugins = (Reserves, ReservesToo, last)
    decides = testing.framework(only(*(plugin.__name__ for plugin in plugins)), *plugins)
    outcome = decides.schedule(testing.pod("p", {"cpu": "1"}), cluster)
    assert isinstance(outcome, Unschedulable)
    assert (outcome.message, outcome.plugins) == (message, frozenset({last.__name__}))
    assert CALLS[-2:] == ["ReservesToo.unreserve a", "Reserves.unreserve a"]
    assert cluster.assumed == {}
    assert cluster.table.requested("cpu").tolist() == [0]


def test_a_placement_that_fails_is_undone_too() -> None:
    cluster = testing.Cluster(testing.node("a"))
    decides = testing.framework(only("Reserves", "Raises"), Reserves, Raises)
    with pytest.raises(PluginError, match="plugin Raises failed in permit: RuntimeError: out of order"):
        decides.schedule(testing.pod("p"), cluster)
    assert CALLS == ["Reserves.reserve a", "Reserves.unreserve a"]
    assert cluster.assumed == {}


def test_a_placement_on_which_the_scheduler_itself_fails_is_undone_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise LookupError("a bug of ours")

    cluster = testing.Cluster(testing.node("a"))
    decides = testing.framework(only("Reserves"), Reserves)
    monkeypatch.setattr(BindingHooks, "run_permit_plugins", fails)
    with pytest.raises(LookupError, match="a bug of ours"):
        decides.schedule(testing.pod("p"), cluster)
    assert CALLS == ["Reserves.reserve a", "Reserves.unreserve a"]
    assert cluster.assumed == {}
