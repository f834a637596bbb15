"""SchedulerProfiles to processes: rendered, with every problem put back to where its author wrote it."""

import re
from collections.abc import Iterator, Mapping

from scheduler_operator.cli.answers import Refusal
from scheduler_operator.cli.judging import Judge
from scheduler_operator.cli.neighbours import Neighbours, authored, plugin_configs
from scheduler_operator.cli.processes import Part, Process, idle_allowances
from scheduler_operator.cli.reading import refusal
from scheduler_operator.cli.sorting import Sorted, name_of
from scheduler_operator.render import Problems, Rendered, check, join_problem, joins, problems_alone, render
from scheduler_operator.render.declarations import read_declarations
from scheduler_operator.resources import version_support as kubernetes_versions
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config import Problem, Source

Outcome = Process | list[Refusal]
_ELSEWHERE = re.compile(r"(PluginConfig|SchedulerProfile) (\S+): (.*)", re.DOTALL)


def processes(given: Sorted, target: Target, namespace: str) -> Iterator[Outcome]:
    """A process, or why there is none, for each profile; and what is wrong with the plugin configurations."""
    neighbours = Neighbours(given)
    for source in given.profiles:
        if joins(authored(source)):
            yield list(_astray(source, neighbours, target, namespace))
        elif not neighbours.needs_misshapen(source):
            yield _process(source, neighbours, target, namespace)
    for source in given.plugin_configs:
        beside = neighbours.beside(source)
        if problems := check(authored(source), plugin_configs(beside), namespace, target):
            yield [_placed(problem, source, {}, beside) for problem in problems.problems]


def declared_plugins(given: Sorted, namespace: str) -> Mapping[str, Declaration]:
    """The plugins that the plugin configurations declare, for documents that name them."""
    configs = plugin_configs(Neighbours(given).everywhere)
    plugins = [str(each.spec.get("plugin")) for each in configs.values()]
    return read_declarations(configs, plugins, namespace).plugins


def _process(owner: Source, neighbours: Neighbours, target: Target, namespace: str) -> Outcome:
    sources = {name_of(each): each for each in (owner, *neighbours.joiners(owner))}
    beside = neighbours.beside(owner)
    judge = Judge()
    outcome = render([*map(authored, sources.values())], plugin_configs(beside), namespace, target, judge.lint)
    if isinstance(outcome, Problems):
        return [_placed(problem, owner, sources, beside) for problem in outcome.problems]
    return _rendered(outcome, sources, judge)


def _rendered(outcome: Rendered, sources: Mapping[str, Source], judge: Judge) -> Process:
    owner = next(iter(sources.values()))
    is_patched = any(str(each["path"]).startswith("/profiles") for each in owner.value["spec"].get("overrides") or ())
    remark = kubernetes_versions.remark(outcome.version)
    return Process(
        target=outcome.target,
        document=outcome.document,
        text=outcome.text,
        parts=tuple(
            Part(sources[name], f"profiles[{index}]" if is_patched else "spec", member.effective)
            for index, (name, member) in enumerate(outcome.members.items())
        ),
        findings=tuple(
            (sources[name], finding)
            for name, member in outcome.members.items()
            for finding in (*idle_allowances(sources[name]), *judge.judged(member.findings))
            if finding.code not in sources[name].allowed_codes
        ),
        others=judge.others,
        engine="Python" if outcome.engine == "Python" else "KubeScheduler",
        remarks=(f"{owner.name}: {remark}",) if remark else (),
    )


def _astray(source: Source, neighbours: Neighbours, target: Target, namespace: str) -> Iterator[Refusal]:
    """Why a profile cannot run in the process that it wants to, and what else is wrong with it."""
    wanted, joined = joins(authored(source)), neighbours.joined(source)
    if joined is None:
        message = f"there is no profile {wanted} in what was read; name its file too, or leave joins out"
        yield refusal(source, Problem("spec.joins", message))
    elif problems := join_problem(authored(source), {wanted: authored(joined)}):
        yield from (refusal(source, problem) for problem in problems.problems)
    else:
        return
    beside = neighbours.beside(source)
    for problem in problems_alone(authored(source), plugin_configs(beside), namespace, target, Judge().lint):
        yield _placed(problem, source, {}, beside)


def _placed(problem: Problem, owner: Source, sources: Mapping[str, Source], beside: Mapping[str, Source]) -> Refusal:
    """A problem at its place, which may be in a plugin configuration or in a profile that joins."""
    match = _ELSEWHERE.fullmatch(problem.path)
    places = {"PluginConfig": beside, "SchedulerProfile": sources}
    if match and match[2] in places[match[1]]:
        return _placed(Problem(match[3], problem.message), places[match[1]][match[2]], sources, beside)
    return refusal(owner, problem)
