"""The queue: every key once, none lost, and none in the way of another."""

import asyncio
from collections.abc import Awaitable, Callable

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from scheduler_operator.reconcile.work_queue import (
    FIRST_REST_SECONDS,
    LONGEST_REST_SECONDS,
    REST_PER_SECOND,
    SLOW_FOR_SECONDS,
    SLOW_SECONDS,
    KeyQueue,
    Result,
    WorkQueue,
)

KEYS = st.sampled_from("abcd")


class Measured:
    """What a queue tells of its keys."""

    def __init__(self) -> None:
        self.added: list[str] = []
        self.waits: list[tuple[str, float]] = []
        self.work: list[tuple[str, Result, float]] = []

    def count_added(self, key: str) -> None:
        self.added.append(key)

    def observe_wait(self, key: str, seconds: float) -> None:
        self.waits.append((key, seconds))

    def observe_work(self, key: str, result: Result, seconds: float) -> None:
        self.work.append((key, result, seconds))


def test_a_key_waits_once_however_often_it_is_added() -> None:
    queue: KeyQueue[str] = KeyQueue(Measured())
    for key in ("a", "b", "a"):
        queue.add(key, 0)
    assert [queue.take(0), queue.take(0), queue.take(0)] == ["a", "b", None]


def test_keys_that_are_added_in_bulk_wait_for_those_of_which_something_is_known() -> None:
    queue: KeyQueue[str] = KeyQueue(Measured())
    for key in "abc":
        queue.add(key, 0, in_bulk=True)
    queue.add("d", 0)
    queue.add("b", 0)
    queue.add("d", 0, in_bulk=True)  # takes nothing away from what was known before
    assert [queue.take(0) for _ in range(4)] == ["b", "d", "a", "c"]
    queue.mark_done("a", 0)
    queue.add("a", 0)
    queue.add("e", 0, in_bulk=True)
    assert [queue.take(0), queue.take(0)] == ["a", "e"]


def test_a_key_that_is_added_while_it_runs_runs_again_afterwards_and_not_beside() -> None:
    queue: KeyQueue[str] = KeyQueue(Measured())
    queue.add("a", 0)
    assert queue.take(0) == "a"
    queue.add("a", 0)
    assert queue.take(0) is None
    queue.mark_done("a", 0)
    assert queue.take(0) == "a"


def test_a_failed_key_rests_longer_every_time_but_not_for_ever() -> None:
    queue: KeyQueue[str] = KeyQueue(Measured())
    queue.add("a", 0)
    rests = []
    now = 0.0
    for _ in range(12):
        assert queue.take(now) == "a"
        queue.mark_failed("a", now)
        end = queue.next_end_of_rest()
        assert end is not None
        assert queue.take(end - 0.01) is None
        rests.append(end - now)
        now = end
    assert rests[:3] == [FIRST_REST_SECONDS, 2 * FIRST_REST_SECONDS, 4 * FIRST_REST_SECONDS]
    assert rests[-1] == LONGEST_REST_SECONDS


def test_success_forgets_the_failures_before_it() -> None:
    queue: KeyQueue[str] = KeyQueue(Measured())
    for _ in range(5):
        queue.add("a", 0)
        queue.take(0)
        queue.mark_failed("a", 0)
    queue.add("a", 0)
    queue.take(0)
    queue.mark_done("a", 0)
    queue.add("a", 0)
    queue.take(0)
    queue.mark_failed("a", 0)
    assert queue.next_end_of_rest() == FIRST_REST_SECONDS


def test_news_of_a_resting_key_ends_its_rest() -> None:
    queue: KeyQueue[str] = KeyQueue(Measured())
    queue.add("a", 0)
    queue.take(0)
    queue.mark_failed("a", 0)
    queue.add("a", 0)
    assert queue.take(0) == "a"


def work_on(queue: KeyQueue[str], key: str, seconds: float, now: float) -> None:
    """Do the work on the next key, which is ``key``, and which takes that many seconds of CPU time."""
    assert queue.take(now) == key
    queue.charge(key, seconds, now)
    queue.mark_done(key, now)


def slow_queue(*keys: str) -> KeyQueue[str]:
    """A queue in which these are slow, the first time is 0, and all rests are over at 50."""
    queue: KeyQueue[str] = KeyQueue(Measured())
    for key in keys:
        queue.add(key, 0)
    for key in keys:
        work_on(queue, key, 5.0, 0.0)
    assert len(queue.state(0).slow) == len(keys)
    return queue


def test_a_slow_key_rests_also_when_it_is_added_again() -> None:
    queue = slow_queue("slow")
    for now in range(50):
        queue.add("slow", now)
        assert queue.take(now) is None
    assert queue.next_end_of_rest() == 5.0 * REST_PER_SECOND
    assert queue.take(50) == "slow"


def test_a_slow_key_that_is_added_while_it_runs_rests_before_it_runs_again() -> None:
    queue: KeyQueue[str] = KeyQueue(Measured())
    queue.add("slow", 0)
    queue.take(0)
    queue.add("slow", 0)
    queue.charge("slow", 1.0, 2.0)
    queue.mark_done("slow", 2.0)
    assert queue.take(2.0 + REST_PER_SECOND - 0.1) is None
    assert queue.take(2.0 + REST_PER_SECOND) == "slow"


def test_a_slow_key_that_fails_rests_no_shorter() -> None:
    queue: KeyQueue[str] = KeyQueue(Measured())
    queue.add("slow", 0)
    queue.take(0)
    queue.charge("slow", 1.0, 0)
    queue.mark_failed("slow", 0)
    assert queue.next_end_of_rest() == REST_PER_SECOND
    queue.add("slow", 0)
    assert queue.next_end_of_rest() == REST_PER_SECOND


def test_no_rest_is_longer_than_the_longest() -> None:
    queue: KeyQueue[str] = KeyQueue(Measured())
    queue.add("slow", 0)
    work_on(queue, "slow", 1000.0, 0)
    queue.add("slow", 0)
    assert queue.take(LONGEST_REST_SECONDS) == "slow"


def test_slow_keys_come_after_all_others_and_one_at_a_time() -> None:
    queue = slow_queue("slow", "slower")
    for key in ("slow", "slower", "a"):
        queue.add(key, 50)
    assert queue.take(50) == "a"
    assert queue.take(50) == "slow"
    queue.add("b", 50)
    assert [queue.take(50), queue.take(50)] == ["b", None]
    queue.mark_done("slow", 50)
    assert queue.take(50) == "slower"


def test_a_key_whose_work_is_quick_again_need_not_rest_but_is_not_trusted_at_once() -> None:
    queue = slow_queue("slow")
    queue.add("slow", 50)
    work_on(queue, "slow", 0.1, 50)
    for key in ("slow", "a"):
        queue.add(key, 50)
    work_on(queue, "a", 0.1, 50)
    work_on(queue, "slow", SLOW_SECONDS, 50)
    assert queue.state(50).slow == ["slow"]
    queue.take(SLOW_FOR_SECONDS)
    assert queue.state(SLOW_FOR_SECONDS).slow == []


def test_keys_that_always_take_long_leave_the_time_to_the_others() -> None:
    """Sixteen of 5 s, added again all the time, two workers: a new key begins within the rest of one."""
    queue, now, ends = slow_queue(*(f"slow-{number}" for number in range(16))), 50.0, dict[str, float]()
    for second in range(200):
        now = 50.0 + second
        for key in [key for key, end in ends.items() if end <= now]:
            del ends[key]
            queue.charge(key, 5.0, now)
            queue.mark_done(key, now)
        for number in range(16):
            queue.add(f"slow-{number}", now)
        queue.add(f"new-{second}", now)
        assert queue.take(now) == f"new-{second}"
        queue.mark_done(f"new-{second}", now)
        if (slow := queue.take(now)) is not None:
            ends[slow] = now + 5.0
        assert len(ends) <= 1


def test_what_is_measured_is_the_wait_for_a_worker_and_the_work_without_any_rest() -> None:
    measured = Measured()
    queue: KeyQueue[str] = KeyQueue(measured)
    for now in (1, 2):
        queue.add("a", now)
    queue.take(4)
    queue.add("a", 5)
    queue.add("a", 6)
    queue.mark_done("a", 7)
    queue.take(9)
    queue.mark_failed("a", 10, "requeue")
    queue.take(12)
    assert measured.added == ["a", "a", "a"]
    assert measured.waits == [("a", 3), ("a", 4), ("a", 2 - FIRST_REST_SECONDS)]
    assert measured.work == [("a", "success", 3), ("a", "requeue", 1)]


def test_a_queue_shows_where_its_keys_are() -> None:
    queue = slow_queue("slow")
    for key in ("a", "b", "c"):
        queue.add(key, 50)
    queue.take(50)
    queue.mark_failed("a", 50)
    queue.take(51)
    state = queue.state(53)
    assert (state.waiting, state.running, state.resting, state.slow) == (["c", "a"], {"b": 2}, [], ["slow"])


class NothingIsLost(RuleBasedStateMachine):
    """Against a model that only counts: what was asked for after the work on it began is still owed."""

    def __init__(self) -> None:
        super().__init__()
        self.measured = Measured()
        self.queue: KeyQueue[str] = KeyQueue(self.measured)
        self.owed: set[str] = set()
        self.running: set[str] = set()
        self.now = 0.0

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.queue.add(key, self.now)
        self.owed.add(key)

    @rule()
    def take(self) -> None:
        key = self.queue.take(self.now)
        if key is not None:
            assert key in self.owed
            assert key not in self.running
            assert 0 <= self.measured.waits[-1][1] <= self.now
            self.owed.discard(key)
            self.running.add(key)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), well=st.booleans())
    def end(self, data: st.DataObject, well: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.running)))
        self.running.discard(key)
        if well:
            self.queue.mark_done(key, self.now)
        else:
            self.queue.mark_failed(key, self.now)
            self.owed.add(key)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), seconds=st.floats(0, 10))
    def charge(self, data: st.DataObject, seconds: float) -> None:
        self.queue.charge(data.draw(st.sampled_from(sorted(self.running))), seconds, self.now)

    @rule(seconds=st.floats(0.1, 100))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def all_that_is_owed_is_waiting_somewhere(self) -> None:
        result = self.queue.state(self.now)
        assert result.running.keys() == self.running
        assert {*result.waiting, *result.resting} == self.owed - self.running

    def teardown(self) -> None:
        for key in self.running:
            self.queue.mark_done(key, self.now)
        got = set()
        while (result := self.queue.take(self.now + LONGEST_REST_SECONDS + 1)) is not None:
            got.add(result)
            self.queue.mark_done(result, self.now)
        assert got == self.owed


TestNothingIsLost = NothingIsLost.TestCase
TestNothingIsLost.settings = settings(max_examples=50, stateful_step_count=30)


async def run_until(enough: asyncio.Event, work: WorkQueue[str], act: Callable[[str], Awaitable[Result]]) -> None:
    """Let two workers work until that is ``enough``."""
    task = asyncio.create_task(work.run(act, workers=2))
    async with asyncio.timeout(5):
        await enough.wait()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def slow_and_quick() -> list[str]:
    ended: list[str] = []
    quick, slow = asyncio.Event(), asyncio.Event()

    async def act(key: str) -> Result:
        if key == "slow":
            await quick.wait()
        ended.append(key)
        {"slow": slow, "quick": quick}[key].set()
        return "success"

    work: WorkQueue[str] = WorkQueue(Measured())
    work.add("slow")
    work.add("quick")
    await run_until(slow, work, act)
    return ended


def test_a_slow_key_does_not_delay_another() -> None:
    assert asyncio.run(slow_and_quick()) == ["quick", "slow"]


async def third_time_lucky() -> list[Result]:
    tries: list[str] = []
    lucky, measured = asyncio.Event(), Measured()

    async def act(key: str) -> Result:
        tries.append(key)
        if len(tries) == 3:
            lucky.set()
        return "success" if lucky.is_set() else "error" if len(tries) == 2 else "requeue"

    work: WorkQueue[str] = WorkQueue(measured)
    work.add("a")
    await run_until(lucky, work, act)
    return [result for _, result, _ in measured.work]


def test_what_fails_is_repeated_by_itself() -> None:
    assert asyncio.run(third_time_lucky()) == ["requeue", "error", "success"]
