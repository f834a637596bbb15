"""The profiles of one process, rendered into one document.

    drafts ──► assembled ──► overridden ──► read as a Document ──► expanded ──► findings ──► text

Whatever is wrong is told to the author of the profile it belongs to, all of it at once.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler_operator.models.scheduler_profile import Engine
from scheduler_operator.models.status import Reason
from scheduler_operator.render import expanding, judging
from scheduler_operator.render import node_selection as nodes
from scheduler_operator.render.assembling import assembled, places_of_extenders
from scheduler_operator.render.declaring import Declared, declared
from scheduler_operator.render.drafting import Draft, draft
from scheduler_operator.render.emitting import emitted, plain
from scheduler_operator.render.joining import clashes, conflicts
from scheduler_operator.render.origins import Fields, Origin, Origins
from scheduler_operator.render.outcome import Member, PluginConfigs, Problems, Rendered
from scheduler_operator.render.profile_findings import in_words_of_nodes
from scheduler_operator.render.reading import read_leniently
from scheduler_operator.render.targeting import target_of, target_problems
from scheduler_operator.resources import version_support as kubernetes_versions
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import NEWEST, Target
from scheduler_runtime.config import Document, EffectiveProfile, Finding, Problem, Profile

_TELLING: tuple[Reason, ...] = ("PluginUnknown", "PluginConfigMissing", "JoinConflict", "JoinTargetMissing", "Invalid")
"""Of several reasons the one to show: the first of these."""


@dataclass(slots=True)
class ProblemsByProfile:
    """What is wrong, by profile, in the order in which it was found."""

    found: dict[str, list[tuple[Reason, Problem]]] = field(default_factory=dict)

    def add(self, profile: str, problems: Iterable[Problem], reason: Reason = "Invalid") -> None:
        """Note ``problems`` of a profile."""
        for problem in problems:
            told = self.found.setdefault(profile, [])
            if problem not in (each for _, each in told):
                told.append((reason, problem))

    def by_profile(self) -> dict[str, Problems]:
        """What to tell each author."""
        return {name: _told(found) for name, found in self.found.items()}


def _told(found: Sequence[tuple[Reason, Problem]]) -> Problems:
    reasons = {reason for reason, _ in found}
    telling = next((reason for reason in _TELLING if reason in reasons), found[0][0])
    return Problems(telling, tuple(problem for _, problem in found))


@dataclass(frozen=True, slots=True)
class RenderInputs:
    """What profiles are rendered with."""

    plugin_configs: PluginConfigs
    namespace: str
    target: Target
    lint: judging.Lint = config.lint


def attempt(profiles: Sequence[UserObject], given: RenderInputs) -> Rendered | dict[str, Problems]:
    """Render ``profiles``, all in the process of the first, or say of each one what is wrong with it."""
    trouble = ProblemsByProfile()
    drafts: list[Draft] = []
    for profile in profiles:
        match draft(profile, given.plugin_configs, joined=len(profiles) > 1):
            case Problems() as refused:
                trouble.add(profile.name, refused.problems, refused.reason)
            case Draft() as drafted:
                drafts.append(drafted)
    if not drafts or drafts[0].profile is not profiles[0]:
        return trouble.by_profile()
    return RenderPass(drafts, given, trouble).outcome()


class RenderPass:
    """The working state of one :func:`attempt`."""

    def __init__(self, drafts: Sequence[Draft], given: RenderInputs, trouble: ProblemsByProfile) -> None:
        self.drafts = drafts
        self.owner = drafts[0]
        self.given = given
        self.trouble = trouble
        self.engine: Engine = self.owner.spec.engine
        self.target = target_of(self.owner.scheduler, given.target)
        names = [name for each in drafts for name in each.plugins]
        self.declared: Declared = declared(given.plugin_configs, names, given.namespace)

    def outcome(self) -> Rendered | dict[str, Problems]:
        self.note_mistakes()
        if clashing := list(clashes(self.drafts, self.engine)):  # the document would say it in other words
            for name, problem in clashing:
                self.trouble.add(name, [problem], "JoinConflict")
            return self.trouble.by_profile()
        raw, origins = self.overridden()
        document = self.read(raw, origins)
        expanded = self.expanded(raw, origins)
        for each in self.drafts:
            self.note_arguments(each)
        if document is None or self.trouble.found:
            return self.trouble.by_profile()
        for name, problem in conflicts(self.drafts, expanded, self.engine):
            self.trouble.add(name, [problem], "JoinConflict")
        if self.trouble.found:  # findings would say some of it again
            return self.trouble.by_profile()
        findings = self.findings(document, origins, tuple(expanded.values()))
        if self.trouble.found:
            return self.trouble.by_profile()
        return self.rendered(document, raw, origins, expanded, findings)

    def note_mistakes(self) -> None:
        """What is wrong with each draft, and with the process that the first asks for."""
        self.tell(self.owner.name, target_problems(self.owner.scheduler, self.target))
        for each in self.drafts:
            self.trouble.add(each.name, each.mistakes)
            self.trouble.add(each.name, each.missing, "PluginConfigMissing")
            self.tell(each.name, _engine_mistakes(each, self.engine))
            for plugin in dict.fromkeys(each.plugins):
                if (problem := self.declared.problems.get(plugin)) is not None:
                    self.trouble.add(each.name, [problem])

    def note_arguments(self, each: Draft) -> None:
        """Arguments that nobody would read; kube-scheduler drops them without a word."""
        for index, entry in enumerate(each.part.get("pluginConfig", ())):
            origin: Origin = each.tree["pluginConfig"][index].origin
            if not self.is_known(entry["name"]):
                problem = Problem(f"{origin.path}.name", config.unknown(entry["name"]))
                self.tell(each.name, [problem], "PluginUnknown")
            elif message := expanding.unused_arguments(entry["name"], entry["args"], self.declared.with_stand_ins({})):
                args: Fields = each.tree["pluginConfig"][index]["args"]
                self.tell(each.name, [Problem(args.origin.path, message)])

    def overridden(self) -> tuple[dict[str, Any], Origins]:
        raw, tree = assembled(self.drafts, self.given.namespace)
        if not self.owner.spec.overrides:
            return raw, Origins(tree)
        from scheduler_operator.render.overriding import overridden  # jsonpatch is slow to import and seldom needed

        changed = overridden(raw, tree, self.owner.spec.overrides, self.owner.name)
        self.tell(self.owner.name, changed.problems)
        return changed.document, changed.origins

    def read(self, raw: Mapping[str, Any], origins: Origins) -> Document | None:
        read = read_leniently(Document, raw, validate=lambda value: Document.model_validate_json(json.dumps(value)))
        for problem in read.problems:
            self.note(problem, origins)
        return None if read.problems else read.value

    def note(self, problem: Problem, origins: Origins, reason: Reason = "Invalid") -> None:
        profile, found = origins.as_written(problem)
        self.tell(profile, [found], reason)

    def tell(self, profile: str, problems: Iterable[Problem], reason: Reason = "Invalid") -> None:
        """Note the ``problems`` of what could be read of a profile."""
        draft = next(each for each in self.drafts if each.name == profile)
        self.trouble.add(profile, draft.reading.as_written(problems), reason)

    def expanded(self, raw: Mapping[str, Any], origins: Origins) -> dict[str, EffectiveProfile]:
        """What each profile means that can be read, whether or not the rest of the document can be."""
        found: dict[str, EffectiveProfile] = {}
        for index, (each, part) in enumerate(zip(self.drafts, raw["profiles"], strict=True)):
            read = read_leniently(Profile, part, validate=lambda value: Profile.model_validate_json(json.dumps(value)))
            if read.value is None:
                continue  # then it is among what is wrong with the document
            effective = config.effective(read.value, self.target, self.declared.with_stand_ins(each.enabled))
            if isinstance(effective, config.Problems):
                reason: Reason = "Invalid" if all(map(self.is_known, each.plugins)) else "PluginUnknown"
                for problem in read.as_written(effective):
                    self.note(problem.below(f"profiles[{index}]"), origins, reason)
            else:
                found[each.name] = effective
                self.tell(each.name, _idle_nodes(each, effective))
        return found

    def is_known(self, plugin: str) -> bool:
        if plugin in self.declared.plugins or plugin in self.declared.problems:
            return True
        return catalog.known(plugin, self.target.version) or catalog.find(plugin) is not None

    def findings(
        self, document: Document, origins: Origins, expanded: Sequence[EffectiveProfile]
    ) -> dict[str, tuple[Finding, ...]]:
        """What nobody allowed; the errors among it are trouble."""
        of_document = self.given.lint(document, self.target, self.declared.plugins, self.runs(), expanded)
        found = in_words_of_nodes(of_document, [nodes.expressions(each.spec.nodes) for each in self.drafts])
        profiles = {each.name: each.profile for each in self.drafts}
        findings = judging.sorted_out(found, origins, profiles)
        for name, each in ((name, each) for name, own in findings.items() for each in own):
            if (error := judging.as_problem(each)) is not None:
                self.trouble.add(name, [error[1]], error[0])
        return findings

    def runs(self) -> config.Engine:
        """What the document is for, as the linter has it."""
        if self.engine == "KubeScheduler" and not self.owner.scheduler.image:
            return "UpstreamImage"
        return "Python" if self.engine == "Python" else "KubeScheduler"

    def rendered(
        self,
        document: Document,
        raw: Mapping[str, Any],
        origins: Origins,
        expanded: Mapping[str, EffectiveProfile],
        findings: Mapping[str, tuple[Finding, ...]],
    ) -> Rendered:
        text, extras = emitted(raw, origins.tree, self.heading()), self.extras()
        others = self.declared.plugins
        needed = tuple(rule for effective in expanded.values() for rule in expanding.rules(effective, others))
        named = {name for effective in expanded.values() for name in effective.names}
        return Rendered(
            engine=self.engine,
            scheduler=self.owner.scheduler,
            target=self.target,
            document=document,
            text=text,
            extras=extras,
            hash=config.hash_of(text, extras),
            members={name: self.member(effective, findings[name]) for name, effective in expanded.items()},
            rules=(*catalog.BASE_RULES, *needed),
            declared_by={name: others[name].rules_for() for name in others if name in named},
            sources=tuple(sorted({source.name for source in self.declared.sources.values()})),
        )

    def member(self, effective: EffectiveProfile, findings: tuple[Finding, ...]) -> Member:
        return Member(
            effective,
            absent=frozenset(config.lacking(self.runs(), effective.names)),
            foreign=frozenset(effective.names) & frozenset(self.declared.plugins),
            findings=findings,
            summary=expanding.summary(effective, self.target),
        )

    def heading(self) -> str:
        names = " and ".join(each.name for each in self.drafts)
        kind = "SchedulerProfile" if len(self.drafts) == 1 else "SchedulerProfiles"
        rules = f" by the rules of {NEWEST}" if kubernetes_versions.remark(self.target.version) else ""
        return f"{kind} {names}, for {self.target}{rules}. Written by berth: change the profile, not this text."

    def extras(self) -> str:
        """``berth.yaml``: what the Python engine is told beside the document."""
        if self.engine != "Python":
            return ""
        plugins = self.declared.own_plugins()
        said: dict[str, Any] = {"events": self.owner.scheduler.events or "All"}
        if plugins:
            said["plugins"] = plugins
        if len(self.drafts) > 1 and any(draft.extenders for draft in self.drafts):
            said["extenders"] = places_of_extenders(self.drafts)
        return plain(said, self.heading())


def _engine_mistakes(each: Draft, engine: Engine) -> Iterator[Problem]:
    """What a profile asks for that its engine has not."""
    if engine == "KubeScheduler" and each.scheduler.events not in (None, "All"):
        message = "kube-scheduler posts every event; leave it out, or use engine: Python"
        yield Problem("spec.scheduler.events", message)


def _idle_nodes(each: Draft, effective: EffectiveProfile) -> Iterator[Problem]:
    filters = {plugin.name for plugin in effective.points["filter"]}
    if nodes.expressions(each.spec.nodes) and nodes.PLUGIN not in filters:
        message = f"has no effect, because {nodes.PLUGIN} does not filter; enable it, or leave nodes out"
        yield Problem("spec.nodes", message)
