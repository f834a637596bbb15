"""What a plugin promises so that its answers can be kept: ``row_local``, ``looks_at_pods``, ``signature``."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from scheduler_runtime.api import SKIP, Pod, Reject
from scheduler_runtime.framework import PluginError
from scheduler_runtime.state.objects import PodSpec
from scheduler_runtime.testing.checks.case import Case
from scheduler_runtime.testing.driver import Asked
from scheduler_runtime.testing.plugin_under_test import PluginUnderTest
from scheduler_runtime.testing.random_objects import renamed
from scheduler_runtime.testing.recorded_answers import RecordedAnswers, difference, difference_of_reasons, same_number
from scheduler_runtime.testing.scenes import Change, pod_placed, pod_removed

_OF_SPEC = tuple(field for field in PodSpec.__struct_fields__ if field != "scheduler_name")


def memory(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """A plugin that has seen everything answers as one that has seen nothing."""
    asked, scene, cluster = subject.fresh(), case.scene, case.scene.cluster()
    asked.about_pod(case.pod, cluster)
    for _ in range(3):
        change = case.chance.change(scene)
        change.apply(cluster)
        scene = change.scene
        fresh = subject.fresh().about_pod(case.pod, scene.cluster())
        if words := difference(fresh, asked.about_pod(case.pod, cluster)):
            yield (
                f"something it keeps is out of date after {change.words}: an object that has seen nothing says "
                f"otherwise ({words}); look at the table anew in each attempt"
            )


def row_local(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """What a row-local plugin says of a row depends on that row and the pod alone."""
    if not subject.kind.row_local:
        return
    change = case.chance.change(case.scene)
    before, after = _before_and_after(subject, case, change)
    if before.whole != after.whole:
        yield f"row_local is True, but its pre_filter depends on more than the pod: {difference(before, after)}"
    for name in sorted({*case.scene.names} & {*change.scene.names} - {change.node}):
        if words := _changed(before, after, name):
            yield (
                f"row_local is True, but what it says of {name} changed when {change.words} ({words}); "
                "set row_local = False, or look at the row and the pod alone"
            )


def shared_states(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """The states of a row-local plugin are made once for pods of a kind, and used for every later cluster."""
    if not (subject.kind.row_local and subject.has("pre_filter")):
        return
    asked, here, elsewhere = subject.fresh(), case.cluster, case.chance.scene().cluster()
    with asked.about(elsewhere) as nodes:
        state = asked.filter_state(case.pod, nodes)
    if state is SKIP or isinstance(state, Reject):
        return
    with asked.about(here) as nodes:
        own = asked.reasons(case.pod, nodes, asked.filter_state(case.pod, nodes))
        try:
            same = own == asked.reasons(case.pod, nodes, state)
        except PluginError:
            same = False
        if not same:
            yield (
                "row_local is True, but the state of its pre_filter depends on the nodes: made for one cluster, it is "
                "wrong for another; let pre_filter look at the pod alone, and look at the nodes in filter"
            )


def looks_at_pods(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """What such a plugin says of a row does not depend on the pods there."""
    if subject.kind.looks_at_pods:
        return
    change = _change_of_pods(case)
    before, after = _before_and_after(subject, case, change)
    for name in case.scene.names:
        if words := _changed(before, after, name):
            yield (
                f"looks_at_pods is False, but what it says of {name} changed when {change.words} ({words}); "
                "set looks_at_pods = True"
            )


def signature(subject: PluginUnderTest, case: Case) -> Iterator[str]:
    """Pods with equal signatures get equal answers."""
    if not subject.has("signature"):
        return
    asked, cluster = case.asked, case.cluster
    signed = asked("signature", case.pod)
    try:
        hash(signed)
    except TypeError as error:
        yield f"signature returned what cannot be a key ({error}); return a tuple or a frozenset"
        return
    if signed is None:
        return
    said = asked.about_pod(case.pod, cluster)
    for changed, pod in _variants(case.pod, case.chance.pod()):
        if asked("signature", pod) == signed and (words := difference(said, asked.about_pod(pod, cluster))):
            yield (
                f"pods that differ in {changed} have equal signatures and get different answers ({words}); "
                f"add {changed} to signature"
            )


def _variants(pod: Pod, other: Pod) -> Iterator[tuple[str, Pod]]:
    """The pod, each time with one thing of the other."""
    yield "metadata.name", renamed(pod, "another-name")
    for name in ("namespace", "labels", "annotations", "deletion_timestamp"):
        metadata = replace(pod.metadata, **{name: getattr(other.metadata, name)})
        yield f"metadata.{name}", Pod(metadata, pod.spec, pod.status)
    for name in _OF_SPEC:
        spec = replace(pod.spec, **{name: getattr(other.spec, name)})
        yield f"spec.{name}", Pod(pod.metadata, spec, pod.status)


def _change_of_pods(case: Case) -> Change:
    random = case.chance.random
    if case.scene.placed and random.random() < 0.5:
        return pod_removed(case.scene, *random.choice(case.scene.placed))
    return pod_placed(case.scene, case.chance.pod(), random.choice(case.scene.names))


def _before_and_after(subject: PluginUnderTest, case: Case, change: Change) -> tuple[RecordedAnswers, RecordedAnswers]:
    asked: Asked = subject.fresh()
    return asked.about_pod(case.pod, case.cluster), asked.about_pod(case.pod, change.scene.cluster())


def _changed(before: RecordedAnswers, after: RecordedAnswers, name: str) -> str:
    """How the answer about one node changed, its normalised score aside, which depends on the others by nature."""
    (reasons, raw), (reasons_after, raw_after) = before.of(name), after.of(name)
    if words := difference_of_reasons(reasons, reasons_after):
        return words
    if raw is None or raw_after is None or same_number(raw, raw_after):
        return ""
    return f"scored {raw}; then {raw_after}"
