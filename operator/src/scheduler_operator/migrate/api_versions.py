"""The versions of KubeSchedulerConfiguration, and translation of the defaults that older ones had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from scheduler_operator.migrate.draft import ArgsDraft, PluginDraft, ProfileDraft
from scheduler_operator.migrate.input_part import ImportNotes
from scheduler_operator.migrate.removed_plugins import replace_removed_plugins

GROUP = "kubescheduler.config.k8s.io"


@dataclass(frozen=True, slots=True)
class ApiVersion:
    """One version of the document."""

    name: str
    read_by: str
    """The Kubernetes versions whose kube-scheduler reads it."""
    changes: str = ""
    """The differences from today, as a sentence."""
    scores_least_allocated: bool = False
    """True if NodeResourcesLeastAllocated was a plugin, and a default."""
    has_old_weights: bool = False
    """True if TaintToleration, NodeAffinity and InterPodAffinity weighed 1 by default."""
    lists_own_spreading: bool = False
    """True if defaultConstraints alone made PodTopologySpread's defaultingType List."""
    is_alpha: bool = False
    is_strict: bool = True
    """True if kube-scheduler refuses fields that the version does not have."""

    @property
    def reads_multi_point(self) -> bool:
        """True if multiPoint counts: v1beta2 has the field and ignores it. v1beta3 brought it, with the new weights."""
        return not self.has_old_weights

    @property
    def is_old(self) -> bool:
        """True if another version took its place."""
        return bool(self.changes)


_SINCE = "SchedulingGates, DynamicResources and NodeDeclaredFeatures were added and run by default"
_BETA1 = (
    f"{_SINCE}; NodeResourcesFit scores instead of NodeResourcesLeastAllocated; "
    "NodePreferAvoidPods and the volume limits of single clouds are gone"
)

VERSIONS: Mapping[str, ApiVersion] = MappingProxyType(
    {
        version.name: version
        for version in (
            ApiVersion("v1", "1.25 and later"),
            ApiVersion("v1beta3", "1.23 to 1.28", f"{_SINCE}; the volume limits of single clouds are gone"),
            ApiVersion(
                "v1beta2",
                "1.22 to 1.27",
                f"{_SINCE}; the volume limits of single clouds are gone",
                has_old_weights=True,
            ),
            ApiVersion("v1beta1", "1.19 to 1.22", _BETA1, True, True, lists_own_spreading=True),
            ApiVersion("v1alpha2", "1.18", _BETA1, True, True, lists_own_spreading=True, is_alpha=True),
            # kube-scheduler decoded v1alpha1 leniently after strict decoding came: older files had passed with
            # unknown fields (cmd/kube-scheduler/app/options/configfile.go).
            ApiVersion(
                "v1alpha1", "1.12 to 1.17", _BETA1, True, True, lists_own_spreading=True, is_alpha=True, is_strict=False
            ),
        )
    }
)
"""By name, the newest first."""

_OLD_WEIGHTS: Mapping[str, int] = MappingProxyType({"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1})
"""The default weights up to v1beta2 of the plugins that weigh more since v1beta3 (3, 2 and 2)."""

_NEW_PLUGINS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "DynamicResources": ("preFilter", "filter", "reserve", "preBind"),
        "NodeDeclaredFeatures": ("preFilter", "filter"),
    }
)
"""Default plugins that no version before v1 had, and the points at which each must be on together."""


def translate_to_v1(draft: ProfileDraft, version: ApiVersion, notes: ImportNotes) -> None:
    """Write out what v1 no longer takes for granted, and replace what v1 does not have."""
    if draft.plugins.get("multiPoint") and not version.reads_multi_point:
        del draft.plugins["multiPoint"]
        message = f"left out, because it changed nothing: kube-scheduler reads it since v1beta3, not in {version.name}"
        notes.remark(draft.path_of("plugins.multiPoint"), message)
    replace_removed_plugins(draft, notes, scores_least_allocated=version.scores_least_allocated)
    if version.is_old:
        enable_new_plugins_wholly(draft, notes)
        weigh_balanced_resources_alike(draft, notes)
    if version.has_old_weights:
        # After the removed plugins: an old configuration may have named their successors with weights of their own.
        keep_old_weights(draft, notes, draft.path_of("plugins.score"))
    if version.lists_own_spreading:
        spread = draft.args.get("PodTopologySpread")
        if spread and spread.fields.get("defaultConstraints") and "defaultingType" not in spread.fields:
            # SetDefaults_PodTopologySpreadArgs of apis/config/v1beta1/defaults.go; v1 refuses constraints without it.
            spread.fields["defaultingType"] = "List"
            message = "defaultingType: List is written out, which v1 no longer infers from defaultConstraints"
            notes.remark(spread.path, message)


def keep_old_weights(draft: ProfileDraft, notes: ImportNotes, path: str) -> None:
    """Write out the default weights of v1beta2 and before, which have grown since, with a remark at ``path``."""
    score, everywhere = draft.at("score"), draft.at("multiPoint")
    # A plugin that the input names itself has the weight that the input gives it; one that is off needs none.
    entries = [
        PluginDraft(name, weight, path)
        for name, weight in _OLD_WEIGHTS.items()
        if not (score.disables(name) or score.enables(name) or everywhere.disables(name) or everywhere.enables(name))
    ]
    if entries:
        score.enabled.extend(entries)
        names = ", ".join(entry.name for entry in entries)
        notes.remark(
            path,
            "up to v1beta2 TaintToleration, NodeAffinity and InterPodAffinity weighed 1 by default; since then they "
            f"weigh 3, 2 and 2; the old weights of {names} are kept: delete these entries to take today's",
        )


def weigh_balanced_resources_alike(draft: ProfileDraft, notes: ImportNotes) -> None:
    """Set the weights of NodeResourcesBalancedAllocation's resources to 1, the only value that v1 accepts.

    The plugin never used them: it takes the standard deviation over the resources. v1 refuses other weights
    (pkg/scheduler/apis/config/validation/validation_pluginargs.go).
    """
    args = draft.args.get("NodeResourcesBalancedAllocation")
    resources = args.fields.get("resources") if args else None
    if args is None or not isinstance(resources, list):
        return
    heavy = [item for item in resources if isinstance(item, dict) and item.get("weight") not in (None, 1)]
    if heavy:
        args.fields["resources"] = [{**item, "weight": 1} if item in heavy else item for item in resources]
        names = ", ".join(str(item.get("name")) for item in heavy)
        message = f"the weight of {names} became 1, because the plugin weighs all resources alike and v1 insists on it"
        notes.remark(args.path, message)


def enable_new_plugins_wholly(draft: ProfileDraft, notes: ImportNotes) -> None:
    """Turn plugins on at all of their points that a ``*`` of the input turns off at some.

    The ``*`` meant the plugins of its time, and not those that came since or work at more points since: such a plugin
    would be half on, which none of them survives.
    """
    everywhere = draft.at("multiPoint")
    for name, points in _NEW_PLUGINS.items():
        is_named = any(
            entry.name == name for changes in draft.plugins.values() for entry in (*changes.enabled, *changes.disabled)
        )
        if is_named or everywhere.disables(name):
            continue  # the input itself decides about the plugin, by name or for all points at once
        message = f"{name}, which was added later, is enabled here too: it works with all of its points only"
        for point in points:
            if draft.at(point).enable_again(PluginDraft(name)):
                notes.remark(draft.path_of(f"plugins.{point}"), message)
    # VolumeRestrictions has a preFilter since Kubernetes 1.22 (ReadWriteOncePod, KEP-2485), and its filter fails
    # without the state that preFilter writes.
    name = "VolumeRestrictions"
    if _is_on(draft, name, "filter") and not _is_on(draft, name, "preFilter"):
        pre_filter = draft.at("preFilter")
        if not pre_filter.enable_again(PluginDraft(name)):
            pre_filter.enabled.append(PluginDraft(name))
        message = f"{name} filters and is enabled here too, because it prepares itself here since Kubernetes 1.22"
        notes.remark(draft.path_of("plugins.preFilter"), message)


def _is_on(draft: ProfileDraft, name: str, point: str) -> bool:
    here, everywhere = draft.at(point), draft.at("multiPoint")
    by_default = everywhere.enables(name) or not everywhere.disables(name)
    return here.enables(name) or (by_default and not here.disables(name))


def apply_provider(draft: ProfileDraft, provider: str | None, notes: ImportNotes, path: str) -> None:
    """Write out the plugins of an algorithm provider, a named set that kube-scheduler had up to 1.22."""
    if provider in (None, "", "DefaultProvider"):
        return
    if provider == "ClusterAutoscalerProvider":
        strategy = {"type": "MostAllocated"}
        draft.args.setdefault("NodeResourcesFit", ArgsDraft({}, path)).fields.setdefault("scoringStrategy", strategy)
        notes.remark(path, f"{provider} is NodeResourcesFit with the scoringStrategy MostAllocated today")
    else:
        notes.remark(path, f"kube-scheduler had no provider {provider!r}; its defaults stand")
