"""KubeSchedulerConfiguration of every version, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from scheduler_operator.migrate.alpha import read_alpha
from scheduler_operator.migrate.api_versions import GROUP, VERSIONS, ApiVersion
from scheduler_operator.migrate.completing import complete
from scheduler_operator.migrate.draft import Process, ProfileDraft, Unelected
from scheduler_operator.migrate.extenders import read_extender
from scheduler_operator.migrate.modernise import keep_old_weights, modernise, weigh_balanced_alike
from scheduler_operator.migrate.parts import Part
from scheduler_operator.migrate.profiles import read_profile
from scheduler_runtime import config
from scheduler_runtime.catalog.suggestions import nearest

KIND = "KubeSchedulerConfiguration"
_NAME = "schedulername"
"""A profile without it is another scheduler, which nobody who only misspelt it wants."""

OWN_CREDENTIALS = "left out: Berth's schedulers use the ServiceAccount that Berth makes for them"
OWN_LEASE = "left out: Berth keeps a Lease of its own for each profile, in its own namespace"
UNLIMITED = (
    "says nothing of qps, which kube-scheduler takes for 50 requests a second; Berth sets no limit: "
    "write spec.scheduler.clientConnection: {qps: 50, burst: 100} to keep that one"
)
_SERVED = "left out: Berth's schedulers serve health and metrics on a port of their own, and the Service names it"
_EXPLAINED: Mapping[str, str] = MappingProxyType({"healthzBindAddress": _SERVED, "metricsBindAddress": _SERVED})


def read_document(source: Part) -> Process | None:
    """The process that a KubeSchedulerConfiguration describes; None when its version is unknown."""
    version = _version(source)
    if version is None or (version.name == "v1" and _is_refused(source)):
        return None
    process = Process()
    _read_process(source, process)
    profiles = read_alpha(source, version) if version.is_alpha else _profiles(source)
    _check_names(profiles, source)
    percentage = source.integer("percentageOfNodesToScore")
    if percentage and all(draft.percentage_of_nodes_to_score is not None for draft in profiles):
        source.remark("percentageOfNodesToScore", "left out, because every profile says its own")
    for draft in profiles:
        if draft.percentage_of_nodes_to_score is None:
            draft.percentage_of_nodes_to_score = percentage or None
        _translate(draft, version, source)
    process.profiles = profiles
    _leave_out_unknown(source, version)
    return process


def _is_refused(source: Part) -> bool:
    """Whether a document of today's version is one that cannot be read, with the reasons told."""
    match config.parse_document(_without_lock(source.value)):
        case config.Problems() as problems:
            source.notes.problems.extend(problem.below(source.path) for problem in problems)
            return True
    return False


def _without_lock(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without the kind of its lock, of which earlier releases had more and Berth has one of its own."""
    election = document.get("leaderElection")
    if not isinstance(election, dict):
        return dict(document)
    return {**document, "leaderElection": {key: each for key, each in election.items() if key != "resourceLock"}}


def _leave_out_unknown(source: Part, version: ApiVersion) -> None:
    """Refuse what a strict reader refuses, and the name of a scheduler misspelt, without which it is another one."""
    for part, key in source.unread():
        if version.is_strict or nearest(key.lower(), [_NAME], alike=0.8):
            part.refuse_unknown(key)
        else:
            part.remark(key, f"left out: {version.name} has no such field")


def _version(source: Part) -> ApiVersion | None:
    written = source.text("apiVersion") or ""
    source.take("kind")
    group, _, name = written.rpartition("/")
    version = VERSIONS.get(name) if group in (GROUP, "componentconfig") else None
    if version is None:
        known = ", ".join(VERSIONS)
        source.refuse("apiVersion", f"{written!r} is not a version of {KIND}; the versions are {GROUP}/ {known}")
    elif version.is_old:
        message = f"{version.name} is the format of Kubernetes {version.read_by}; v1 took its place; {version.changes}"
        source.remark("apiVersion", message)
    return version


def _read_process(source: Part, process: Process) -> None:
    for field in ("parallelism", "podInitialBackoffSeconds", "podMaxBackoffSeconds"):
        process.scheduler[field] = source.integer(field)
    _read_election(source.mapping("leaderElection"), process)
    _read_connection(source.mapping("clientConnection"), process)
    _read_switches(source, process)
    process.extenders_path = source.at("extenders")
    process.extenders = [read_extender(entry) for entry in source.entries("extenders")]
    for field, message in _EXPLAINED.items():
        source.remark(field, message)


def _read_switches(source: Part, process: Process) -> None:
    profiling, contention = source.boolean("enableProfiling"), source.boolean("enableContentionProfiling")
    process.override("/enableProfiling", profiling)
    if contention is not (profiling is not False):  # the one follows the other where nothing is said
        process.override("/enableContentionProfiling", contention)
    process.override("/delayCacheUntilActive", source.boolean("delayCacheUntilActive"))


def _read_election(source: Part, process: Process) -> None:
    for field in ("leaseDuration", "renewDeadline", "retryPeriod"):
        process.elect(field, source.duration(field))
    for field in ("resourceName", "resourceNamespace", "resourceLock", "lockObjectName", "lockObjectNamespace"):
        if source.text(field) not in (None, "leases"):
            source.remark(field, OWN_LEASE)
    if source.boolean("leaderElect") is False:
        process.unelected = Unelected(source.at("leaderElect"))


def _read_connection(source: Part, process: Process) -> None:
    qps = source.number("qps")
    process.connect("qps", qps)
    process.connect("burst", source.integer("burst") or None)
    if qps is None:
        source.notes.remark(source.path, UNLIMITED)
    for field in ("contentType", "acceptContentTypes"):
        process.override(f"/clientConnection/{field}", source.text(field))
    if source.text("kubeconfig"):
        source.remark("kubeconfig", OWN_CREDENTIALS)


def _profiles(source: Part) -> list[ProfileDraft]:
    entries = source.entries("profiles")
    return [read_profile(entry) for entry in entries] or [ProfileDraft(path=source.path)]


def _check_names(profiles: list[ProfileDraft], source: Part) -> None:
    names = [draft.name for draft in profiles]
    for index, draft in enumerate(profiles):
        if len(profiles) > 1 and not draft.name:
            source.notes.refuse(draft.below("schedulerName"), "is required, because there are several profiles")
        elif draft.name in names[:index]:
            message = f"{draft.name!r} is the name of profiles[{names.index(draft.name)}] too; give each its own"
            source.notes.refuse(draft.below("schedulerName"), message)


def _translate(draft: ProfileDraft, version: ApiVersion, source: Part) -> None:
    if draft.plugins.get("multiPoint") and not version.reads_multi_point:
        del draft.plugins["multiPoint"]
        message = f"left out, because it changed nothing: kube-scheduler reads it since v1beta3, not in {version.name}"
        source.notes.remark(draft.below("plugins.multiPoint"), message)
    modernise(draft, source.notes, scores_least_allocated=version.scores_least_allocated)
    if version.is_old:
        complete(draft, source.notes)
        weigh_balanced_alike(draft, source.notes)
    if version.has_old_weights:
        keep_old_weights(draft, source.notes, draft.below("plugins.score"))
    if version.lists_own_spreading:
        _list_own_spreading(draft, source)


def _list_own_spreading(draft: ProfileDraft, source: Part) -> None:
    spread = draft.args.get("PodTopologySpread")
    if spread and spread.fields.get("defaultConstraints") and "defaultingType" not in spread.fields:
        spread.fields["defaultingType"] = "List"
        message = "defaultingType: List is written out, which v1 no longer infers from defaultConstraints"
        source.notes.remark(spread.path, message)
