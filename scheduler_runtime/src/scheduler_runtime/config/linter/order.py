"""Who sorts the queue and who binds: points at which not every plugin gets its turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import DocumentInput, EffectiveInput, ProfileInput
from scheduler_runtime.config.linter.suggested_fixes import Fix, disabling, either, enabling, enabling_all, without


@check(
    Code(
        "TwoQueueSorts",
        Severity.ERROR,
        "More than one plugin sorts the queue; kube-scheduler does not start, because a queue has one order.",
        "Disable the sorter that is not meant, which is PrioritySort when another one was added.",
        refused=True,
    )
)
def two_queue_sorts(written: ProfileInput) -> Iterator[Match]:
    sorting = written.runs("queueSort")
    if len(sorting) > 1:
        yield Match(
            "plugins.queueSort",
            f"{' and '.join(sorting)} both sort the queue; exactly one plugin can",
            either(_keeping_one(written, sorting)),
        )


def _keeping_one(written: ProfileInput, sorting: Sequence[str]) -> Fix:
    """What leaves one of two plugins that sort: the one that is not there by default."""
    kept = next((name for name in reversed(sorting) if name not in written.default_plugins), sorting[-1])
    return without(written, [name for name in sorting if name != kept], ("queueSort",))


@check(
    Code(
        "NoBind",
        Severity.ERROR,
        "No plugin is left that binds; kube-scheduler does not start, not even with an extender that binds.",
        "Enable DefaultBinder, or the plugin that is to bind.",
        refused=True,
    )
)
def no_bind(written: ProfileInput) -> Iterator[Match]:
    if not written.runs("bind"):
        message = "no plugin binds, so no pod could ever get its node"
        yield Match("plugins.bind", message, either(enabling(written, "DefaultBinder", ("bind",))))


@check(
    Code(
        "QueueSortMismatch",
        Severity.ERROR,
        "Two profiles sort differently; kube-scheduler does not start, because all its profiles share one queue.",
        "Enable the same queueSort plugin with the same arguments in every profile, or run two schedulers.",
        refused=True,
    )
)
def queue_sort_mismatch(whole: DocumentInput) -> Iterator[Match]:
    profiles = tuple(whole.profiles)
    for index, written in enumerate(profiles[1:], 1):
        own, first = _sorting(written), _sorting(profiles[0])
        if own != first:
            what = f"{_listed(own)} sorts here, {_listed(first)} in profiles[0]"
            message = what if own[0] != first[0] else f"{_listed(own)} sorts with other arguments than in profiles[0]"
            yield Match(f"profiles[{index}].plugins.queueSort", message, _sorting_alike(written, own[0], first[0]))


def _sorting_alike(written: ProfileInput, own: Sequence[str], first: Sequence[str]) -> str:
    """What makes a profile sort as the first one does."""
    if own == first:
        return f"the same arguments of {' and '.join(first)} in both profiles"
    freed = without(written, [name for name in own if name not in first], ("queueSort",))
    return either(freed + enabling_all(freed.applied(written), first, ("queueSort",)))


Sorting = tuple[tuple[str, ...], list[Mapping[str, Any]]]


def _sorting(written: ProfileInput) -> Sorting:
    sorters = written.runs("queueSort")
    return sorters, [entry.args for entry in written.profile.plugin_config if entry.name in sorters]


def _listed(sorting: Sorting) -> str:
    return " and ".join(sorting[0]) or "nothing"


@check(
    Code(
        "BinderNeverReached",
        Severity.ERROR,
        "A bind plugin stands behind DefaultBinder, which binds every pod, so it never gets one.",
        "Disable DefaultBinder at bind, or name it there again after the other plugin.",
    )
)
def binder_never_reached(meaning: EffectiveInput) -> Iterator[Match]:
    binders = list(meaning.at("bind"))
    if "DefaultBinder" not in binders:
        return
    for name in binders[binders.index("DefaultBinder") + 1 :]:
        yield Match(
            meaning.written.place(name, "bind"),
            f"{name} comes after DefaultBinder, which binds every pod and leaves none over",
            either(disabling(meaning.written, "DefaultBinder", ("bind",))),
        )
