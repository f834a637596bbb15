"""The scheduler Policy of Kubernetes 1.0 to 1.22: predicates filtered, priorities scored."""

from __future__ import annotations

from scheduler_operator.migrate.completing import complete
from scheduler_operator.migrate.draft import Args, Entry, Process, ProfileDraft
from scheduler_operator.migrate.extenders import read_extender
from scheduler_operator.migrate.modernise import keep_old_weights, modernise
from scheduler_operator.migrate.parts import Part
from scheduler_operator.migrate.policy_names import FILTERS, MANDATORY, PREDICATES, PRIORITIES, SCORES
from scheduler_operator.migrate.removed_plugins import STRATEGIES
from scheduler_runtime import catalog
from scheduler_runtime.catalog import REMOVED_PLUGINS, Version

_API_VERSIONS = ("v1", "kubescheduler.config.k8s.io/v1", "")
_HOLDERS = {"predicates": "a predicate", "priorities": "a priority", "extenders": "an extender"}
_GONE = "has no counterpart today: give the pods of the service an affinity for one another"
_SPREAD = "has no counterpart today: write the label as topologyKey of a defaultConstraint of PodTopologySpread"
_ALWAYS = "left out: a node is asked of no further plugin once one has rejected it, and no plugin can change that"


def is_policy(source: Part) -> bool:
    """Whether this is a Policy; the oldest ones did not always say so."""
    kind = source.value.get("kind")
    return kind == "Policy" or (kind is None and ("predicates" in source or "priorities" in source))


def read_policy(source: Part) -> Process:
    """The process that a Policy describes: one profile, for which all its extenders are asked."""
    source.take("kind")
    if (version := source.text("apiVersion") or "") not in _API_VERSIONS:
        source.refuse("apiVersion", f"{version!r} is not a version of Policy; the only one is v1")
    source.notes.remark(
        source.path, "scheduler Policies ended with Kubernetes 1.22; compare what came of it with berth expand"
    )
    draft = ProfileDraft(path=source.path)
    _read_predicates(source, draft)
    _read_priorities(source, draft)
    if weight := source.integer("hardPodAffinitySymmetricWeight"):
        path = source.at("hardPodAffinitySymmetricWeight")
        draft.args["InterPodAffinity"] = Args({"hardPodAffinityWeight": weight}, path)
    modernise(draft, source.notes, scores_least_allocated=True)
    complete(draft, source.notes)
    if "priorities" not in source:
        keep_old_weights(draft, source.notes, source.at("priorities"))
    _collapse(draft)
    if source.boolean("alwaysCheckAllPredicates"):
        source.remark("alwaysCheckAllPredicates", _ALWAYS)
    extenders = [read_extender(entry) for entry in source.entries("extenders")]
    source.report_unread(lambda path, key: f"left out: {_holder(path)} has no field {key}")
    return Process(profiles=[draft], extenders=extenders, extenders_path=source.at("extenders"))


def _holder(path: str) -> str:
    """What the field at ``path`` is a field of."""
    return next((name for field, name in _HOLDERS.items() if f"{field}[" in path), "a Policy")


def _read_predicates(source: Part, draft: ProfileDraft) -> None:
    """Without the field the defaults filter; with it, what it names and what is mandatory."""
    if "predicates" not in source:
        return
    meant = {entry.path: _predicate(entry, draft) for entry in source.entries("predicates")}
    chosen = {*MANDATORY, *(plugin for plugins in meant.values() for plugin in plugins)}
    off = [plugin for plugin in FILTERS if plugin not in chosen]
    for plugin in off:
        for point in FILTERS[plugin]:
            draft.at(point).disable(plugin)
    _tell(source, "predicates", "filter", sorted(chosen & FILTERS.keys()), off)


def _predicate(entry: Part, draft: ProfileDraft) -> tuple[str, ...]:
    name, argument = entry.text("name") or "", entry.mapping("argument")
    argument.remark("serviceAffinity", f"{name} {_GONE}")
    labels = argument.mapping("labelsPresence")
    if "labels" in labels:
        field = "presentLabels" if labels.boolean("presence") else "absentLabels"
        _node_label(draft, field, labels.texts("labels"), argument.at("labelsPresence"))
        draft.at("filter").enabled.append(Entry("NodeLabel", path=entry.path))
    plugins = PREDICATES.get(name, ())
    if not argument.value:
        if name not in PREDICATES:
            entry.notes.remark(entry.path, f"kube-scheduler never had a predicate {name!r}; look for a plugin like it")
        for plugin in plugins:
            if plugin in REMOVED_PLUGINS:
                entry.notes.remark(
                    entry.path, f"{name} was given nothing to look for, and is gone: {REMOVED_PLUGINS[plugin]}"
                )
    return plugins


def _read_priorities(source: Part, draft: ProfileDraft) -> None:
    """Without the field the defaults score; with an empty list nothing does."""
    if "priorities" not in source:
        return
    entries = source.entries("priorities")
    if not entries:
        draft.at("preScore").disable("*")
        draft.at("score").disable("*")
        source.notes.remark(source.at("priorities"), "is empty, so that no plugin scores")
        return
    chosen: dict[str, Entry] = {}
    for entry in entries:
        for found in _priority(entry, draft):
            chosen[found.name] = found
    _spread(chosen, source)
    draft.at("score").enabled.extend(chosen.values())
    off = [plugin for plugin in SCORES if plugin not in chosen]
    for plugin in off:
        draft.at("score").disable(plugin)
        if plugin not in STRATEGIES:
            draft.at("preScore").disable(plugin)
    _tell(source, "priorities", "score", sorted(chosen.keys() & {*SCORES, *STRATEGIES}), off)


def _priority(entry: Part, draft: ProfileDraft) -> list[Entry]:
    name, weight, argument = entry.text("name") or "", entry.integer("weight"), entry.mapping("argument")
    argument.remark("serviceAntiAffinity", f"{name} {_SPREAD}")
    ratio = argument.mapping("requestedToCapacityRatioArguments")
    if ratio.value:
        fields = {"shape": ratio.take("shape"), "resources": ratio.take("resources")}
        draft.args["RequestedToCapacityRatio"] = Args(fields, argument.path)
        return [Entry("RequestedToCapacityRatio", weight, entry.path)]
    label = argument.mapping("labelPreference")
    if "label" in label:
        field = "presentLabelsPreference" if label.boolean("presence") else "absentLabelsPreference"
        count = _node_label(draft, field, [label.text("label") or ""], argument.at("labelPreference"))
        return [Entry("NodeLabel", (weight or 1) * count, entry.path)]
    if name == "EqualPriority":
        entry.notes.remark(entry.path, "left out: it gave every node the same score, which decides nothing")
    elif name not in PRIORITIES and not argument.value:
        entry.notes.remark(entry.path, f"kube-scheduler never had a priority {name!r}; look for a plugin like it")
    return [Entry(PRIORITIES[name], weight, entry.path)] if PRIORITIES.get(name) else []


def _node_label(draft: ProfileDraft, field: str, labels: list[str], path: str) -> int:
    """Add to what NodeLabel looks for; how many labels it prefers now."""
    fields = draft.args.setdefault("NodeLabel", Args({}, path)).fields
    fields[field] = [*fields.get(field, ()), *labels]
    return sum(len(fields.get(each, ())) for each in ("presentLabelsPreference", "absentLabelsPreference"))


def _spread(chosen: dict[str, Entry], source: Part) -> None:
    """What SelectorSpread did, PodTopologySpread does."""
    spread = chosen.pop("SelectorSpread", None)
    if spread and "PodTopologySpread" not in chosen:
        chosen["PodTopologySpread"] = Entry("PodTopologySpread", spread.weight, spread.path)
        source.notes.remark(spread.path, "became PodTopologySpread, which spreads the pods of Services and ReplicaSets")
    elif spread:
        source.notes.remark(
            spread.path, "left out: PodTopologySpread does it, with the weight of EvenPodsSpreadPriority"
        )


def _tell(source: Part, key: str, verb: str, on: list[str], off: list[str]) -> None:
    running, missing = _names(on), [name for name in _names(off) if name not in _names(on)]
    message = f"are plugins that {verb} today: {', '.join(running) or 'none'}"
    if missing:
        message += f"; no entry stands for {', '.join(missing)}, so that they do not {verb}: "
        message += "take them out of disabled to have them back"
    source.notes.remark(source.at(key), message)


def _names(plugins: list[str]) -> list[str]:
    """What the plugins are called today, once each."""
    return list(dict.fromkeys("NodeResourcesFit" if name in STRATEGIES else name for name in plugins))


def _collapse(draft: ProfileDraft) -> None:
    """A plugin that is off at every point it has is off altogether."""
    extends = catalog.defaults(Version.parse(catalog.NEWEST_MINOR)).extends
    for name in {entry.name: None for changes in draft.plugins.values() for entry in changes.disabled}:
        points = [point for point in extends.get(name, ()) if not point.startswith(("placement", "podGroup"))]
        if points and all(_disables_by_name(draft, point, name) for point in points):
            for changes in draft.plugins.values():
                changes.disabled = [entry for entry in changes.disabled if entry.name != name]
            draft.at("multiPoint").disable(name)


def _disables_by_name(draft: ProfileDraft, point: str, name: str) -> bool:
    return any(entry.name == name for entry in draft.at(point).disabled)
