"""Hooks around the decision: the queue before it, reserving and permitting after it."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Iterable, Iterator

from scheduler_runtime.api import ALLOW, PARALLEL, SERIAL, SKIP, Nomination, QueueEntry, Reject, Verdicts, Wait
from scheduler_runtime.testing.builders import Cluster
from scheduler_runtime.testing.checks.attribute_snapshot import AttributeSnapshot
from scheduler_runtime.testing.checks.case import Case
from scheduler_runtime.testing.driver import Asked, mask_of, unrestricted
from scheduler_runtime.testing.formatting import brief
from scheduler_runtime.testing.plugin_under_test import PluginUnderTest
from scheduler_runtime.testing.recorded_answers import difference


def pre_enqueue(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """``pre_enqueue`` answers None or a Reject, the same each time."""
    if not subject.has("pre_enqueue"):
        return
    asked = case.asked
    one, other = (asked("pre_enqueue", case.pod) for _ in range(2))
    if one is not None and not isinstance(one, Reject):
        yield f"pre_enqueue answered {brief(one)}; answer None to let the pod in, or Reject.pod(reason)"
    elif one != other:
        yield "pre_enqueue answers differently when it is asked again; it must not remember pods, nor use chance"


def sort_key(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """Any two keys can be compared, and a pod's key stays."""
    if not subject.has("sort_key"):
        return
    asked = case.asked
    entries = [QueueEntry(case.chance.pod(), float(number), number) for number in range(1, 5)]
    keys = [asked("sort_key", entry) for entry in entries]
    try:
        sorted(keys)
    except TypeError as error:
        yield f"sort_key gives keys that cannot be compared ({error}); give every pod a tuple of the same types"
        return
    if keys != [asked("sort_key", entry) for entry in entries]:
        yield "sort_key gives a pod another key when it is asked again; it must not use clock or chance"


def reserving(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """``unreserve`` gives back what ``reserve`` took, however often it runs."""
    if not subject.has("reserve", "unreserve"):
        return
    asked, cluster, node = subject.fresh(), case.cluster, case.chance.random.choice(case.scene.names)
    state = _state(asked, case, cluster)
    before = asked.about_pod(case.pod, cluster)
    if subject.has("reserve"):
        answer = asked("reserve", case.pod, node, state)
        if answer is not None and not isinstance(answer, Reject):
            yield f"reserve answered {brief(answer)}; answer None to go on, or Reject.pod(reason)"
    if subject.has("unreserve"):
        asked("unreserve", case.pod, node, state)
        asked("unreserve", case.pod, node, state)
    if words := difference(before, asked.about_pod(case.pod, cluster)):
        yield f"after reserve and unreserve it answers otherwise ({words}); unreserve must give back all of it, once"


def taking_back(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """A plugin whose ``reserve`` keeps something has an ``unreserve``."""
    if not subject.has("reserve") or subject.has("unreserve"):
        return
    asked, cluster = subject.fresh(), case.cluster
    state = _state(asked, case, cluster)
    kept = AttributeSnapshot.by(asked.plugin)
    asked("reserve", case.pod, case.scene.names[0], state)
    if changed := kept.changed_in(asked.plugin):
        yield (
            f"reserve changes self.{changed}, and nothing takes that back when the placement is undone; "
            "write unreserve, an empty one if it is to stay"
        )


def permit(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """``permit`` answers ALLOW, a Reject or a Wait."""
    if not subject.has("permit"):
        return
    asked, cluster = case.asked, case.cluster
    answer = asked("permit", case.pod, case.scene.names[0], _state(asked, case, cluster))
    if answer is ALLOW or isinstance(answer, Reject):
        return
    if not isinstance(answer, Wait) or answer.timeout_seconds <= 0:
        yield (
            f"permit answered {brief(answer)}; "
            "answer ALLOW, Reject.pod(reason) or Wait(timeout_seconds) with more than 0"
        )


def pre_bind_flight(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """``pre_bind_flight`` answers SKIP, SERIAL or PARALLEL."""
    if not subject.has("pre_bind_flight"):
        return
    asked, cluster = case.asked, case.cluster
    answer = asked("pre_bind_flight", case.pod, case.scene.names[0], _state(asked, case, cluster))
    if answer not in (SKIP, SERIAL, PARALLEL):
        yield f"pre_bind_flight answered {brief(answer)}; answer SKIP, SERIAL or PARALLEL"


def post_filter(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """``post_filter`` answers what the contract knows, and leaves the table as it was."""
    if not subject.has("post_filter"):
        return
    asked, cluster = subject.fresh(), case.cluster
    before = [table_row(cluster, row) for row in range(len(cluster.table))]
    with asked.afterwards(case.pod, cluster) as nodes:
        answer = asked("post_filter", case.pod, nodes, Verdicts(mask_of(nodes, ()), frozenset({subject.name})), {})
    if isinstance(answer, Nomination):
        _close(answer.work)
    elif not isinstance(answer, Reject) and not _are_reasons(answer):
        yield f"post_filter answered {brief(answer)}; answer a Nomination, a Reject, a list of reasons, or None"
    if before != [table_row(cluster, row) for row in range(len(cluster.table))]:
        yield "post_filter left pods in the table otherwise than they were; try with handle.what_if, in a with"


def table_row(cluster: Cluster, row: int) -> object:
    """What is on a node."""
    return cluster.table.names[row], sorted(pod.uid for pod in cluster.table.pods(row))


def _are_reasons(answer: object) -> bool:
    if answer is None:
        return True
    return (
        isinstance(answer, Iterable) and not isinstance(answer, str) and all(isinstance(each, str) for each in answer)
    )


def _state(asked: Asked, case: Case, cluster: Cluster) -> object:
    with asked.about(cluster) as nodes:
        state = asked.filter_state(case.pod, nodes)
    return None if state is SKIP or isinstance(state, Reject) else unrestricted(state)


def _close(work: Coroutine[object, object, None] | None) -> None:
    """End work that nobody is going to do."""
    if inspect.iscoroutine(work):
        work.close()
