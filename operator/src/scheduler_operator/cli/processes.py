"""Documents of scheduler processes, built from the input: profiles are rendered, documents are taken as they are."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from scheduler_operator.cli.answers import Refusal, RefusedError, raise_if_refused
from scheduler_operator.cli.console import Console
from scheduler_operator.cli.installed import find_installed
from scheduler_operator.cli.reading import InputObjects, read_files, refusal, sort_objects
from scheduler_runtime import config
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config import Document, EffectiveProfile, Engine, Finding, Problems, Source
from scheduler_runtime.config.plugin_origins import PluginOrigin, origins

NAMESPACE = "berth-system"
OF_ONES_OWN = "it is your own, install its package beside berth, or give a PluginConfig that declares it"
"""The advice for a plugin that nobody knows in a plain document: no operator reads that, so a package is enough."""


@dataclass(frozen=True, slots=True)
class ProfilePart:
    """A profile of a process, and the place where its author wrote it."""

    source: Source
    prefix: str
    """The path below which its plugins are: ``spec``, ``profiles[0]`` and so on."""
    effective: EffectiveProfile


@dataclass(frozen=True, slots=True)
class SchedulerDocument:
    """The document of one scheduler process, with its effective profiles and findings."""

    target: Target
    document: Document
    text: str
    """The document as YAML."""
    parts: tuple[ProfilePart, ...]
    findings: tuple[tuple[Source, Finding], ...]
    """The findings of the linter, each with the object it is about."""
    declared: Mapping[str, Declaration] = field(default_factory=dict)
    engine: Engine = "KubeScheduler"
    remarks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the process where there are several: those of its profiles."""
        return ", ".join(part.effective.scheduler_name for part in self.parts)

    def explicit(self) -> dict[str, Any]:
        """Return the document as a value, without fields that are not set."""
        return self.document.model_dump(by_alias=True, exclude_unset=True, mode="json")

    def defaulted(self) -> dict[str, Any]:
        """Return the document as kube-scheduler reads it, with every default."""
        return config.with_defaults(self.document, self.target, self.declared)

    def explain(self) -> "Iterator[ExplainedProfile]":
        """Yield each profile with the reasons why its plugins run."""
        for profile, part in zip(self.document.profiles, self.parts, strict=True):
            yield ExplainedProfile(
                self, part, origins(profile, part.effective, self.target, self.engine, self.declared)
            )


@dataclass(frozen=True, slots=True)
class ExplainedProfile:
    """A profile of a process, with the reason why each of its plugins runs."""

    process: SchedulerDocument
    part: ProfilePart
    origins: Mapping[str, tuple[PluginOrigin, ...]]

    @property
    def is_document(self) -> bool:
        """True if its author wrote a KubeSchedulerConfiguration, which any engine can run."""
        return bool(self.part.source.value["kind"] == "KubeSchedulerConfiguration")

    def reason(self, origin: PluginOrigin) -> str:
        """Return why a plugin runs, with paths as the author wrote them."""
        return origin.sentence(self.process.target, self.part.prefix)


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """The documents that the input asks for, and the refusals of the rest."""

    documents: tuple[SchedulerDocument, ...]
    refusals: tuple[Refusal, ...]


def read_objects(files: Iterable[str], console: Console) -> InputObjects:
    """Read the objects in ``files``. Raises RefusedError unless all of it can be read and is of our kinds."""
    reading = read_files(files, console)
    raise_if_refused(reading.refusals)
    objects = sort_objects(reading.sources)
    raise_if_refused(objects.refusals)
    return objects


def read_documents(
    objects: InputObjects, target: Target, namespace: str = NAMESPACE, engine: Engine = "KubeScheduler"
) -> tuple[SchedulerDocument, ...]:
    """Return the document of every process, at least one. Raises RefusedError if anything is refused."""
    built = build_documents(objects, target, namespace, engine)
    raise_if_refused(built.refusals)
    if not built.documents:
        names = ", ".join(dict.fromkeys(source.name for source in objects.plugin_configs))
        raise RefusedError(Refusal(names, "holds PluginConfigs only; name the file of a profile too"))
    return built.documents


def build_documents(
    objects: InputObjects, target: Target, namespace: str = NAMESPACE, engine: Engine = "KubeScheduler"
) -> DocumentSet:
    """Build the documents of all processes, each for its own version or for ``target``.

    ``engine`` runs the KubeSchedulerConfigurations of the input; a profile names its engine itself.
    """
    refusals = list(objects.refusals)
    documents: list[SchedulerDocument] = []
    declared: Mapping[str, Declaration] = {}
    if objects.profiles or objects.plugin_configs:
        from scheduler_operator.cli import profiles  # loads the operator's models, which plain documents do not need

        for outcome in profiles.render_profiles(objects, target, namespace):
            if isinstance(outcome, SchedulerDocument):
                documents.append(outcome)
            else:
                refusals += outcome
        if objects.documents and objects.plugin_configs:
            declared = profiles.declared_plugins(objects, namespace)
    for source in objects.documents:
        # A document is taken as it is, with plugins that are declared or installed beside berth.
        installed = find_installed(source.value, declared)
        plugins = {**installed.plugins, **declared}
        accepted = config.check_document(source.value, target, plugins)
        if installed.problems or isinstance(accepted, Problems):
            for problem in installed.add_problems(accepted if isinstance(accepted, Problems) else (), target):
                message = problem.message.replace(config.DECLARE_IT, OF_ONES_OWN)
                refusals.append(refusal(source, replace(problem, message=message)))
            continue
        document, effective = accepted.document, accepted.profiles
        findings = config.lint(document, target, plugins, engine, effective)
        findings, _ = config.split_allowed(findings, source.allowed_codes)
        documents.append(
            SchedulerDocument(
                target=target,
                document=document,
                text=config.dump(document),
                parts=tuple(ProfilePart(source, f"profiles[{index}]", one) for index, one in enumerate(effective)),
                findings=tuple((source, finding) for finding in (*unknown_allowances(source), *findings)),
                declared=plugins,
                engine=engine,
            )
        )
    return DocumentSet(tuple(documents), tuple(dict.fromkeys(refusals)))


def unknown_allowances(source: Source) -> Iterator[Finding]:
    """Yield a finding for each code that a comment allows and that does not exist."""
    if source.allowed_codes <= config.CODES.keys():
        return
    from scheduler_operator.render.findings import unknown_codes

    for finding in unknown_codes(",".join(sorted(source.allowed_codes))):
        code = finding.suggestion.rpartition(": ")[2] if ": " in finding.suggestion else ""
        suggestion = f"# berth: allow {code}" if code else finding.suggestion
        yield replace(finding, path="", suggestion=suggestion)
