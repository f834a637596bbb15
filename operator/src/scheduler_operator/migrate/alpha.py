"""KubeSchedulerConfiguration v1alpha1 and v1alpha2: one profile without a list, and switches that became plugins."""

from __future__ import annotations

from scheduler_operator.migrate.api_versions import ApiVersion
from scheduler_operator.migrate.draft import Args, ProfileDraft
from scheduler_operator.migrate.parts import Part
from scheduler_operator.migrate.profiles import read_changes, read_profile
from scheduler_operator.migrate.providers import choose_provider

_POLICY = "names a scheduler Policy, which is not in this document: import that Policy as well, or instead"
_UNRESERVE = "left out: a plugin at reserve is asked to unreserve too since v1beta1; enable it at reserve"


def read_alpha(source: Part, version: ApiVersion) -> list[ProfileDraft]:
    """The profiles, with what the whole document says of each."""
    whole = version.name == "v1alpha1"
    drafts = [_read(source, whole)] if whole else [_read(entry, whole) for entry in source.entries("profiles")]
    drafts = drafts or [ProfileDraft(path=source.path)]
    source.notes.remark(source.path, "the alpha versions promised nothing; compare what came of it with berth expand")
    algorithm = source.mapping("algorithmSource")
    algorithm.remark("policy", _POLICY)
    provider = algorithm.text("provider")
    preemptionless = source.boolean("disablePreemption")
    timeout = source.integer("bindTimeoutSeconds")
    weight = source.integer("hardPodAffinitySymmetricWeight")
    for draft in drafts:
        choose_provider(draft, provider, source.notes, algorithm.at("provider"))
        if preemptionless:
            draft.at("postFilter").disable("DefaultPreemption")
            source.remark("disablePreemption", "became plugins.postFilter.disabled: DefaultPreemption")
        for plugin, field, value, usual in (
            ("VolumeBinding", "bindTimeoutSeconds", timeout, (None, 0, 600)),
            ("InterPodAffinity", "hardPodAffinityWeight", weight, (None, 1)),
        ):
            if value not in usual:
                draft.args.setdefault(plugin, Args({}, "")).fields.setdefault(field, value)
    return drafts


def _read(source: Part, is_first: bool) -> ProfileDraft:
    """A profile; what v1alpha1 called postFilter is preScore since."""
    plugins = source.mapping("plugins")
    plugins.remark("unreserve", _UNRESERVE)
    renamed = read_changes(plugins.mapping("postFilter")) if is_first else None
    draft = read_profile(source)
    if is_first:
        draft.percentage_of_nodes_to_score = None  # the caller reads it, as that of the whole document
    if renamed and draft.plugins.pop("postFilter", None):
        draft.plugins["preScore"] = renamed
        plugins.notes.remark(plugins.at("postFilter"), "is called preScore since v1alpha2")
    return draft
