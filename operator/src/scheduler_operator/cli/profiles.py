"""SchedulerProfiles to processes: rendered, with every problem put back to where its author wrote it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from scheduler_operator import kubernetes_versions
from scheduler_operator.authored import Authored
from scheduler_operator.cli.answers import Refusal
from scheduler_operator.cli.processes import Part, Process
from scheduler_operator.cli.reading import refusal
from scheduler_operator.cli.sorting import Sorted, name_of
from scheduler_operator.models import PluginConfigSpec
from scheduler_operator.render import Problems, Rendered, astray, check, joins, read, references, render
from scheduler_operator.render.declaring import declared
from scheduler_operator.render.judging import Lint
from scheduler_runtime import config
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config import Document, Finding, Problem, Severity, Source

Outcome = Process | list[Refusal]
_ELSEWHERE = re.compile(r"(PluginConfig|SchedulerProfile) (\S+): (.*)", re.DOTALL)


def processes(given: Sorted, target: Target, namespace: str) -> Iterator[Outcome]:
    """A process, or why there is none, for each profile; and what is wrong with the plugin configurations."""
    for source in given.profiles:
        if joins(_authored(source)):
            yield list(_astray(source, given.profiles))
        elif not _needs_misshapen(source, given):
            yield _process(source, given, target, namespace)
    for source in given.plugin_configs:
        configs = {name: _authored(each) for name, each in _beside(source, given.plugin_configs).items()}
        if problems := check(_authored(source), configs, namespace, target):
            yield [refusal(source, problem) for problem in problems.problems]


def _needs_misshapen(profile: Source, given: Sorted) -> bool:
    """Whether the API server would not take a plugin configuration that ``profile``, or one that joins it, names.

    What is wrong with that one is told there; of the profile nothing can be said.
    """
    misshapen = {name_of(source) for source in given.plugin_configs if not _is_shaped(source)}
    together = [each for each in given.profiles if each is profile or _joined(each, given.profiles) is profile]
    named = {name for each in together for name in references(_authored(each))}
    return bool(named & misshapen - _beside(profile, given.plugin_configs).keys())


def _is_shaped(plugin_config: Source) -> bool:
    return not isinstance(read(PluginConfigSpec, plugin_config.value["spec"]), Problems)


def declared_plugins(given: Sorted, namespace: str) -> Mapping[str, Declaration]:
    """The plugins that the plugin configurations declare, for documents that name them."""
    configs = {name_of(source): _authored(source) for source in given.plugin_configs if _is_shaped(source)}
    plugins = [str(each.spec.get("plugin")) for each in configs.values()]
    return declared(configs, plugins, namespace).plugins


def _process(owner: Source, given: Sorted, target: Target, namespace: str) -> Outcome:
    sources = {name_of(owner): owner}
    joiners = (each for each in given.profiles if _joined(each, given.profiles) is owner)
    sources |= {name_of(each): each for each in sorted(joiners, key=name_of)}
    beside = _beside(owner, given.plugin_configs)
    judge = _Judge()
    outcome = render(
        [_authored(each) for each in sources.values()],
        {name: _authored(each) for name, each in beside.items()},
        namespace,
        target,
        judge.lint,
    )
    if isinstance(outcome, Problems):
        return [_placed(problem, owner, sources, beside) for problem in outcome.problems]
    return _rendered(outcome, sources, judge)


def _rendered(outcome: Rendered, sources: Mapping[str, Source], judge: "_Judge") -> Process:
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
            for finding in judge.judged(member.findings)
            if finding.code not in sources[name].allowed
        ),
        others=judge.others,
        remarks=(f"{owner.name}: {remark}",) if remark else (),
    )


class _Judge:
    """The linter, for a reader who wants to see what it says before anything is refused for it.

    Rendering refuses a profile for findings of severity error, as the operator does. Here they are findings
    like the others, so they go through it as warnings and get their severity back behind it.
    """

    def __init__(self) -> None:
        self.others: Mapping[str, Declaration] = {}
        self._severities: dict[tuple[str, str], Severity] = {}

    @property
    def lint(self) -> Lint:
        return self._lint

    def _lint(
        self, document: Document, target: Target, others: Mapping[str, Declaration], engine: config.Engine
    ) -> Iterator[Finding]:
        self.others = others
        for finding in config.lint(document, target, others, engine):
            self._severities[finding.code, finding.message] = finding.severity
            yield replace(finding, severity=Severity.WARNING)

    def judged(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings as the linter meant them."""
        for finding in findings:
            severity = self._severities.get((finding.code, finding.message), finding.severity)
            yield replace(finding, severity=severity)


def _joined(source: Source, profiles: Iterable[Source]) -> Source | None:
    """The profile that ``source`` joins: the one of its own file, if there are several of that name."""
    wanted = joins(_authored(source))
    named = [each for each in profiles if name_of(each) == wanted]
    return min(named, key=lambda each: each.name != source.name, default=None)


def _astray(source: Source, profiles: Iterable[Source]) -> Iterator[Refusal]:
    """Why a profile cannot run in the process that it wants to."""
    wanted, joined = joins(_authored(source)), _joined(source, profiles)
    if joined is None:
        message = f"there is no profile {wanted} in what was read; name its file too, or leave joins out"
        yield refusal(source, Problem("spec.joins", message))
    elif problems := astray(_authored(source), {wanted: _authored(joined)}):
        yield from (refusal(source, problem) for problem in problems.problems)


def _beside(profile: Source, plugin_configs: Iterable[Source]) -> dict[str, Source]:
    """The plugin configurations that a profile can refer to, by name: those of its own file go first.

    What the API server would not take is none of them.
    """
    ordered = sorted(filter(_is_shaped, plugin_configs), key=lambda source: source.name == profile.name)
    return {name_of(source): source for source in ordered}


def _placed(problem: Problem, owner: Source, sources: Mapping[str, Source], beside: Mapping[str, Source]) -> Refusal:
    """A problem at its place, which may be in a plugin configuration or in a profile that joins."""
    match = _ELSEWHERE.fullmatch(problem.path)
    places = {"PluginConfig": beside, "SchedulerProfile": sources}
    if match and match[2] in places[match[1]]:
        return _placed(Problem(match[3], problem.message), places[match[1]][match[2]], sources, beside)
    return refusal(owner, problem)


def _authored(source: Source) -> Authored:
    value = source.value
    annotations = value["metadata"].get("annotations") or {}
    return Authored(
        value["kind"], name_of(source), uid="", generation=0, spec=value["spec"], status={}, annotations=annotations
    )
