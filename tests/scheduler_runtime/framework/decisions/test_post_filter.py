"""post_filter: its arguments for a pod that fits nowhere, and its answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from scheduler_runtime.api import CLEAR, Cycle, NodeTable, Nomination, Plugin, Pod, Reject, Verdicts
from scheduler_runtime.framework import Unschedulable
from tests.support.decisions import CALLS, rows, schedule


class Makes(Plugin):
    answer: ClassVar[Any] = None

    def post_filter(
        self, pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle
    ) -> Nomination | Iterable[str] | None:
        CALLS.append(f"{type(self).__name__} {verdicts.unresolvable.tolist()} {sorted(verdicts.plugins)}")
        return self.answer  # type: ignore[no-any-return]


class Explains(Makes):
    answer = ("preemption: not helpful",)


class Nominates(Makes):
    answer = Nomination("a")


class Clears(Makes):
    answer = Nomination(CLEAR)


class Partly(Plugin):
    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(rows(nodes, "a", "b"), "is early", resolvable=rows(nodes, "a"))
        yield Reject(rows(nodes, "c"), "is late", resolvable=False)
        yield Reject(rows(nodes, "a"), "is first")


def test_post_filter_hears_where_help_is_possible_and_its_words_come_last() -> None:
    outcome = schedule(Partly, Makes, Explains)
    assert isinstance(outcome, Unschedulable)
    assert outcome.message == "0/3 nodes are available: 1 is first, 1 is late, 2 is early. preemption: not helpful"
    assert [f"{name} [False, True, True] ['Partly']" for name in ("Makes", "Explains")] == CALLS


def test_a_nomination_ends_post_filter() -> None:
    outcome = schedule(Partly, Nominates, Explains)
    assert isinstance(outcome, Unschedulable)
    assert outcome.nomination == Nomination("a")
    assert outcome.message.endswith("2 is early.")
    assert len(CALLS) == 1


def test_a_nomination_can_be_cleared() -> None:
    outcome = schedule(Partly, Clears)
    assert isinstance(outcome, Unschedulable)
    assert outcome.nomination == Nomination(CLEAR)
