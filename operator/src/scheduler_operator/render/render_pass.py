"""One rendering pass: the profiles of one process become one document, or problems for their authors.

    drafts ──► assembled ──► overridden ──► read as a Document ──► expanded ──► findings ──► text

Every problem is reported to the author of the profile that it belongs to, together with the others of its step.
Conflicts between profiles, and findings of severity error, may show only when the other problems are solved.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler_operator.models.scheduler_profile import Engine
from scheduler_operator.models.status import Reason
from scheduler_operator.render import findings
from scheduler_operator.render.assembly import assemble, conflicts, extender_conflicts, extender_positions
from scheduler_operator.render.drafts import NODE_AFFINITY, Draft, make_draft
from scheduler_operator.render.lenient_reading import Reading, read_leniently
from scheduler_operator.render.origins import Fields, Origin, Origins
from scheduler_operator.render.outcome import (
    ObjectProblems,
    PluginConfigs,
    Rendered,
    RenderedProfile,
    required_rules,
    summarize,
)
from scheduler_operator.render.plugin_configs import Declarations, read_declarations, unused_arguments
from scheduler_operator.render.yaml_text import format_document, format_plain
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import NEWEST_MINOR, Rule, Target, Version, gate_problems, is_too_old, permissions
from scheduler_runtime.catalog.bounds import MAX_BYTES, MAX_PROBLEMS, excess
from scheduler_runtime.config import Document, EffectiveProfile, Finding, Problem, Profile
from scheduler_runtime.config.problems import MORE_PROBLEMS

_REASON_ORDER: tuple[Reason, ...] = (
    *("PluginUnknown", "PluginConfigMissing", "JoinConflict", "JoinTargetMissing"),
    "Invalid",
)
"""The first of these that applies is the reason of all problems of a profile."""


@dataclass(slots=True)
class ProblemsByProfile:
    """Problems of each profile, in the order in which they were found: the first hundred of each."""

    problems: dict[str, list[tuple[Reason, Problem]]] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)
    """The profiles that have more problems."""

    def add(self, profile: str, problems: Iterable[Problem], reason: Reason = "Invalid") -> None:
        """Add ``problems`` of a profile; each is kept once."""
        for problem in problems:
            own = self.problems.setdefault(profile, [])
            if len(own) == MAX_PROBLEMS:
                self.left_out.add(profile)
                return
            if problem not in (other for _, other in own):
                own.append((reason, problem))

    def by_profile(self) -> dict[str, ObjectProblems]:
        """Return the problems of each profile, with one reason for all."""
        result = {}
        for name, problems in self.problems.items():
            reasons = {reason for reason, _ in problems}
            reason = next((reason for reason in _REASON_ORDER if reason in reasons), problems[0][0])
            more = [MORE_PROBLEMS] if name in self.left_out else []
            result[name] = ObjectProblems(reason, (*(problem for _, problem in problems), *more))
        return result


@dataclass(frozen=True, slots=True)
class RenderInputs:
    """Everything that profiles are rendered with."""

    plugin_configs: PluginConfigs
    namespace: str
    target: Target
    lint: findings.Lint = config.lint


def render(
    profiles: Sequence[UserObject],
    plugin_configs: PluginConfigs,
    namespace: str,
    target: Target,
    lint: findings.Lint = config.lint,
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
    profile: UserObject,
    plugin_configs: PluginConfigs,
    namespace: str,
    target: Target,
    lint: findings.Lint = config.lint,
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
    lint: findings.Lint = config.lint,
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


def render_or_problems(profiles: Sequence[UserObject], inputs: RenderInputs) -> Rendered | dict[str, ObjectProblems]:
    """Render ``profiles``, all in the process of the first, or return the problems of each."""
    problems = ProblemsByProfile()
    drafts: list[Draft] = []
    for profile in profiles:
        match make_draft(profile, inputs.plugin_configs, joined=len(profiles) > 1):
            case ObjectProblems() as unreadable:
                problems.add(profile.name, unreadable.problems, unreadable.reason)
            case Draft() as draft:
                drafts.append(draft)
    if not drafts or drafts[0].profile is not profiles[0]:
        return problems.by_profile()
    return RenderPass(drafts, inputs, problems).run()


class RenderPass:
    """The working state of one rendering pass. Each step adds what it finds wrong to ``problems``."""

    def __init__(self, drafts: Sequence[Draft], inputs: RenderInputs, problems: ProblemsByProfile) -> None:
        self.drafts = drafts
        self.owner = drafts[0]
        self.readings = {draft.name: draft.reading for draft in drafts}
        self.inputs = inputs
        self.problems = problems
        self.engine: Engine = self.owner.spec.engine
        self.lint_engine: config.Engine = "Python" if self.engine == "Python" else "KubeScheduler"
        if self.engine == "KubeScheduler" and not self.owner.scheduler.image:
            self.lint_engine = "UpstreamImage"
        # The version and the gates that the owner names; the cluster's where it names none.
        own_version, gates = self.owner.scheduler.kubernetes_version, self.owner.scheduler.feature_gates or {}
        version = Version.parse(own_version) if own_version else inputs.target.version
        self.target = Target(version, dict(sorted({**inputs.target.feature_gates, **gates}.items())))
        plugins = [name for draft in drafts for name in draft.plugins]
        self.declarations: Declarations = read_declarations(inputs.plugin_configs, plugins, inputs.namespace)

    def run(self) -> Rendered | dict[str, ObjectProblems]:
        """Go through all steps; stop where the next one would only repeat problems in other words."""
        self.check_drafts()
        # Such a document would be refused as a whole, and its problems would name a profile that has nothing wrong.
        if extender_problems := list(extender_conflicts(self.drafts, self.engine)):
            for name, problem in extender_problems:
                self.problems.add(name, [problem], "JoinConflict")
            return self.problems.by_profile()
        if oversized := list(self.oversized_joiners()):
            for name, problem in oversized:
                self.problems.add(name, [problem], "JoinConflict")
            return self.problems.by_profile()
        raw, origins = self.assemble_and_override()
        document = self.read_document(raw, origins)
        expanded = self.expand(raw, document, origins)
        # Also when the document is unreadable: the author learns of these problems at the same time.
        for draft in self.drafts:
            self.check_arguments(draft)
        if document is None or self.problems.problems:
            return self.problems.by_profile()
        # Conflicts are those of effective profiles: they need every profile to be readable.
        for name, problem in conflicts(self.drafts, expanded, self.engine):
            self.problems.add(name, [problem], "JoinConflict")
        if self.problems.problems:
            return self.problems.by_profile()
        findings_by_profile = self.lint(document, origins, tuple(expanded.values()))
        if self.problems.problems:
            return self.problems.by_profile()
        return self.to_rendered(document, raw, origins, expanded, findings_by_profile)

    def oversized_joiners(self) -> Iterator[tuple[str, Problem]]:
        """Yield the profiles with which the document would exceed the bounds, each with its problem."""
        parts = [self.owner.part, self.owner.extenders]
        for draft in self.drafts[1:]:
            if message := excess([*parts, draft.part, draft.extenders]):
                message = f"with this profile the document of {self.owner.name} {message}; give it its own process"
                yield draft.name, Problem("spec.joins", message)
            else:
                parts += [draft.part, draft.extenders]

    def check_drafts(self) -> None:
        """Check each draft, and the process that the owner asks for."""
        own_version = self.owner.scheduler.kubernetes_version
        if not is_too_old(self.target.version):
            problems = [Problem("spec.scheduler.featureGates", message) for message in gate_problems(self.target)]
        elif own_version:
            message = f"{own_version} is older than this release knows; it knows {catalog.SUPPORTED_RANGE}"
            problems = [Problem("spec.scheduler.kubernetesVersion", message)]
        else:
            message = (
                f"the cluster's Kubernetes {self.target.version} is older than this release knows; it knows "
                f"{catalog.SUPPORTED_RANGE}; upgrade the cluster, or use the release of berth that was made for it"
            )
            problems = [Problem("", message)]
        self.add_problems(self.owner.name, problems)
        for draft in self.drafts:
            self.problems.add(draft.name, draft.mistakes)
            self.problems.add(draft.name, draft.missing, "PluginConfigMissing")
            if self.engine == "KubeScheduler" and draft.scheduler.events not in (None, "All"):
                message = "kube-scheduler posts every event; leave it out, or use engine: Python"
                self.add_problems(draft.name, [Problem("spec.scheduler.events", message)])
            for plugin in dict.fromkeys(draft.plugins):
                if (problem := self.declarations.problems.get(plugin)) is not None:
                    self.problems.add(draft.name, [problem])

    def check_arguments(self, draft: Draft) -> None:
        """Find arguments that no plugin reads: kube-scheduler drops them silently."""
        for index, entry in enumerate(draft.part.get("pluginConfig", ())):
            origin: Origin = draft.tree["pluginConfig"][index].origin
            if not self.plugin_exists(entry["name"]):
                problem = Problem(f"{origin.path}.name", config.unknown_plugin_message(entry["name"]))
                self.add_problems(draft.name, [problem], "PluginUnknown")
                continue
            plugins = self.declarations.with_stand_ins({})
            if message := unused_arguments(entry["name"], entry["args"], plugins):
                args: Fields = draft.tree["pluginConfig"][index]["args"]
                self.add_problems(draft.name, [Problem(args.origin.path, message)])

    def assemble_and_override(self) -> tuple[dict[str, Any], Origins]:
        raw, tree = assemble(self.drafts, self.inputs.namespace)
        if not self.owner.spec.overrides:
            return raw, Origins(tree)
        from scheduler_operator.render.overrides import apply_overrides  # jsonpatch: slow to import, seldom needed

        # Overrides belong to the process, so they are the owner's, and their problems too.
        patched = apply_overrides(raw, tree, self.owner.spec.overrides, self.owner.name)
        self.add_problems(self.owner.name, patched.problems)
        return patched.document, patched.origins

    def read_document(self, raw: Mapping[str, Any], origins: Origins) -> Document | None:
        reading = read_leniently(Document, raw, validate=lambda value: Document.model_validate_json(json.dumps(value)))
        for problem in reading.problems:
            self.add_document_problem(problem, origins)
        return None if reading.problems else reading.value

    def expand(
        self, raw: Mapping[str, Any], document: Document | None, origins: Origins
    ) -> dict[str, EffectiveProfile]:
        """Return the effective form of each readable profile, whether or not the whole ``document`` is readable."""
        if document is not None:
            readings = [Reading(part, own) for part, own in zip(raw["profiles"], document.profiles, strict=True)]
        else:
            readings = [
                read_leniently(Profile, part, validate=lambda value: Profile.model_validate_json(json.dumps(value)))
                for part in raw["profiles"]
            ]
        expanded: dict[str, EffectiveProfile] = {}
        for index, (draft, reading) in enumerate(zip(self.drafts, readings, strict=True)):
            if reading.value is None:
                continue  # its problems are among those of the document
            plugins = self.declarations.with_stand_ins(draft.enabled)
            effective = config.expand_profile(reading.value, self.target, plugins)
            if isinstance(effective, config.Problems):
                # A plugin that does not exist is often the cause of the rest: its reason is the more telling one.
                reason: Reason = "Invalid" if all(map(self.plugin_exists, draft.plugins)) else "PluginUnknown"
                for problem in reading.at_source_paths(effective):
                    self.add_document_problem(problem.below(f"profiles[{index}]"), origins, reason)
            else:
                expanded[draft.name] = effective
                filters = {plugin.name for plugin in effective.points["filter"]}
                if draft.node_expressions and NODE_AFFINITY not in filters:
                    message = f"has no effect, because {NODE_AFFINITY} does not filter; enable it, or leave nodes out"
                    self.add_problems(draft.name, [Problem("spec.nodes", message)])
        return expanded

    def lint(
        self, document: Document, origins: Origins, expanded: Sequence[EffectiveProfile]
    ) -> dict[str, tuple[Finding, ...]]:
        """Return the findings that are not allowed, by profile; those that are errors become problems."""
        # Findings about nodes speak of addedAffinity, which the author of spec.nodes has never seen.
        raw_findings = self.inputs.lint(document, self.target, self.declarations.plugins, self.lint_engine, expanded)
        reworded = findings.reword_for_nodes(raw_findings, [draft.node_expressions for draft in self.drafts])
        profiles = {draft.name: draft.profile for draft in self.drafts}
        by_profile = findings.findings_by_profile(reworded, origins, profiles)
        for name, own in by_profile.items():
            for finding in own:
                if (error := findings.as_problem(finding)) is not None:
                    self.problems.add(name, [error[1]], error[0])
        return by_profile

    def add_document_problem(self, problem: Problem, origins: Origins, reason: Reason = "Invalid") -> None:
        """Add a problem of the document, at the path where a profile's author wrote the value."""
        profile, at_source = origins.at_source_path(problem)
        self.add_problems(profile, [at_source], reason)

    def add_problems(self, profile: str, problems: Iterable[Problem], reason: Reason = "Invalid") -> None:
        """Add ``problems`` of the readable part of a profile."""
        self.problems.add(profile, self.readings[profile].at_source_paths(problems), reason)

    def plugin_exists(self, plugin: str) -> bool:
        if plugin in self.declarations.plugins or plugin in self.declarations.problems:
            return True
        return catalog.exists_in(plugin, self.target.version) or catalog.find(plugin) is not None

    def to_rendered(
        self,
        document: Document,
        raw: Mapping[str, Any],
        origins: Origins,
        expanded: Mapping[str, EffectiveProfile],
        findings_by_profile: Mapping[str, tuple[Finding, ...]],
    ) -> Rendered | dict[str, ObjectProblems]:
        heading = self.heading()
        text, extras = format_document(raw, origins.tree, heading), self.extras(heading)
        if (size := len(text.encode()) + len(extras.encode())) > MAX_BYTES:
            message = f"the document has {size:,} bytes, indented and with comments; a ConfigMap holds {MAX_BYTES:,}"
            self.add_problems(self.owner.name, [Problem("spec", f"{message}; write less, or fewer profiles that join")])
            return self.problems.by_profile()
        plugins = self.declarations.plugins
        rules = [rule for effective in expanded.values() for rule in required_rules(effective, plugins)]
        in_use = {name for effective in expanded.values() for name in effective.names}
        profiles = {
            name: RenderedProfile(
                effective,
                absent=frozenset(config.missing_plugins(self.lint_engine, effective.names)),
                foreign=frozenset(effective.names) & frozenset(plugins),
                findings=findings_by_profile[name],
                summary=summarize(effective, self.target),
            )
            for name, effective in expanded.items()
        }
        return Rendered(
            engine=self.engine,
            scheduler=self.owner.scheduler,
            target=self.target,
            document=document,
            text=text,
            extras=extras,
            # The hash covers the text with its comments: a running scheduler computes it from the files that it reads.
            hash=config.document_hash(text, extras),
            startup_hash=config.startup_only_hash(document),
            profiles=profiles,
            rules=(*self.process_rules(in_use), *rules),
            declared_by={name: plugins[name].rules_for() for name in plugins if name in in_use},
            extender_secrets=tuple(sorted(set().union(*(draft.extender_secrets for draft in self.drafts)))),
            sources=dict(sorted(self.declarations.sources.items())),
        )

    def process_rules(self, plugins: Collection[str]) -> Iterator[Rule]:
        """Yield the permissions of the process, with ``plugins``, beyond what these declare."""
        if self.engine == "KubeScheduler":
            yield from permissions.kube_scheduler_rules(self.target, plugins)
        else:
            yield from permissions.PYTHON_RULES
        if self.owner.scheduler.events != "None":
            yield from permissions.EVENT_RULES

    def heading(self) -> str:
        names = " and ".join(draft.name for draft in self.drafts)
        kind = "SchedulerProfile" if len(self.drafts) == 1 else "SchedulerProfiles"
        rules = f" by the rules of {NEWEST_MINOR}" if catalog.newer_version_remark(self.target.version) else ""
        return f"{kind} {names}, for {self.target}{rules}. Written by berth: change the profile, not this text."

    def extras(self, heading: str) -> str:
        """Return ``berth.yaml``: settings of the Python engine that upstream's document has no field for."""
        if self.engine != "Python":
            return ""
        extras: dict[str, Any] = {"events": self.owner.scheduler.events or "All"}
        if plugins := self.declarations.own_plugins():
            extras["plugins"] = plugins
        if len(self.drafts) > 1 and any(draft.extenders for draft in self.drafts):
            extras["extenders"] = extender_positions(self.drafts)
        return format_plain(extras, heading)
