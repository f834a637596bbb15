"""Rendering of SchedulerProfiles from files, with every problem at the place where its author wrote the value.

Objects in several files belong together: profiles that join others, and the PluginConfigs that they refer to.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_operator.cli.answers import Refusal
from scheduler_operator.cli.processes import ProfilePart, SchedulerDocument, unknown_allowances
from scheduler_operator.cli.reading import InputObjects, name_of, refusal
from scheduler_operator.models import PluginConfigSpec
from scheduler_operator.render import (
    ObjectProblems,
    Rendered,
    check,
    join_problem,
    owner_name,
    problems_alone,
    read,
    references,
    render,
)
from scheduler_operator.render.findings import CODES
from scheduler_operator.render.plugin_configs import read_declarations
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config import Document, EffectiveProfile, Finding, Problem, Severity, Source

Outcome = SchedulerDocument | list[Refusal]
_OTHER_OBJECT = re.compile(r"(PluginConfig|SchedulerProfile) (\S+): (.*)", re.DOTALL)
"""The path of a problem in another object than the one that is rendered."""


def render_profiles(objects: InputObjects, target: Target, namespace: str) -> Iterator[Outcome]:
    """Yield the document of each profile's process, or its refusals; and the refusals of each PluginConfig."""
    index = ObjectIndex(objects)
    for source in objects.profiles:
        if owner_name(to_user_object(source)):
            yield list(_join_refusals(source, index, target, namespace))
        elif not index.needs_invalid_config(source):
            yield _render_process(source, index, target, namespace)
    for source in objects.plugin_configs:
        configs = index.configs_for(source)
        if problems := check(to_user_object(source), to_plugin_configs(configs), namespace, target):
            yield [_refusal_at_source(problem, source, {}, configs) for problem in problems.problems]


def declared_plugins(objects: InputObjects, namespace: str) -> Mapping[str, Declaration]:
    """Return the plugins that the PluginConfigs declare, for documents that name them."""
    configs = to_plugin_configs(ObjectIndex(objects).valid_configs)
    plugins = [str(plugin_config.spec.get("plugin")) for plugin_config in configs.values()]
    return read_declarations(configs, plugins, namespace).plugins


def _render_process(owner: Source, index: "ObjectIndex", target: Target, namespace: str) -> Outcome:
    sources = {name_of(source): source for source in (owner, *index.joiners(owner))}
    configs, linter = index.configs_for(owner), LenientLinter()
    users = [*map(to_user_object, sources.values())]
    rendered = render(users, to_plugin_configs(configs), namespace, target, linter.lint)
    if not isinstance(rendered, Rendered):
        return [_refusal_at_source(problem, owner, sources, configs) for problem in rendered.problems]
    overrides = owner.value["spec"].get("overrides") or ()
    # Origins below the profiles are in the document where an override changed it there.
    is_patched = any(str(override["path"]).startswith("/profiles") for override in overrides)
    remark = catalog.newer_version_remark(rendered.version)
    return SchedulerDocument(
        target=rendered.target,
        document=rendered.document,
        text=rendered.text,
        parts=tuple(
            ProfilePart(sources[name], f"profiles[{position}]" if is_patched else "spec", member.effective)
            for position, (name, member) in enumerate(rendered.profiles.items())
        ),
        findings=tuple(
            (sources[name], finding)
            for name, member in rendered.profiles.items()
            for finding in (*unknown_allowances(sources[name]), *linter.restore_severities(member.findings))
            if finding.code not in sources[name].allowed_codes
        ),
        declared=linter.declared,
        engine="Python" if rendered.engine == "Python" else "KubeScheduler",
        remarks=(f"{owner.name}: {remark}",) if remark else (),
    )


def _join_refusals(source: Source, index: "ObjectIndex", target: Target, namespace: str) -> Iterator[Refusal]:
    """Yield why a profile cannot run in the process that it joins, and its other problems; nothing if it can."""
    profile, joined = to_user_object(source), index.joined(source)
    if joined is None:
        message = f"there is no profile {owner_name(profile)} in what was read; name its file too, or leave joins out"
        yield refusal(source, Problem("spec.joins", message))
    elif problems := join_problem(profile, {owner_name(profile): to_user_object(joined)}):
        yield from (refusal(source, problem) for problem in problems.problems)
    else:
        return
    configs = index.configs_for(source)
    for problem in problems_alone(profile, to_plugin_configs(configs), namespace, target, LenientLinter().lint):
        yield _refusal_at_source(problem, source, {}, configs)


def _refusal_at_source(
    problem: Problem, owner: Source, profiles: Mapping[str, Source], configs: Mapping[str, Source]
) -> Refusal:
    """Return a problem at its place, which may be in a PluginConfig or in a profile that joins."""
    match = _OTHER_OBJECT.fullmatch(problem.path)
    sources = {"PluginConfig": configs, "SchedulerProfile": profiles}
    if match and match[2] in sources[match[1]]:
        inner = Problem(match[3], problem.message)
        return _refusal_at_source(inner, sources[match[1]][match[2]], profiles, configs)
    return refusal(owner, problem)


class LenientLinter:
    """A linter for :func:`render` whose error findings do not refuse a profile.

    Rendering refuses a profile for findings of severity error, as the operator does. The command line reports them
    as findings, so they pass through rendering as warnings, and get their severity back afterwards.
    """

    def __init__(self) -> None:
        self.declared: Mapping[str, Declaration] = {}
        """The declared plugins of the last document."""

    def lint(
        self,
        document: Document,
        target: Target,
        declared: Mapping[str, Declaration],
        engine: config.Engine,
        expanded: Sequence[EffectiveProfile],
    ) -> Iterator[Finding]:
        """Lint as :func:`config.lint` does, with every finding a warning."""
        self.declared = declared
        for finding in config.lint(document, target, declared, engine, expanded):
            yield replace(finding, severity=Severity.WARNING)

    def restore_severities(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Return the findings with the severities of their codes."""
        return (replace(finding, severity=CODES[finding.code].severity) for finding in findings)


class ObjectIndex:
    """Finds objects by name. One in the same file goes before one in another file."""

    def __init__(self, objects: InputObjects) -> None:
        self._profiles: dict[str, list[Source]] = defaultdict(list)
        for profile in objects.profiles:
            self._profiles[name_of(profile)].append(profile)
        self._joiners: dict[int, list[Source]] = defaultdict(list)
        for profile in sorted(objects.profiles, key=name_of):
            if (joined := self.joined(profile)) is not None:
                self._joiners[id(joined)].append(profile)
        self.valid_configs: dict[str, Source] = {}
        """The PluginConfigs of all files that the API server would accept."""
        self._configs_by_file: dict[str, dict[str, Source]] = defaultdict(dict)
        self._invalid_configs: set[str] = set()
        for plugin_config in objects.plugin_configs:
            name = name_of(plugin_config)
            if isinstance(read(PluginConfigSpec, plugin_config.value["spec"]), ObjectProblems):
                self._invalid_configs.add(name)
            else:
                self.valid_configs[name] = self._configs_by_file[plugin_config.name][name] = plugin_config

    def joined(self, profile: Source) -> Source | None:
        """Return the profile that ``profile`` joins, if it was read."""
        candidates = self._profiles.get(owner_name(to_user_object(profile)), ())
        return min(candidates, key=lambda candidate: candidate.name != profile.name, default=None)

    def joiners(self, profile: Source) -> Sequence[Source]:
        """Return the profiles that join ``profile``."""
        return self._joiners.get(id(profile), ())

    def configs_for(self, source: Source) -> Mapping[str, Source]:
        """Return the PluginConfigs that an object in the file of ``source`` can refer to, by name."""
        return {**self.valid_configs, **self._configs_by_file.get(source.name, {})}

    def needs_invalid_config(self, profile: Source) -> bool:
        """Return whether ``profile``, or one that joins it, refers to a PluginConfig that the API server would refuse.

        The problems of that one are reported there; the profile cannot be judged.
        """
        members = (profile, *self.joiners(profile))
        names = {name for member in members for name in references(to_user_object(member))}
        return bool(names & self._invalid_configs - self.configs_for(profile).keys())


def to_plugin_configs(sources: Mapping[str, Source]) -> dict[str, UserObject]:
    """Return the PluginConfigs in ``sources`` in the form that rendering takes."""
    return {name: to_user_object(source) for name, source in sources.items()}


def to_user_object(source: Source) -> UserObject:
    """Return a profile or a PluginConfig as if the API server had sent it."""
    value = source.value
    annotations = value["metadata"].get("annotations") or {}
    return UserObject(
        value["kind"], name_of(source), uid="", generation=0, spec=value["spec"], status={}, annotations=annotations
    )
