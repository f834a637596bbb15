"""From profiles to the document that their scheduler runs by. Pure: the same profiles, the same bytes.

    profiles of one process, plugin configs ──► KubeSchedulerConfiguration ──► effective plugins ──► permissions

Everything that is wrong is told at once, at the path where its author wrote it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scheduler_operator.render.checking import check
from scheduler_operator.render.drafting import read, references, uses
from scheduler_operator.render.joining import join_problem, joiners, joins
from scheduler_operator.render.judging import Lint
from scheduler_operator.render.outcome import Member, PluginConfigs, Problems, Rendered
from scheduler_operator.render.together import RenderInputs, attempt
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import config
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import Problem

__all__ = [
    "Member",
    "PluginConfigs",
    "Problems",
    "Process",
    "Rendered",
    "check",
    "join_problem",
    "joiners",
    "joins",
    "problems_alone",
    "read",
    "references",
    "render",
    "run_together",
    "uses",
]


def render(
    profiles: Sequence[UserObject],
    plugin_configs: PluginConfigs,
    namespace: str,
    target: Target,
    lint: Lint = config.lint,
) -> Rendered | Problems:
    """Render the ``profiles`` of one process, that of the first, for the ``target`` or for what that one names.

    ``namespace`` is where the scheduler runs and keeps its Lease. Problems of the other profiles name these.
    """
    outcome = attempt(profiles, RenderInputs(plugin_configs, namespace, target, lint))
    if isinstance(outcome, Rendered):
        return outcome
    found = [
        problem if name == profiles[0].name else Problem(f"SchedulerProfile {name}: {problem.path}", problem.message)
        for name, problems in outcome.items()
        for problem in problems.problems
    ]
    return Problems(next(iter(outcome.values())).reason, tuple(found))


def problems_alone(
    profile: UserObject, plugin_configs: PluginConfigs, namespace: str, target: Target, lint: Lint = config.lint
) -> tuple[Problem, ...]:
    """What is wrong with a ``profile`` by itself, while it has no process to run in."""
    outcome = render([profile], plugin_configs, namespace, target, lint)
    return outcome.problems if isinstance(outcome, Problems) else ()


@dataclass(frozen=True, slots=True)
class Process:
    """What becomes of a profile and of those that want to run in its process."""

    outcome: Rendered | Problems
    left_out: Mapping[str, Problems]
    """The profiles that cannot run in it, each with the reason. They disturb nobody else."""


def run_together(
    owner: UserObject,
    others: Sequence[UserObject],
    plugin_configs: PluginConfigs,
    namespace: str,
    target: Target,
    lint: Lint = config.lint,
) -> Process:
    """Render ``owner`` with those of the ``others`` that can run in its process."""
    given = RenderInputs(plugin_configs, namespace, target, lint)
    staying, left_out = list(others), dict[str, Problems]()
    while True:
        outcome = attempt([owner, *staying], given)
        if isinstance(outcome, Rendered):
            return Process(outcome, left_out)
        if owner.name in outcome:
            return Process(outcome[owner.name], left_out)
        left_out |= outcome
        staying = [each for each in staying if each.name not in outcome]
