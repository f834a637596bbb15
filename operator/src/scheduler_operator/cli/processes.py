"""What was read, as scheduler processes: profiles rendered, documents as they stand."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from scheduler_operator.cli.answers import Refusal, RefusedError, or_refuse
from scheduler_operator.cli.console import Console
from scheduler_operator.cli.installed import installed
from scheduler_operator.cli.reading import read, refusal
from scheduler_operator.cli.sorting import Sorted, sort
from scheduler_runtime import config
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config import Document, EffectiveProfile, Engine, Finding, Problem, Problems, Source
from scheduler_runtime.config.plugin_origins import Origin, origins

if TYPE_CHECKING:
    from scheduler_operator.cli.profiles import Outcome

NAMESPACE = "berth-system"
OF_ONES_OWN = "it is your own, install its package beside berth, or give a PluginConfig that declares it"
"""What to do about a plugin of a plain document that only its author knows."""


@dataclass(frozen=True, slots=True)
class Part:
    """A profile of a process, and where its author wrote it."""

    source: Source
    prefix: str
    """The path below which its plugins stand: ``spec``, or ``profiles[0]`` and so on."""
    effective: EffectiveProfile


@dataclass(frozen=True, slots=True)
class Process:
    """What one scheduler process runs by."""

    target: Target
    document: Document
    text: str
    """The document as YAML."""
    parts: tuple[Part, ...]
    findings: tuple[tuple[Source, Finding], ...]
    """What the linter says, and in which of the documents that were read."""
    others: Mapping[str, Declaration] = field(default_factory=dict)
    engine: Engine = "KubeScheduler"
    """What runs it."""
    remarks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What to call it where there are several."""
        return ", ".join(part.effective.scheduler_name for part in self.parts)

    def written(self) -> dict[str, Any]:
        """The document as a value: what it says, without what it leaves out."""
        return self.document.model_dump(by_alias=True, exclude_unset=True, mode="json")

    def defaulted(self) -> dict[str, Any]:
        """The document as kube-scheduler reads it, every default written out."""
        return config.with_defaults(self.document, self.target, self.others)

    def explained(self) -> "Iterator[Explained]":
        """Each of the profiles with why its plugins run."""
        for written, part in zip(self.document.profiles, self.parts, strict=True):
            found = origins(written, part.effective, self.target, self.engine, self.others)
            yield Explained(self, part, found)


@dataclass(frozen=True, slots=True)
class Explained:
    """A profile of a process, and why each of its plugins runs."""

    process: Process
    part: Part
    origins: Mapping[str, tuple[Origin, ...]]

    @property
    def is_document(self) -> bool:
        """Whether its author wrote a KubeSchedulerConfiguration, which any engine can run."""
        return bool(self.part.source.value["kind"] == "KubeSchedulerConfiguration")

    def why(self, origin: Origin) -> str:
        """Why, with paths as the author wrote them."""
        return origin.sentence(self.process.target, self.part.prefix)


@dataclass(frozen=True, slots=True)
class Processes:
    """What could be made of the input, and what is wrong with the rest."""

    found: tuple[Process, ...]
    refusals: tuple[Refusal, ...]


def read_sorted(files: Iterable[str], console: Console) -> Sorted:
    """What ``files`` hold, provided that all of it can be read and is of our kinds."""
    reading = read(files, console)
    or_refuse(reading.refusals)
    found = sort(reading.sources)
    or_refuse(found.refusals)
    return found


def all_processes(
    given: Sorted, target: Target, namespace: str = NAMESPACE, engine: Engine = "KubeScheduler"
) -> tuple[Process, ...]:
    """Every process that profiles and documents ask for: at least one, and nothing refused."""
    found = processes(given, target, namespace, engine)
    or_refuse(found.refusals)
    if not found.found:
        names = ", ".join(dict.fromkeys(source.name for source in given.plugin_configs))
        raise RefusedError(Refusal(names, "holds PluginConfigs only; name the file of a profile too"))
    return found.found


def processes(given: Sorted, target: Target, namespace: str = NAMESPACE, engine: Engine = "KubeScheduler") -> Processes:
    """The processes that profiles and documents ask for, each for its own version or for ``target``.

    ``engine`` is what runs the documents; a profile says it itself.
    """
    refusals = list(given.refusals)
    found: list[Process] = []
    for outcome in (*_of_profiles(given, target, namespace), *_of_documents(given, target, namespace, engine)):
        if isinstance(outcome, Process):
            found.append(outcome)
        else:
            refusals.extend(outcome)
    return Processes(tuple(found), tuple(dict.fromkeys(refusals)))


def _of_profiles(given: Sorted, target: Target, namespace: str) -> "Iterator[Outcome]":
    if given.profiles or given.plugin_configs:
        from scheduler_operator.cli import profiles  # the operator's models, which plain documents do not need

        yield from profiles.processes(given, target, namespace)


def _of_documents(given: Sorted, target: Target, namespace: str, engine: Engine) -> "Iterator[Outcome]":
    others: Mapping[str, Declaration] = {}
    if given.documents and given.plugin_configs:
        from scheduler_operator.cli import profiles

        others = profiles.declared_plugins(given, namespace)
    for source in given.documents:
        outcome = _read(source, target, others, engine)
        yield [_refused(source, problem) for problem in outcome] if isinstance(outcome, Problems) else outcome


def _refused(source: Source, problem: Problem) -> Refusal:
    """A problem at its place; no operator reads a plain document, so what is one's own can be beside berth, too."""
    return refusal(source, replace(problem, message=problem.message.replace(config.DECLARE_IT, OF_ONES_OWN)))


def _read(source: Source, target: Target, declared: Mapping[str, Declaration], engine: Engine) -> Process | Problems:
    found = installed(source.value, declared)
    others = {**found.plugins, **declared}
    accepted = config.check_document(source.value, target, others)
    if found.problems or isinstance(accepted, Problems):
        return found.beside(accepted if isinstance(accepted, Problems) else (), target)
    document, profiles = accepted.document, accepted.profiles
    findings, _ = config.split_allowed(config.lint(document, target, others, engine, profiles), source.allowed_codes)
    findings = (*idle_allowances(source), *findings)
    return Process(
        target=target,
        document=document,
        text=config.dump(document),
        parts=tuple(Part(source, f"profiles[{index}]", profile) for index, profile in enumerate(profiles)),
        findings=tuple((source, finding) for finding in findings),
        others=others,
        engine=engine,
    )


def idle_allowances(source: Source) -> Iterator[Finding]:
    """A finding for each code that a comment allows and no finding has."""
    if source.allowed_codes <= config.CODES.keys():
        return
    from scheduler_operator.render.findings import unknown_codes

    for finding in unknown_codes(",".join(sorted(source.allowed_codes))):
        meant = finding.suggestion.rpartition(": ")[2] if ": " in finding.suggestion else ""
        suggestion = f"# berth: allow {meant}" if meant else finding.suggestion
        yield replace(finding, path="", suggestion=suggestion)
