"""Read the scheduler Policy of Kubernetes 1.0 to 1.22, in which predicates filtered and priorities scored."""

from __future__ import annotations

from scheduler_operator.migrate.api_versions import enable_new_plugins_wholly, keep_old_weights
from scheduler_operator.migrate.draft import ArgsDraft, PluginDraft, ProcessDraft, ProfileDraft
from scheduler_operator.migrate.extenders import read_extender
from scheduler_operator.migrate.input_part import InputPart
from scheduler_operator.migrate.policy_tables import FILTERS, MANDATORY, PREDICATES, PRIORITIES, SCORES
from scheduler_operator.migrate.removed_plugins import STRATEGIES, replace_removed_plugins
from scheduler_runtime import catalog
from scheduler_runtime.catalog import REMOVED_PLUGINS, Version

_API_VERSIONS = ("v1", "kubescheduler.config.k8s.io/v1", "")
_ENTRY_KINDS = {"predicates": "a predicate", "priorities": "a priority", "extenders": "an extender"}
_SERVICE_AFFINITY = "has no counterpart today: give the pods of the service an affinity for one another"
_SERVICE_ANTI_AFFINITY = (
    "has no counterpart today: write the label as topologyKey of a defaultConstraint of PodTopologySpread"
)
_ALWAYS = "left out: a node is asked of no further plugin once one has rejected it, and no plugin can change that"


def is_policy(source: InputPart) -> bool:
    """Return True if this is a Policy; the oldest ones have no kind."""
    kind = source.value.get("kind")
    return kind == "Policy" or (kind is None and ("predicates" in source or "priorities" in source))


def read_policy(source: InputPart) -> ProcessDraft:
    """Return the process that a Policy describes: one profile, with all its extenders."""
    source.take("kind")
    if (version := source.text("apiVersion") or "") not in _API_VERSIONS:
        source.refuse("apiVersion", f"{version!r} is not a version of Policy; the only one is v1")
    source.notes.remark(
        source.path, "scheduler Policies ended with Kubernetes 1.22; check the result with berth expand"
    )
    draft = ProfileDraft(path=source.path)
    _read_predicates(source, draft)
    _read_priorities(source, draft)
    if weight := source.integer("hardPodAffinitySymmetricWeight"):
        path = source.path_of("hardPodAffinitySymmetricWeight")
        draft.args["InterPodAffinity"] = ArgsDraft({"hardPodAffinityWeight": weight}, path)
    replace_removed_plugins(draft, source.notes, scores_least_allocated=True)
    enable_new_plugins_wholly(draft, source.notes)
    if "priorities" not in source:
        keep_old_weights(draft, source.notes, source.path_of("priorities"))
    # A plugin that is off at every point it has is disabled at multiPoint, in one entry. Last of the steps, each of
    # which may turn one on again.
    extends = catalog.defaults(Version.parse(catalog.NEWEST_MINOR)).extends
    for name in {entry.name: None for changes in draft.plugins.values() for entry in changes.disabled}:
        points = [point for point in extends.get(name, ()) if not point.startswith(("placement", "podGroup"))]
        if points and all(any(entry.name == name for entry in draft.at(point).disabled) for point in points):
            for changes in draft.plugins.values():
                changes.disabled = [entry for entry in changes.disabled if entry.name != name]
            draft.at("multiPoint").disable(name)
    if source.boolean("alwaysCheckAllPredicates"):
        source.remark("alwaysCheckAllPredicates", _ALWAYS)
    extenders = [read_extender(entry) for entry in source.entries("extenders")]

    def explain_unread(path: str, key: str) -> str:
        holder = next((kind for field, kind in _ENTRY_KINDS.items() if f"{field}[" in path), "a Policy")
        return f"left out: {holder} has no field {key}"

    source.remark_unread(explain_unread)
    return ProcessDraft(profiles=[draft], extenders=extenders, extenders_path=source.path_of("extenders"))


def _read_predicates(source: InputPart, draft: ProfileDraft) -> None:
    """Disable the filters that no predicate stands for. Without the field the defaults of the time filter."""
    if "predicates" not in source:
        return
    enabled = set(MANDATORY)
    for entry in source.entries("predicates"):
        name, argument = entry.text("name") or "", entry.mapping("argument")
        argument.remark("serviceAffinity", f"{name} {_SERVICE_AFFINITY}")
        labels = argument.mapping("labelsPresence")
        if "labels" in labels:
            field = "presentLabels" if labels.boolean("presence") else "absentLabels"
            _add_node_labels(draft, field, labels.texts("labels"), argument.path_of("labelsPresence"))
            draft.at("filter").enabled.append(PluginDraft("NodeLabel", path=entry.path))
        plugins = PREDICATES.get(name, ())
        enabled.update(plugins)
        if argument.value:
            continue  # a predicate of the author's own, whose name means nothing
        if name not in PREDICATES:
            entry.notes.remark(entry.path, f"kube-scheduler never had a predicate {name!r}; look for a plugin like it")
        for plugin in plugins:
            if plugin in REMOVED_PLUGINS:
                message = f"{name} was given nothing to look for, and is gone: {REMOVED_PLUGINS[plugin]}"
                entry.notes.remark(entry.path, message)
    disabled = [plugin for plugin in FILTERS if plugin not in enabled]
    for plugin in disabled:
        for point in FILTERS[plugin]:
            draft.at(point).disable(plugin)
    _remark_on_plugins(source, "predicates", "filter", sorted(enabled & FILTERS.keys()), disabled)


def _read_priorities(source: InputPart, draft: ProfileDraft) -> None:
    """Enable the plugins that score in the place of the priorities, and disable the other defaults.

    Without the field the defaults of the time score; with an empty list nothing does.
    """
    if "priorities" not in source:
        return
    entries = source.entries("priorities")
    if not entries:
        draft.at("preScore").disable("*")
        draft.at("score").disable("*")
        source.notes.remark(source.path_of("priorities"), "is empty, so that no plugin scores")
        return
    scoring: dict[str, PluginDraft] = {}
    for entry in entries:
        if plugin := _read_priority(entry, draft):
            scoring[plugin.name] = plugin
    if spread := scoring.pop("SelectorSpread", None):
        if "PodTopologySpread" in scoring:
            message = "left out: PodTopologySpread does it, with the weight of EvenPodsSpreadPriority"
        else:
            scoring["PodTopologySpread"] = PluginDraft("PodTopologySpread", spread.weight, spread.path)
            message = "became PodTopologySpread, which spreads the pods of Services and ReplicaSets"
        source.notes.remark(spread.path, message)
    draft.at("score").enabled.extend(scoring.values())
    disabled = [plugin for plugin in SCORES if plugin not in scoring]
    for plugin_name in disabled:
        draft.at("score").disable(plugin_name)
        if plugin_name not in STRATEGIES:  # these had no preScore
            draft.at("preScore").disable(plugin_name)
    enabled = sorted(scoring.keys() & {*SCORES, *STRATEGIES})
    _remark_on_plugins(source, "priorities", "score", enabled, disabled)


def _read_priority(entry: InputPart, draft: ProfileDraft) -> PluginDraft | None:
    """Return the plugin that scores in the place of a priority, None if there is none."""
    name, weight, argument = entry.text("name") or "", entry.integer("weight"), entry.mapping("argument")
    argument.remark("serviceAntiAffinity", f"{name} {_SERVICE_ANTI_AFFINITY}")
    ratio = argument.mapping("requestedToCapacityRatioArguments")
    if ratio.value:
        fields = {"shape": ratio.take("shape"), "resources": ratio.take("resources")}
        draft.args["RequestedToCapacityRatio"] = ArgsDraft(fields, argument.path)
        return PluginDraft("RequestedToCapacityRatio", weight, entry.path)
    label = argument.mapping("labelPreference")
    if "label" in label:
        field = "presentLabelsPreference" if label.boolean("presence") else "absentLabelsPreference"
        labels = [label.text("label") or ""]
        all_labels = _add_node_labels(draft, field, labels, argument.path_of("labelPreference"))
        # n such priorities became one NodeLabel plugin of n times the weight (legacy_registry.go).
        count = sum(len(all_labels.get(key, ())) for key in ("presentLabelsPreference", "absentLabelsPreference"))
        return PluginDraft("NodeLabel", (weight or 1) * count, entry.path)
    if name == "EqualPriority":
        entry.notes.remark(entry.path, "left out: it gave every node the same score, which decides nothing")
    elif name not in PRIORITIES and not argument.value:
        entry.notes.remark(entry.path, f"kube-scheduler never had a priority {name!r}; look for a plugin like it")
    return PluginDraft(PRIORITIES[name], weight, entry.path) if PRIORITIES.get(name) else None


def _add_node_labels(draft: ProfileDraft, field: str, labels: list[str], path: str) -> dict[str, list[str]]:
    """Add labels to the arguments of NodeLabel, and return these."""
    fields = draft.args.setdefault("NodeLabel", ArgsDraft({}, path)).fields
    fields[field] = [*fields.get(field, ()), *labels]
    return fields


def _remark_on_plugins(source: InputPart, key: str, verb: str, enabled: list[str], disabled: list[str]) -> None:
    """Remark on the plugins, by today's names, that filter or score, and on those that no entry stands for."""
    running, missing = (
        list(dict.fromkeys("NodeResourcesFit" if plugin in STRATEGIES else plugin for plugin in plugins))
        for plugins in (enabled, disabled)
    )
    message = f"are plugins that {verb} today: {', '.join(running) or 'none'}"
    if missing := [plugin for plugin in missing if plugin not in running]:
        message += f"; there is no entry for {', '.join(missing)}, so they do not {verb}: "
        message += "remove them from disabled to enable them"
    source.notes.remark(source.path_of(key), message)
