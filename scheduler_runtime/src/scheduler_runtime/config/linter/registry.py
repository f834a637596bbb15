"""Every check there is. A new one is written in the module of its theme and named here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from scheduler_runtime.config.linter import (
    arguments,
    batching,
    engine,
    extenders,
    gates,
    names,
    nodes,
    order,
    process,
    weights,
)
from scheduler_runtime.config.linter import deprecated as outdated
from scheduler_runtime.config.linter import paired_points as halves
from scheduler_runtime.config.linter import removed_defaults as removal
from scheduler_runtime.config.linter import strategy_outvoted as outvoted
from scheduler_runtime.config.linter.checks import Check, Code
from scheduler_runtime.config.linter.inputs import DocumentInput, EffectiveInput, ProfileInput

OF_DOCUMENT: tuple[Check[DocumentInput], ...] = (
    weights.sampled_twice,
    order.queue_sort_mismatch,
    process.shared_lease_name,
    process.renew_deadline_too_short,
    process.tiny_qps,
    process.percentage_too_low,
    process.zero_means_default,
    process.unknown_content_type,
    outdated.deprecated_lock,
    extenders.extender_unverified_tls,
    extenders.extender_half_key_pair,
    extenders.extender_plain_http,
    extenders.extender_bad_url,
    extenders.extender_without_verb,
    extenders.extender_no_timeout,
    extenders.extender_not_ignorable,
    extenders.extender_schedules_itself,
)
OF_PROFILE: tuple[Check[ProfileInput], ...] = (
    engine.not_in_this_image,
    engine.not_in_kube_scheduler,
    weights.weight_reset,
    weights.weight_zero,
    weights.weight_ignored,
    weights.weighed_twice,
    order.two_queue_sorts,
    order.no_bind,
    names.removed_plugin,
    names.unknown_plugin_for_version,
    names.disabled_nothing,
    arguments.unknown_plugin_configured,
    arguments.args_not_taken,
    gates.gate_off,
)
OF_MEANING: tuple[Check[EffectiveInput], ...] = (
    engine.not_in_this_engine,
    outvoted.strategy_outvoted,
    weights.score_without_weight,
    weights.negative_weight,
    weights.negative_preference,
    weights.counted_twice,
    halves.filter_without_pre_filter,
    halves.pre_filter_without_filter,
    halves.score_without_pre_score,
    halves.pre_score_without_score,
    halves.reserve_without_filter,
    halves.pre_bind_without_reserve,
    halves.filter_without_pre_bind,
    halves.half_gang,
    removal.no_filter_left,
    removal.filter_removed,
    removal.no_score_left,
    removal.preemption_removed,
    removal.preemption_not_awaited,
    removal.claims_not_released,
    removal.gates_ignored,
    removal.default_spread_disabled,
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
    outdated.deprecated_label,
    outdated.spread_field_ignored,
    batching.batching_disabled_by_plugin,
)

CODES: Mapping[str, Code] = MappingProxyType(
    {
        code.name: code
        for code in (
            *(check.code for check in OF_PROFILE),
            *(check.code for check in OF_MEANING),
            *(check.code for check in OF_DOCUMENT),
        )
    }
)
"""The codes by name."""
