"""OpenShift's Scheduler, ``config.openshift.io/v1``: three profiles by name."""

from __future__ import annotations

from scheduler_operator.migrate.draft import Args, Entry, Process, ProfileDraft
from scheduler_operator.migrate.parts import Part

API_VERSION = "config.openshift.io/v1"
_PROFILES = ("LowNodeUtilization", "HighNodeUtilization", "NoScoring")
_LEASE_TIMES = {"leaseDuration": "137s", "renewDeadline": "107s", "retryPeriod": "26s"}
_POLICY = (
    "left out: it names a ConfigMap with a Policy, which OpenShift itself no longer reads; import that ConfigMap to "
    "see what it asked for"
)
_EXPLAINED = {
    "mastersSchedulable": "left out: it taints nodes, which is no matter of a scheduler; taint them yourself",
    "defaultNodeSelector": "left out: OpenShift writes it into pods as they are created, before any scheduler sees "
    "them; spec.nodes says which nodes a profile uses",
}


def read_openshift(source: Part) -> Process:
    """The process that OpenShift runs for a Scheduler."""
    source.take("apiVersion")
    source.take("kind")
    spec = source.mapping("spec")
    draft = ProfileDraft(path=spec.path)
    _choose_plugins(spec, draft)
    policy = spec.mapping("policy")
    if policy.text("name"):
        policy.remark("name", _POLICY)
    for field, message in _EXPLAINED.items():
        if spec.take(field):
            spec.remark(field, message)
    _customise(spec.mapping("profileCustomizations"), draft)
    source.notes.remark(
        source.path, "OpenShift's longer lease times are kept; delete leaderElection for the usual ones"
    )
    source.report_unread(lambda _path, key: f"left out: what OpenShift keeps under {key} is not the scheduler's")
    return Process(profiles=[draft], scheduler={"leaderElection": dict(_LEASE_TIMES)})


def _choose_plugins(spec: Part, draft: ProfileDraft) -> None:
    """What OpenShift's operator writes for each of its profiles."""
    chosen, path = spec.text("profile") or _PROFILES[0], spec.at("profile")
    match chosen:
        case "HighNodeUtilization":
            draft.at("score").disable("NodeResourcesBalancedAllocation", path)
            draft.at("score").enabled.append(Entry("NodeResourcesFit", 5, path))
            draft.args["NodeResourcesFit"] = Args({"scoringStrategy": {"type": "MostAllocated"}}, path)
        case "NoScoring":
            draft.at("preScore").disable("*", path)
            draft.at("score").disable("*", path)
    if chosen not in _PROFILES:
        spec.refuse("profile", f"{chosen!r} is not a profile of OpenShift; they are {', '.join(_PROFILES)}")
    spec.remark("profile", f"{chosen} is written out in plugins, as OpenShift's operator writes it")


def _customise(source: Part, draft: ProfileDraft) -> None:
    field = "dynamicResourceAllocation"
    if source.text(field) == "Disabled":
        draft.at("multiPoint").disable("DynamicResources", source.at(field))
        source.remark(field, "became multiPoint.disabled: DynamicResources, which is on by default since")
    else:
        source.remark(field, "left out: DynamicResources is on by default")
