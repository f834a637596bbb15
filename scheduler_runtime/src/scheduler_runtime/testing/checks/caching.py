"""Checks of the promises by which the framework caches answers: ``row_local``, ``looks_at_pods`` and ``signature``.

A plugin that breaks one of them places pods by answers about an earlier cluster or another pod, without any message.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from scheduler_runtime.api import SKIP, Pod, Reject
from scheduler_runtime.framework import PluginError
from scheduler_runtime.state.objects import PodSpec
from scheduler_runtime.testing.checks.case import Case, PluginUnderTest
from scheduler_runtime.testing.driver import RecordedAnswers, difference, difference_of_reasons, same_number
from scheduler_runtime.testing.random_objects import renamed
from scheduler_runtime.testing.scenes import SceneChange, pod_placed, pod_removed

_METADATA_FIELDS = ("namespace", "labels", "annotations", "deletion_timestamp")
# All pods of a profile have its schedulerName, so no signature needs it.
_SPEC_FIELDS = tuple(field for field in PodSpec.__struct_fields__ if field != "scheduler_name")


def stale_memory(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """An object that watched a cluster change answers as one that is made anew for the cluster as it is."""
    driver, scene, cluster = plugin.new_driver(), case.scene, case.scene.cluster()
    driver.record(case.pod, cluster)
    for _ in range(3):
        change = case.random_objects.change(scene)
        change.apply(cluster)
        scene = change.scene
        expected = plugin.new_driver().record(case.pod, scene.cluster())
        if words := difference(expected, driver.record(case.pod, cluster)):
            yield (
                f"it remembers something that is out of date after {change.words}: a new object of the plugin answers "
                f"differently ({words}); look at the table anew in each attempt"
            )


def row_local(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """The answers of a row-local plugin about a row depend on that row and the pod alone.

    Its cached answers are computed again only for the rows that changed.
    """
    if not plugin.kind.row_local:
        return
    change = case.random_objects.change(case.scene)
    before, after = _before_and_after(plugin, case, change)
    if before.pod_rejection != after.pod_rejection:
        yield f"row_local is True, but its pre_filter depends on more than the pod: {difference(before, after)}"
    for name in sorted({*case.scene.names} & {*change.scene.names} - {change.node}):
        if words := _difference_about(name, before, after):
            yield (
                f"row_local is True, but its answer about {name} changed when {change.words} ({words}); "
                "set row_local = False, or look at the row and the pod alone"
            )


def shared_states(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """The ``pre_filter`` state of a row-local plugin depends on the pod alone.

    It is made once for all pods of one signature, and used with every later state of the cluster.
    """
    if not (plugin.kind.row_local and plugin.has("pre_filter")):
        return
    driver, cluster, other_cluster = plugin.new_driver(), case.cluster, case.random_objects.scene().cluster()
    with driver.decision(other_cluster) as nodes:
        answer = driver.pre_filter(case.pod, nodes)
    if answer is SKIP or isinstance(answer, Reject):
        return
    with driver.decision(cluster) as nodes:
        reasons = driver.reasons(case.pod, nodes, driver.pre_filter(case.pod, nodes))
        try:
            agrees = reasons == driver.reasons(case.pod, nodes, answer)
        except PluginError:  # An array with the length of the other cluster, most often.
            agrees = False
        if not agrees:
            yield (
                "row_local is True, but the state of its pre_filter depends on the nodes: made for one cluster, it is "
                "wrong for another; let pre_filter look at the pod alone, and look at the nodes in filter"
            )


def looks_at_pods(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """The answers of a plugin with ``looks_at_pods = False`` about a row do not depend on the pods there.

    Preemption does not ask it again about a node from which it takes pods.
    """
    if plugin.kind.looks_at_pods:
        return
    if case.scene.placed and case.random.random() < 0.5:
        change = pod_removed(case.scene, *case.random.choice(case.scene.placed))
    else:
        change = pod_placed(case.scene, case.random_objects.pod(), case.random.choice(case.scene.names))
    before, after = _before_and_after(plugin, case, change)
    for name in case.scene.names:
        if words := _difference_about(name, before, after):
            yield (
                f"looks_at_pods is False, but its answer about {name} changed when {change.words} ({words}); "
                "set looks_at_pods = True"
            )


def signature(plugin: PluginUnderTest, case: Case) -> Iterator[str]:
    """Pods with equal signatures get equal answers, and a signature can be the key of a dict.

    The pod is compared with pods that differ from it in one field, so that the message can name what is missing.
    """
    if not plugin.has("signature"):
        return
    driver, cluster = case.driver, case.cluster
    key = driver.run("signature", case.pod)
    try:
        hash(key)
    except TypeError as error:
        yield f"signature returned something that cannot be a key ({error}); return a tuple or a frozenset"
        return
    if key is None:
        return
    answers, other = driver.record(case.pod, cluster), case.random_objects.pod()
    variants = {"metadata.name": renamed(case.pod, "another-name")}
    for name in _METADATA_FIELDS:
        metadata = replace(case.pod.metadata, **{name: getattr(other.metadata, name)})
        variants[f"metadata.{name}"] = Pod(metadata, case.pod.spec, case.pod.status)
    for name in _SPEC_FIELDS:
        spec = replace(case.pod.spec, **{name: getattr(other.spec, name)})
        variants[f"spec.{name}"] = Pod(case.pod.metadata, spec, case.pod.status)
    for field, pod in variants.items():
        if driver.run("signature", pod) == key and (words := difference(answers, driver.record(pod, cluster))):
            yield (
                f"pods that differ in {field} have equal signatures and get different answers ({words}); "
                f"add {field} to signature"
            )


def _before_and_after(
    plugin: PluginUnderTest, case: Case, change: SceneChange
) -> tuple[RecordedAnswers, RecordedAnswers]:
    driver = plugin.new_driver()
    return driver.record(case.pod, case.cluster), driver.record(case.pod, change.scene.cluster())


def _difference_about(name: str, before: RecordedAnswers, after: RecordedAnswers) -> str:
    """Return the difference about one node in words; empty when there is none.

    The normalised score does not count: it depends on the other nodes by nature. Nor does a raw score that one of the
    two lacks, because the node is rejected there.
    """
    (reasons, raw), (reasons_after, raw_after) = before.about(name), after.about(name)
    if words := difference_of_reasons(reasons, reasons_after):
        return words
    if raw is None or raw_after is None or same_number(raw, raw_after):
        return ""
    return f"scored {raw}; then {raw_after}"
