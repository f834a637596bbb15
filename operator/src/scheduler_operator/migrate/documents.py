"""Read a KubeSchedulerConfiguration of any version, v1alpha1 to v1, field by field."""

from __future__ import annotations

from scheduler_operator.migrate.api_versions import (
    GROUP,
    VERSIONS,
    ApiVersion,
    apply_provider,
    translate_to_v1,
)
from scheduler_operator.migrate.draft import (
    POINTS,
    ArgsDraft,
    ElectionOff,
    PluginChanges,
    PluginDraft,
    ProcessDraft,
    ProfileDraft,
)
from scheduler_operator.migrate.extenders import read_extender
from scheduler_operator.migrate.input_part import InputPart
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog.suggestions import nearest

KIND = "KubeSchedulerConfiguration"

OWN_CREDENTIALS = "left out: Berth's schedulers use the ServiceAccount that Berth makes for them"
OWN_LEASE = "left out: Berth keeps a Lease of its own for each profile, in its own namespace"
UNLIMITED = (
    "has no qps, which kube-scheduler reads as 50 requests a second; Berth sets no limit: "
    "write spec.scheduler.clientConnection: {qps: 50, burst: 100} to keep that one"
)
_SERVED = "left out: Berth's schedulers serve health and metrics on a port of their own, and the Service names it"
_POLICY = "names a scheduler Policy, which is not in this document: import that Policy as well, or instead"
_UNRESERVE = "left out: a plugin at reserve is asked to unreserve too since v1beta1; enable it at reserve"


def read_document(source: InputPart) -> ProcessDraft | None:
    """Return the process that a KubeSchedulerConfiguration describes.

    None, with the reasons among the problems, if its version is unknown or a v1 document is invalid.
    """
    version = _read_version(source)
    if version is None:
        return None
    process = _read_process(source)
    if version.is_alpha:
        profiles = _read_alpha_profiles(source, version)
    else:
        profiles = [_read_profile(entry) for entry in source.entries("profiles")] or [ProfileDraft(path=source.path)]
    names = [draft.name for draft in profiles]
    for index, draft in enumerate(profiles):
        if len(profiles) > 1 and not draft.name:
            source.notes.refuse(draft.path_of("schedulerName"), "is required, because there are several profiles")
        elif draft.name in names[:index]:
            message = f"{draft.name!r} is the name of profiles[{names.index(draft.name)}] too; give each its own"
            source.notes.refuse(draft.path_of("schedulerName"), message)
    percentage = source.integer("percentageOfNodesToScore")
    if percentage and all(draft.percentage_of_nodes_to_score is not None for draft in profiles):
        source.remark("percentageOfNodesToScore", "left out, because every profile says its own")
    for draft in profiles:
        if draft.percentage_of_nodes_to_score is None:
            draft.percentage_of_nodes_to_score = percentage or None
        translate_to_v1(draft, version, source.notes)
    process.profiles = profiles
    for part, key in source.unread():
        # A lenient version too is refused a schedulerName that is misspelt: without it the profile is another
        # scheduler, and the pods of the right one would wait for ever.
        if version.is_strict or nearest(key.lower(), ["schedulername"], alike=0.8):
            part.refuse_unknown(key)
        else:
            part.remark(key, f"left out: {version.name} has no such field")
    return process


def _read_version(source: InputPart) -> ApiVersion | None:
    """Return the version of the document; None if there is no such version, or it is v1 and the document is invalid."""
    api_version = source.text("apiVersion") or ""
    source.take("kind")
    group, _, name = api_version.rpartition("/")
    # Before Kubernetes 1.12 v1alpha1 was in the group componentconfig.
    version = VERSIONS.get(name) if group in (GROUP, "componentconfig") else None
    if version is None:
        message = f"{api_version!r} is not a version of {KIND}; the versions are {GROUP}/ {', '.join(VERSIONS)}"
        source.refuse("apiVersion", message)
    elif version.is_old:
        message = f"{version.name} is the format of Kubernetes {version.read_by}; v1 took its place; {version.changes}"
        source.remark("apiVersion", message)
    else:
        # The runtime's own reader knows v1 best. Only the kind of lock is kept from it: earlier releases had more
        # kinds than it accepts, and Berth has a Lease of its own in any case.
        document = dict(source.value)
        if isinstance(election := document.get("leaderElection"), dict):
            document["leaderElection"] = {key: value for key, value in election.items() if key != "resourceLock"}
        match config.parse_document(document):
            case config.Problems() as problems:
                source.notes.problems.extend(problem.below(source.path) for problem in problems)
                return None
    return version


def _read_process(source: InputPart) -> ProcessDraft:
    """Return a process without profiles from the fields beside ``profiles``."""
    process = ProcessDraft()
    for field in ("parallelism", "podInitialBackoffSeconds", "podMaxBackoffSeconds"):
        process.scheduler[field] = source.integer(field)

    election = source.mapping("leaderElection")
    for field in ("leaseDuration", "renewDeadline", "retryPeriod"):
        process.set_leader_election(field, election.duration(field))
    for field in ("resourceName", "resourceNamespace", "resourceLock", "lockObjectName", "lockObjectNamespace"):
        if election.text(field) not in (None, "leases"):
            election.remark(field, OWN_LEASE)
    if election.boolean("leaderElect") is False:
        process.election_off = ElectionOff(election.path_of("leaderElect"))

    connection = source.mapping("clientConnection")
    qps = connection.number("qps")
    process.set_connection("qps", qps)
    process.set_connection("burst", connection.integer("burst") or None)
    if qps is None:
        source.notes.remark(connection.path, UNLIMITED)
    for field in ("contentType", "acceptContentTypes"):
        process.override(f"/clientConnection/{field}", connection.text(field))
    if connection.text("kubeconfig"):
        connection.remark("kubeconfig", OWN_CREDENTIALS)

    profiling, contention = source.boolean("enableProfiling"), source.boolean("enableContentionProfiling")
    process.override("/enableProfiling", profiling)
    # Contention profiling is on by default exactly if profiling is (apis/config/v1/defaults.go).
    if contention is not (profiling is not False):
        process.override("/enableContentionProfiling", contention)
    process.override("/delayCacheUntilActive", source.boolean("delayCacheUntilActive"))

    process.extenders_path = source.path_of("extenders")
    process.extenders = [read_extender(entry) for entry in source.entries("extenders")]
    for field in ("healthzBindAddress", "metricsBindAddress"):
        source.remark(field, _SERVED)
    return process


def _read_profile(source: InputPart) -> ProfileDraft:
    """Return the profile at ``source``. Extension points that v1 does not have stay unread."""
    name = source.text("schedulerName")
    draft = ProfileDraft(name, source.path, name_path=source.path_of("schedulerName"), is_in_document=True)
    draft.percentage_of_nodes_to_score = source.integer("percentageOfNodesToScore")
    plugins = source.mapping("plugins")
    for point in POINTS:
        if point in plugins:
            draft.plugins[point] = _read_changes(plugins.mapping(point))
    for entry in source.entries("pluginConfig"):
        plugin = entry.text("name") or ""
        fields = entry.raw_mapping("args")
        if catalog.is_upstream_plugin(plugin) or plugin in catalog.REMOVED_PLUGINS:
            # Arguments of a plugin from elsewhere may have fields of these names that mean something.
            fields = {key: value for key, value in fields.items() if key not in ("apiVersion", "kind")}
        if not plugin:
            entry.refuse("name", "is required")
        elif plugin in draft.args:
            entry.refuse("name", f"{plugin!r} is configured at {draft.args[plugin].path} too; write its arguments once")
        else:
            draft.args[plugin] = ArgsDraft(fields, entry.path)
        if not fields:
            entry.notes.remark(entry.path, f"left out, because it gives {plugin} no arguments")
        elif catalog.is_upstream_plugin(plugin) and plugin not in catalog.IN_TREE_ARGS:
            draft.args.pop(plugin, None)
            entry.notes.remark(entry.path, f"left out, because {plugin} takes no arguments and never read them")
    return draft


def _read_changes(source: InputPart) -> PluginChanges:
    """Return the plugins that are enabled and disabled at one point."""
    enabled = [
        PluginDraft(entry.text("name") or "", entry.integer("weight"), entry.path)
        for entry in source.entries("enabled")
    ]
    for entry in source.entries("disabled"):
        entry.remark("weight", "left out, because the weight of a plugin that is disabled means nothing")
    disabled = [PluginDraft(entry.text("name") or "", path=entry.path) for entry in source.entries("disabled")]
    return PluginChanges(enabled, disabled)


def _read_alpha_profiles(source: InputPart, version: ApiVersion) -> list[ProfileDraft]:
    """Return the profiles of v1alpha1, which is one itself, or of v1alpha2, with the switches that became plugins."""
    is_first = version.name == "v1alpha1"
    drafts: list[ProfileDraft] = []
    for part in [source] if is_first else source.entries("profiles"):
        plugins = part.mapping("plugins")
        plugins.remark("unreserve", _UNRESERVE)
        # v1alpha1's postFilter is preScore since; today's postFilter came with v1alpha2. Read before the profile,
        # which would take the one for the other.
        pre_score = _read_changes(plugins.mapping("postFilter")) if is_first else None
        draft = _read_profile(part)
        if is_first:
            draft.percentage_of_nodes_to_score = None  # the caller reads the same field as that of the whole document
        if pre_score and draft.plugins.pop("postFilter", None):
            draft.plugins["preScore"] = pre_score
            plugins.notes.remark(plugins.path_of("postFilter"), "is called preScore since v1alpha2")
        drafts.append(draft)
    drafts = drafts or [ProfileDraft(path=source.path)]
    source.notes.remark(source.path, "the alpha versions promised nothing; check the result with berth expand")
    algorithm = source.mapping("algorithmSource")
    algorithm.remark("policy", _POLICY)
    provider = algorithm.text("provider")
    has_no_preemption = source.boolean("disablePreemption")
    timeout = source.integer("bindTimeoutSeconds")
    weight = source.integer("hardPodAffinitySymmetricWeight")
    for draft in drafts:
        apply_provider(draft, provider, source.notes, algorithm.path_of("provider"))
        if has_no_preemption:
            draft.at("postFilter").disable("DefaultPreemption")
            source.remark("disablePreemption", "became plugins.postFilter.disabled: DefaultPreemption")
        for plugin, field, value, defaults in (
            ("VolumeBinding", "bindTimeoutSeconds", timeout, (None, 0, 600)),
            ("InterPodAffinity", "hardPodAffinityWeight", weight, (None, 1)),
        ):
            if value not in defaults:
                draft.args.setdefault(plugin, ArgsDraft({}, "")).fields.setdefault(field, value)
    return drafts
