"""Assembly of a process's document from the drafts of its profiles, and the conflicts that prevent it.

The document is in upstream's format, with its origins.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scheduler_operator.models.scheduler_profile import Engine
from scheduler_operator.render.drafts import Draft
from scheduler_operator.render.origins import Fields, Items, Origin, with_origins
from scheduler_operator.resources.names import generated_name
from scheduler_runtime.config import API_VERSION, EffectiveProfile, Problem

_OWN = "berth's own"
BERTHS_DEFAULT = "berth's default"
"""The label of a value that Berth sets because the profile does not."""
_PROCESS_FIELDS = ("parallelism", "podInitialBackoffSeconds", "podMaxBackoffSeconds")


def assemble(drafts: Sequence[Draft], namespace: str) -> tuple[dict[str, Any], Fields]:
    """Return the document of the first draft's process, in which the others run as well, and its origins."""
    owner = drafts[0]
    scheduler = owner.scheduler.model_dump(by_alias=True, exclude_none=True)
    document: dict[str, Any] = {}
    tree = Fields(_origin(owner, "spec.scheduler"))
    _put(document, tree, {"apiVersion": API_VERSION, "kind": "KubeSchedulerConfiguration"}, Origin("", "", owner.name))
    election, election_tree = _with_defaults(owner, "leaderElection", scheduler, {"leaderElect": True})
    # The Lease is one of the generated objects, so that no profile can name that of another.
    lease = {"resourceName": generated_name(owner.name), "resourceNamespace": namespace}
    _put(election, election_tree, lease, Origin(_OWN, "spec.scheduler.leaderElection", owner.name))
    document["leaderElection"], tree["leaderElection"] = election, election_tree
    document["clientConnection"], tree["clientConnection"] = _with_defaults(
        owner, "clientConnection", scheduler, {"qps": -1, "burst": 0}
    )
    for field in _PROCESS_FIELDS:
        if field in scheduler:
            _put(document, tree, {field: scheduler[field]}, _origin(owner, f"spec.scheduler.{field}"))
    document["profiles"] = [draft.part for draft in drafts]
    tree["profiles"] = Items(Origin("", "spec", owner.name, is_whole=True), [draft.tree for draft in drafts])
    if extenders := [(draft, extender) for draft in drafts for extender in draft.extenders]:
        document["extenders"] = [extender for _, extender in extenders]
        extender_origins = [
            with_origins(extender, _origin(draft, f"spec.extenders[{index}]"))
            for draft in drafts
            for index, extender in enumerate(draft.extenders)
        ]
        tree["extenders"] = Items(_origin(owner, "spec.extenders"), extender_origins)
    return document, tree


def extender_positions(drafts: Sequence[Draft]) -> dict[str, list[int]]:
    """Return the positions in the document of the extenders of each draft that has any."""
    # kube-scheduler asks every extender for every profile; Berth's own needs to know which are whose.
    positions = itertools.count()
    return {draft.name: [next(positions) for _ in draft.extenders] for draft in drafts if draft.extenders}


def _put(document: dict[str, Any], tree: Fields, fields: Mapping[str, Any], origin: Origin) -> None:
    for field, value in fields.items():
        document[field], tree[field] = value, with_origins(value, origin)


def _with_defaults(
    owner: Draft, field: str, scheduler: Mapping[str, Any], defaults: Mapping[str, Any]
) -> tuple[dict[str, Any], Fields]:
    """Return a part of ``spec.scheduler``, with Berth's defaults where the profile sets nothing."""
    path = f"spec.scheduler.{field}"
    document: dict[str, Any] = {}
    tree = Fields(_origin(owner, path))
    _put(document, tree, defaults, Origin(BERTHS_DEFAULT, path, owner.name, is_whole=True))
    for name, value in scheduler.get(field, {}).items():
        _put(document, tree, {name: value}, _origin(owner, f"{path}.{name}"))
    return document, tree


def _origin(draft: Draft, path: str) -> Origin:
    return Origin(path, path, draft.name)


def conflicts(
    drafts: Sequence[Draft], expanded: Mapping[str, EffectiveProfile], engine: Engine
) -> Iterator[tuple[str, Problem]]:
    """Yield what keeps later profiles out of the process of the first: the profile to leave out, and the reason."""
    owner = drafts[0]
    for joiner in drafts[1:]:
        if joiner.spec.engine != engine:
            message = f"{joiner.spec.engine} is not the engine of {owner.name}, {engine}"
            message += f", in whose process {joiner.name} runs; write engine: {engine}"
            yield joiner.name, Problem("spec.engine", message)
        # Berth's own scheduler asks only a profile's own extenders; kube-scheduler's belong to the process.
        for one, other in ((owner, joiner), (joiner, owner)) if engine != "Python" else ():
            if one.extenders:
                message = (
                    f"kube-scheduler would ask the extenders of {one.name} about the pods of {other.name} too, "
                    "because they belong to a process; give the profile with extenders a process of its own"
                )
                yield joiner.name, Problem("spec.joins", message)
        own_sort, first_sort = _queue_sort(expanded[joiner.name]), _queue_sort(expanded[owner.name])
        if own_sort != first_sort:
            message = (
                f"{own_sort[0]} sorts the queue of {joiner.name} and {first_sort[0]} that of {owner.name}; the "
                "profiles of a process share one queue and must sort it alike, arguments included"
            )
            yield joiner.name, Problem("spec.plugins.queueSort", message)


def extender_conflicts(drafts: Sequence[Draft], engine: Engine) -> Iterator[tuple[str, Problem]]:
    """Yield conflicts, as ``conflicts`` does, for extenders that cannot be in one document: its rules forbid them.

    These are an extender that binds in two profiles, and a resource that two extenders manage.
    """
    if engine != "Python":
        return
    owner, remedy = drafts[0], "give one of the two a process of its own"
    for joiner in drafts[1:]:
        if all(any(extender.get("bindVerb") for extender in draft.extenders) for draft in (owner, joiner)):
            message = f"{owner.name} and {joiner.name} both have an extender that binds; {remedy}"
            yield joiner.name, Problem("spec.joins", message)
        for resource in sorted(_managed_resources(owner) & _managed_resources(joiner)):
            message = f"extenders of both {owner.name} and {joiner.name} manage {resource}; {remedy}"
            yield joiner.name, Problem("spec.joins", message)


def _managed_resources(draft: Draft) -> set[str]:
    return {resource["name"] for extender in draft.extenders for resource in extender.get("managedResources", ())}


def _queue_sort(effective: EffectiveProfile) -> tuple[str, Any]:
    name = effective.points["queueSort"][0].name
    return name, effective.args.get(name)
