"""Rendering of profiles into the document that their scheduler runs by. Pure: the same profiles, the same bytes.

    profiles of one process, plugin configs ──► KubeSchedulerConfiguration ──► effective plugins ──► permissions

All problems are reported at once, each at the path where its author wrote the value.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler_operator.render.drafts import read
from scheduler_operator.render.findings import Lint
from scheduler_operator.render.outcome import ObjectProblems, PluginConfigs, Rendered, RenderedProfile
from scheduler_operator.render.plugin_configs import check
from scheduler_operator.render.relations import join_problem, joiners, owner_name, references, uses
from scheduler_operator.render.render_pass import RenderInputs, render_or_problems
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import config
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import Problem

__all__ = [
    "ObjectProblems",
    "PluginConfigs",
    "Rendered",
    "RenderedProfile",
    "SharedProcess",
    "check",
    "join_problem",
    "joiners",
    "owner_name",
    "problems_alone",
    "read",
    "references",
    "render",
    "render_shared",
    "uses",
]


def render(
    profiles: Sequence[UserObject],
    plugin_configs: PluginConfigs,
    namespace: str,
    target: Target,
    lint: Lint = config.lint,
) -> Rendered | ObjectProblems:
    """Render the ``profiles`` of one process, that of the first, for the ``target`` or for what that one names.

    ``namespace`` is where the scheduler runs and keeps its Lease. Problems of the other profiles name these.
    """
    outcome = render_or_problems(profiles, RenderInputs(plugin_configs, namespace, target, lint))
    if isinstance(outcome, Rendered):
        return outcome
    problems = [
        problem if name == profiles[0].name else Problem(f"SchedulerProfile {name}: {problem.path}", problem.message)
        for name, own in outcome.items()
        for problem in own.problems
    ]
    return ObjectProblems(next(iter(outcome.values())).reason, tuple(problems))


def problems_alone(
    profile: UserObject, plugin_configs: PluginConfigs, namespace: str, target: Target, lint: Lint = config.lint
) -> tuple[Problem, ...]:
    """Return the problems of a ``profile`` by itself, while it has no process to run in."""
    outcome = render([profile], plugin_configs, namespace, target, lint)
    return outcome.problems if isinstance(outcome, ObjectProblems) else ()


@dataclass(frozen=True, slots=True)
class SharedProcess:
    """The outcome of rendering a profile together with those that join it."""

    outcome: Rendered | ObjectProblems
    excluded: Mapping[str, ObjectProblems]
    """The profiles that cannot run in the process, each with its problems. The others run without them."""


def render_shared(
    owner: UserObject,
    others: Sequence[UserObject],
    plugin_configs: PluginConfigs,
    namespace: str,
    target: Target,
    lint: Lint = config.lint,
) -> SharedProcess:
    """Render ``owner`` with those of the ``others`` that can run in its process."""
    inputs = RenderInputs(plugin_configs, namespace, target, lint)
    members, excluded = list(others), dict[str, ObjectProblems]()
    while True:
        outcome = render_or_problems([owner, *members], inputs)
        if isinstance(outcome, Rendered):
            return SharedProcess(outcome, excluded)
        if owner.name in outcome:
            return SharedProcess(outcome[owner.name], excluded)
        excluded |= outcome
        # Without these the rest may be fine, or show conflicts among each other that were hidden before.
        members = [profile for profile in members if profile.name not in outcome]
