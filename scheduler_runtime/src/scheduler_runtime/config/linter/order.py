"""Sorting the queue and binding: points at which not every plugin gets its turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scheduler_runtime.config.linter.checks import Match, Severity, check
from scheduler_runtime.config.linter.inputs import DocumentInput, EffectiveInput, ProfileInput
from scheduler_runtime.config.linter.suggested_fixes import disabling, either, enabling, enabling_all, without


@check("TwoQueueSorts", Severity.ERROR, refused=True)
def two_queue_sorts(profile: ProfileInput) -> Iterator[Match]:
    """More than one plugin sorts the queue; kube-scheduler does not start, because the queue has only one order.

    Disable one of them, which is PrioritySort if you added another.
    """
    sorters = profile.plugins_at("queueSort")
    if len(sorters) > 1:
        # The one to keep is the one that somebody added, not the default.
        wins = next((name for name in reversed(sorters) if name not in profile.default_plugins), sorters[-1])
        fix = without(profile, [name for name in sorters if name != wins], ("queueSort",))
        message = f"{' and '.join(sorters)} both sort the queue; exactly one plugin can"
        yield Match("plugins.queueSort", message, either(fix))


@check("NoBind", Severity.ERROR, refused=True)
def no_bind(profile: ProfileInput) -> Iterator[Match]:
    """No bind plugin is left; kube-scheduler does not start, not even with an extender that binds.

    Enable DefaultBinder, or another plugin that binds.
    """
    if not profile.plugins_at("bind"):
        message = "no plugin binds, so no pod could ever get its node"
        yield Match("plugins.bind", message, either(enabling(profile, "DefaultBinder", ("bind",))))


@check("QueueSortMismatch", Severity.ERROR, refused=True)
def queue_sort_mismatch(document: DocumentInput) -> Iterator[Match]:
    """Two profiles sort the queue differently; kube-scheduler does not start, because all its profiles share one queue.

    Enable the same queueSort plugin with the same arguments in every profile, or run two schedulers.
    """
    first, *others = document.profiles
    first_sorters, first_args = _sorting(first)
    sort_first = " and ".join(first_sorters) or "nothing"
    for index, profile in enumerate(others, 1):
        sorters, args = _sorting(profile)
        if (sorters, args) == (first_sorters, first_args):
            continue
        sort_here = " and ".join(sorters) or "nothing"
        if sorters == first_sorters:
            message = f"{sort_here} sorts with other arguments than in profiles[0]"
            fix = f"the same arguments of {' and '.join(first_sorters)} in both profiles"
        else:
            message = f"{sort_here} sorts here, {sort_first} in profiles[0]"
            removal = without(profile, [name for name in sorters if name not in first_sorters], ("queueSort",))
            fix = either(removal + enabling_all(removal.applied(profile), first_sorters, ("queueSort",)))
        yield Match(f"profiles[{index}].plugins.queueSort", message, fix)


def _sorting(profile: ProfileInput) -> tuple[tuple[str, ...], list[Mapping[str, Any]]]:
    """Return the plugins that sort, and their arguments as the author wrote them."""
    sorters = profile.plugins_at("queueSort")
    return sorters, [entry.args for entry in profile.fields.plugin_config if entry.name in sorters]


@check("BinderNeverReached", Severity.ERROR)
def binder_never_reached(effective: EffectiveInput) -> Iterator[Match]:
    """A bind plugin comes after DefaultBinder, which binds every pod, so it is never called.

    Disable DefaultBinder at bind, or name it again there after the other plugin.
    """
    binders = list(effective.at("bind"))
    if "DefaultBinder" not in binders:
        return
    for name in binders[binders.index("DefaultBinder") + 1 :]:
        yield Match(
            effective.profile.path_of_entry(name, "bind"),
            f"{name} comes after DefaultBinder, which binds every pod",
            either(disabling(effective.profile, "DefaultBinder", ("bind",))),
        )
