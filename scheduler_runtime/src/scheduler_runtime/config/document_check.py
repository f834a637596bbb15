"""A document checked as a whole: every profile expanded, and the rules that its profiles must follow together.

A mistake in one place must not hide those in another, and must not make up new ones: where parts of a document are
wrong, only that is left out which changes nothing about the rest.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config.arguments import FIT
from scheduler_runtime.config.document_text import drop_nulls, parse_document
from scheduler_runtime.config.expansion import EffectiveProfile, expand_profile
from scheduler_runtime.config.models import Document, ExtenderConfig, Profile
from scheduler_runtime.config.problems import Problem, Problems

_INDISPENSABLE = frozenset({"apiVersion", "kind", "profiles"})
_ABOUT_PLUGINS = frozenset({"plugins", "pluginConfig"})


@dataclass(frozen=True, slots=True)
class Accepted:
    """A document that the scheduler it was meant for accepts, and the plugins that its profiles come to there."""

    document: Document
    profiles: tuple[EffectiveProfile, ...]


def check_document(
    value: Any,
    target: Target,
    others: Mapping[str, Declaration] = MappingProxyType({}),
) -> Accepted | Problems:
    """Check an already parsed ``value`` for the ``target``, and return everything that is wrong, not only the first.

    ``others`` are the plugins that do not come with this build, by name.
    """
    problems, rest, document = read_remaining(value)
    if document is not None:
        profiles = expand_profiles(document, target, others)
        if isinstance(profiles, Problems):
            return Problems((*problems, *profiles))
        return Problems(problems) if problems else Accepted(document, profiles)
    every = list(problems)
    for index, profile in _readable_profiles(rest):
        expanded = expand_profile(profile, target, others)
        if isinstance(expanded, Problems):
            every.extend(problem.below(f"profiles[{index}]") for problem in expanded)
    return Problems(tuple(every))


def expand_profiles(
    document: Document,
    target: Target,
    others: Mapping[str, Declaration] = MappingProxyType({}),
    extenders: Mapping[str, Iterable[ExtenderConfig]] | None = None,
) -> tuple[EffectiveProfile, ...] | Problems:
    """Expand every profile of ``document`` as the kube-scheduler that is the ``target`` would.

    ``extenders`` are those that each profile calls, by the profile's name; without it every profile calls all.
    """
    expanded: list[EffectiveProfile] = []
    problems: list[Problem] = []
    for index, profile in enumerate(document.profiles):
        own_extenders = document.extenders if extenders is None else extenders.get(profile.scheduler_name, ())
        ignored = ignored_resources(own_extenders)
        match expand_profile(profile, target, others):
            case Problems() as own:
                problems.extend(problem.below(f"profiles[{index}]") for problem in own)
            case EffectiveProfile() as effective:
                fit = effective.args.get(FIT)
                # As upstream, the resources that extenders ignore take the place of those in the arguments.
                if ignored and fit is not None:
                    fit = fit.model_copy(update={"ignored_resources": ignored})
                    effective = replace(effective, args={**effective.args, FIT: fit})
                elif ignored and all(entry.name != FIT for entry in profile.plugin_config):
                    path = f"profiles[{index}].pluginConfig"
                    message = f"an extender's ignoredByScheduler is told to {FIT}, which this profile does not have"
                    problems.append(Problem(path, message))
                expanded.append(effective)
    problems.extend(_different_queue_sorts(document.profiles))
    if not problems:
        problems.extend(_different_sorting(document.profiles, expanded))
    return Problems(tuple(problems)) if problems else tuple(expanded)


def ignored_resources(extenders: Iterable[ExtenderConfig]) -> tuple[str, ...]:
    """Return the resources that ``extenders`` manage and the scheduler itself has to ignore."""
    return tuple(
        resource.name
        for extender in extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )


def _different_queue_sorts(profiles: Iterable[Profile]) -> Iterator[Problem]:
    """Yield a problem for each profile whose queueSort differs in writing: upstream compares it to the letter."""

    def names_and_weights(profile: Profile) -> tuple[Any, ...]:
        queue_sort = profile.plugins.queue_sort
        enabled = tuple((plugin.name, plugin.weight or 0) for plugin in queue_sort.enabled)
        return enabled, tuple(plugin.name for plugin in queue_sort.disabled)

    first, *rest = profiles
    enabled = first.plugins.queue_sort.enabled
    if len(enabled) > 1:
        yield Problem("profiles[0].plugins.queueSort.enabled", f"{len(enabled)} plugins cannot sort one queue")
    for index, other in enumerate(rest, start=1):
        if names_and_weights(other) != names_and_weights(first):
            message = "must say the same as in profiles[0]: all profiles of a process share one queue"
            yield Problem(f"profiles[{index}].plugins.queueSort", message)


def _different_sorting(profiles: tuple[Profile, ...], expanded: list[EffectiveProfile]) -> Iterator[Problem]:
    """Yield a problem for each profile that sorts by another plugin than the first one, or by other arguments."""

    def sorter(index: int) -> tuple[str, Any]:
        name = expanded[index].points["queueSort"][0].name
        entry = next((entry for entry in profiles[index].plugin_config if entry.name == name), None)
        return name, entry.args if entry and "args" in entry.model_fields_set else None

    for index in range(1, len(expanded)):
        if sorter(index) != sorter(0):
            message = f"{sorter(index)[0]} sorts here, {sorter(0)[0]} in profiles[0]; "
            message += "all profiles of a process share one queue and must sort it alike, arguments included"
            yield Problem(f"profiles[{index}].plugins.queueSort", message)


def read_remaining(value: Any) -> tuple[tuple[Problem, ...], Mapping[str, Any], Document | None]:
    """Read ``value`` without the fields that are wrong.

    Returns the problems with fields, the fields that remain, and the document that they are; None for the document when
    it cannot be read without its wrong fields either, as with a mistake in a profile.
    """
    problems: dict[Problem, None] = {}
    rest = value if isinstance(value, Mapping) else {}
    while isinstance(document := parse_document(rest if problems else value), Problems):
        problems.update(dict.fromkeys(document))
        wrong = {problem.path.partition(".")[0].partition("[")[0] for problem in document} - _INDISPENSABLE
        if not wrong & rest.keys():
            if rest.get("profiles"):
                # Rules about the whole document are checked only once every field is sound: try without the profiles.
                problems.update(dict.fromkeys(read_remaining({**rest, "profiles": []})[0]))
            return tuple(problems), rest, None
        rest = {key: inner for key, inner in rest.items() if key not in wrong}
    return tuple(problems), rest, document


def _readable_profiles(value: Mapping[str, Any]) -> Iterator[tuple[int, Profile]]:
    """Yield the profiles of ``value`` whose plugins can be read, with their indices.

    A wrong field that has nothing to do with plugins is left out of them: an unknown one, or one beside the plugins.
    """
    profiles = value.get("profiles")
    for index, raw in enumerate(profiles if isinstance(profiles, list) else ()):
        rest = copy.deepcopy(drop_nulls({} if raw is None else raw, Profile))
        for _ in range(2 if isinstance(rest, dict) else 0):
            try:
                yield index, Profile.model_validate_json(json.dumps(rest))
                break
            except ValidationError as error:
                for details in error.errors(include_url=False):
                    *above, name = details["loc"] or ("",)
                    if details["type"] == "extra_forbidden" or not (above or name in _ABOUT_PLUGINS):
                        parent: Any = rest
                        for step in above:
                            parent = parent[step]
                        parent.pop(name, None)
