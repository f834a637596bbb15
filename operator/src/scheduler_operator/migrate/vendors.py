"""Read the objects with which cloud vendors configure their schedulers: OpenShift's Scheduler, AKS' configuration."""

from __future__ import annotations

from scheduler_operator.migrate.api_versions import GROUP
from scheduler_operator.migrate.documents import KIND, read_document
from scheduler_operator.migrate.draft import ArgsDraft, PluginDraft, ProcessDraft, ProfileDraft
from scheduler_operator.migrate.input_part import InputPart
from scheduler_operator.migrate.inputs import read_text

OPENSHIFT_API_VERSION = "config.openshift.io/v1"
AKS_GROUP = "aks.azure.com"

_OPENSHIFT_PROFILES = ("LowNodeUtilization", "HighNodeUtilization", "NoScoring")
_OPENSHIFT_LEASE_TIMES = {"leaseDuration": "137s", "renewDeadline": "107s", "retryPeriod": "26s"}
"""The times of openshift/library-go, which tolerate a minute without the API server; upstream's tolerate 10 s."""
_OPENSHIFT_POLICY = (
    "left out: it names a ConfigMap with a Policy, which OpenShift itself no longer reads; import that ConfigMap to "
    "see what it asked for"
)
_OPENSHIFT_EXPLAINED = {
    "mastersSchedulable": "left out: it taints nodes, which is no matter of a scheduler; taint them yourself",
    "defaultNodeSelector": "left out: OpenShift writes it into pods as they are created, before any scheduler sees "
    "them; spec.nodes selects the nodes of a profile",
}


def read_openshift(source: InputPart) -> ProcessDraft:
    """Return the process that OpenShift runs for a Scheduler of ``config.openshift.io/v1``."""
    source.take("apiVersion")
    source.take("kind")
    spec = source.mapping("spec")
    draft = ProfileDraft(path=spec.path)
    # The plugins are those that OpenShift's operator writes for each of its profiles
    # (openshift/cluster-kube-scheduler-operator, bindata/assets/config).
    profile, path = spec.text("profile") or _OPENSHIFT_PROFILES[0], spec.path_of("profile")
    match profile:
        case "HighNodeUtilization":
            draft.at("score").disable("NodeResourcesBalancedAllocation", path)
            draft.at("score").enabled.append(PluginDraft("NodeResourcesFit", 5, path))
            draft.args["NodeResourcesFit"] = ArgsDraft({"scoringStrategy": {"type": "MostAllocated"}}, path)
        case "NoScoring":
            draft.at("preScore").disable("*", path)
            draft.at("score").disable("*", path)
    if profile not in _OPENSHIFT_PROFILES:
        names = ", ".join(_OPENSHIFT_PROFILES)
        spec.refuse("profile", f"{profile!r} is not a profile of OpenShift; they are {names}")
    spec.remark("profile", f"{profile} is written out in plugins, as OpenShift's operator writes it")
    policy = spec.mapping("policy")
    if policy.text("name"):
        policy.remark("name", _OPENSHIFT_POLICY)
    for field, message in _OPENSHIFT_EXPLAINED.items():
        if spec.take(field):
            spec.remark(field, message)
    customizations, field = spec.mapping("profileCustomizations"), "dynamicResourceAllocation"
    if customizations.text(field) == "Disabled":
        draft.at("multiPoint").disable("DynamicResources", customizations.path_of(field))
        customizations.remark(field, "became multiPoint.disabled: DynamicResources, which is on by default since")
    else:
        customizations.remark(field, "left out: DynamicResources is on by default")
    source.notes.remark(
        source.path, "OpenShift's longer lease times are kept; delete leaderElection for the usual ones"
    )
    source.remark_unread(lambda _path, key: f"left out: what OpenShift keeps under {key} is not the scheduler's")
    return ProcessDraft(profiles=[draft], scheduler={"leaderElection": dict(_OPENSHIFT_LEASE_TIMES)})


def read_aks(source: InputPart) -> ProcessDraft | None:
    """Return the process that a SchedulerConfiguration of ``aks.azure.com`` describes, None if it is invalid.

    It has a document in a string, or profiles of its own.
    """
    source.take("apiVersion")
    source.take("kind")
    spec = source.mapping("spec")
    text = spec.text("rawConfig")
    document: InputPart | None
    if text is not None:
        document = read_text(text, spec.path_of("rawConfig"), spec.notes, spec.allowed)
    elif "profiles" in spec:
        value = {"apiVersion": f"{GROUP}/v1", "kind": KIND, "profiles": spec.take("profiles")}
        document = InputPart(value, spec.notes, spec.path, spec.allowed)
    else:
        spec.refuse("rawConfig", f"is required: it holds a {KIND}")
        return None
    source.remark_unread(
        lambda _path, key: f"left out: {key} is AKS' own; a profile's name is what pods write as spec.schedulerName"
    )
    if document is None or (process := read_document(document)) is None:
        return None
    process.allowed |= document.allowed
    return process
