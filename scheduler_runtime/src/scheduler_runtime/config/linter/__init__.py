"""The linter: finds the ways in which a valid document silently does not do what it says.

    document ──► profiles as written ──► the plugins that they come to ──► findings, in the document's order

A module for each theme has the checks; a new one is written there and named in one of the lists below. ``inputs``
answers the common questions of checks, and ``suggested_fixes`` works out what to write instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config.available_plugins import Engine
from scheduler_runtime.config.expansion import EffectiveProfile
from scheduler_runtime.config.linter import (
    arguments,
    availability,
    extenders,
    nodes,
    order,
    paired_points,
    process,
    removed_defaults,
    strategy_outvoted,
    weights,
)
from scheduler_runtime.config.linter.checks import Check, Code, Finding, Severity
from scheduler_runtime.config.linter.inputs import DocumentInput, EffectiveInput, ProfileInput
from scheduler_runtime.config.models import Document
from scheduler_runtime.config.problems import steps_of

__all__ = ["CODES", "Code", "Engine", "Finding", "Severity", "lint", "split_allowed"]

OF_DOCUMENT: tuple[Check[DocumentInput], ...] = (
    weights.percentage_configured_twice,
    order.queue_sort_mismatch,
    process.shared_lease_name,
    process.renew_deadline_too_short,
    process.lease_duration_out_of_range,
    process.tiny_qps,
    process.percentage_too_low,
    process.zero_means_default,
    process.unknown_content_type,
    process.deprecated_lock,
    extenders.extender_unverified_tls,
    extenders.extender_password_in_url,
    extenders.extender_half_key_pair,
    extenders.extender_plain_http,
    extenders.extender_bad_url,
    extenders.extender_without_verb,
    extenders.extender_no_timeout,
    extenders.extender_not_ignorable,
    extenders.extender_schedules_itself,
)
"""Checks of settings that all profiles share."""

OF_PROFILE: tuple[Check[ProfileInput], ...] = (
    availability.not_in_this_image,
    availability.not_in_kube_scheduler,
    weights.weight_reset,
    weights.weight_zero,
    weights.weight_ignored,
    weights.weight_configured_twice,
    order.two_queue_sorts,
    order.no_bind,
    availability.removed_plugin,
    availability.unknown_plugin_for_version,
    availability.disabled_nothing,
    arguments.unknown_plugin_configured,
    arguments.args_not_accepted,
    availability.gate_off,
)
"""Checks of a profile as written, also of one that kube-scheduler refuses."""

OF_EFFECTIVE: tuple[Check[EffectiveInput], ...] = (
    availability.not_in_this_engine,
    strategy_outvoted.strategy_outvoted,
    weights.score_without_weight,
    weights.negative_weight,
    weights.negative_preference,
    weights.resource_configured_twice,
    paired_points.filter_without_pre_filter,
    paired_points.pre_filter_without_filter,
    paired_points.score_without_pre_score,
    paired_points.pre_score_without_score,
    paired_points.reserve_without_filter,
    paired_points.pre_bind_without_reserve,
    paired_points.filter_without_pre_bind,
    paired_points.half_gang,
    removed_defaults.no_filter_runs,
    removed_defaults.filter_removed,
    removed_defaults.no_score_runs,
    removed_defaults.preemption_removed,
    removed_defaults.preemption_not_awaited,
    removed_defaults.claims_not_released,
    removed_defaults.gates_ignored,
    removed_defaults.default_spread_disabled,
    order.binder_never_reached,
    arguments.disabled_but_configured,
    arguments.args_ignored,
    arguments.ratio_ignored,
    arguments.flat_shape,
    arguments.balance_of_one,
    arguments.unknown_resource,
    arguments.ignored_resource_counts,
    arguments.preference_ignored,
    arguments.no_time_to_bind,
    nodes.nodes_contradict_affinity,
    nodes.nodes_ignored_by_spread,
    nodes.deprecated_label,
    arguments.spread_field_ignored,
    availability.batching_disabled_by_plugin,
)
"""Checks of the plugins that a profile comes to, for profiles that kube-scheduler accepts."""

CODES: Mapping[str, Code] = MappingProxyType(
    {
        code.name: code
        for code in (
            *(check.code for check in OF_PROFILE),
            *(check.code for check in OF_EFFECTIVE),
            *(check.code for check in OF_DOCUMENT),
        )
    }
)
"""The codes by name."""


def lint(
    document: Document,
    target: Target,
    others: Mapping[str, Declaration] = MappingProxyType({}),
    engine: Engine = "KubeScheduler",
    expanded: Sequence[EffectiveProfile] = (),
) -> tuple[Finding, ...]:
    """Return the findings of ``document``, from its first field to its last, the worst first within a place.

    Of a profile that :func:`~scheduler_runtime.config.expand_profile` refuses, only the checks of what is written are
    made. ``others`` are the plugins that do not come with the ``engine``, by name; ``expanded`` are the expanded
    profiles of the document, in its order, where that is done already.
    """
    subject = DocumentInput(document, target, others, engine, expanded)
    findings = [check.finding(match) for check in OF_DOCUMENT for match in check.find_matches(subject)]
    for index, profile in enumerate(subject.profiles):
        path, effective = f"profiles[{index}]", profile.effective
        findings += [check.finding(match, path) for check in OF_PROFILE for match in check.find_matches(profile)]
        if effective is not None:
            findings += [
                check.finding(match, path) for check in OF_EFFECTIVE for match in check.find_matches(effective)
            ]
    if len(findings) < 2:
        return tuple(findings)
    raw = document.model_dump(by_alias=True, mode="python")
    return tuple(
        sorted(findings, key=lambda finding: (_position(finding.path, raw), finding.severity.rank, finding.code))
    )


def _position(path: str, value: Any) -> tuple[int, ...]:
    """Return the position of each part of ``path`` among its siblings in ``value``."""
    position: list[int] = []
    for step in steps_of(path):
        if isinstance(step, int):
            position.append(step)
            value = value[step] if isinstance(value, list | tuple) and step < len(value) else None
        else:
            fields = list(value) if isinstance(value, dict) else []
            position.append(fields.index(step) if step in fields else len(fields))
            value = value.get(step) if isinstance(value, dict) else None
    return tuple(position)


def split_allowed(
    findings: Iterable[Finding], allow: Collection[str]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """Return the ``findings`` that count, and those whose codes the author allowed."""
    every = tuple(findings)
    counting = tuple(finding for finding in every if finding.code not in allow)
    return counting, tuple(finding for finding in every if finding.code in allow)
