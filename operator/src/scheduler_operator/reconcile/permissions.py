"""Check of what the installation permits a profile's plugins. Pure.

An administrator grants rules by a labelled ClusterRole, to one plugin and only together with its code: annotations
name the image that has it, or the SHA-256 of its source. Another plugin of that name, in another image, gets nothing.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from scheduler_operator.desired.rbac import PolicyRule, in_tree_rules, uncovered_rules
from scheduler_operator.desired.workload import Release, image
from scheduler_operator.render import ObjectProblems, Rendered
from scheduler_operator.resources.names import (
    GRANT_LABEL,
    GRANTED_IMAGE,
    GRANTED_PLUGIN,
    GRANTED_SHA256,
    Object,
)
from scheduler_runtime.config import Problem


def permission_problems(rendered: Rendered, roles: Sequence[Object], release: Release) -> ObjectProblems | None:
    """Return the problem of plugins that the installation does not permit; None when it permits all of them.

    ``roles`` are the ClusterRoles with the label. What every profile can have by in-tree plugins needs no grant; the
    operator's own powers, over roles and Deployments, are not among it.
    """
    if problems := tuple(_grant_problems(rendered, roles, release)):
        return ObjectProblems("PermissionMissing", problems)
    if release.allows_sources or rendered.engine != "Python" or not rendered.sources:
        return None
    config_maps = ", ".join(sorted({source.name for source in rendered.sources.values()}))
    message = (
        f"the code in ConfigMap {config_maps} is not run; have the chart installed with "
        "pluginSources.enabled=true, or put the plugin into the scheduler's image"
    )
    return ObjectProblems("NotLoaded", (Problem("spec.plugins", message),))


def _grant_problems(rendered: Rendered, roles: Sequence[Object], release: Release) -> Iterator[Problem]:
    """Yield the problem of each plugin that declares more than it is granted, or runs beside one that may do more."""
    own_image = image(rendered, release)
    privileged: list[str] = []
    for plugin, declared in rendered.declared_by.items():
        if not uncovered_rules(declared, in_tree_rules()):
            continue
        privileged.append(plugin)
        ties = _ties(plugin, rendered, own_image, release)
        granted = _rules(role for role in roles if _is_tied(role, ties, own_image))
        if missing := uncovered_rules(declared, [*in_tree_rules(), *granted]):
            others = [role["metadata"]["name"] for role in roles if not uncovered_rules(declared, _rules([role]))]
            yield Problem("", _missing(plugin, missing, ties, others))
    # Whatever runs in a process has all rights of the process: code that nobody granted anything stays outside.
    for plugin in rendered.sources if privileged else ():
        ties = _ties(plugin, rendered, own_image, release)
        if not any(_is_tied(role, ties, own_image) for role in roles):
            message = (
                f"the code of {plugin} would have the rights that are granted to {', '.join(privileged)} alone; enable "
                f"{plugin} in another profile, or have a ClusterRole name it, if only with no rules: {_marks(ties)}"
            )
            yield Problem("spec.plugins", message)


def _ties(plugin: str, rendered: Rendered, own_image: str, release: Release) -> dict[str, str]:
    """Return the annotations by which a ClusterRole names the plugin and its code."""
    source = rendered.sources.get(plugin)
    in_config_map = {GRANTED_SHA256: source.sha256} if source else {}
    # A source is known by its hash; but what runs it is the image, so that is named where it is not the release's.
    in_image = {} if source and own_image == release.scheduler_image else {GRANTED_IMAGE: own_image}
    return {GRANTED_PLUGIN: plugin, **in_config_map, **in_image}


def _is_tied(role: Object, ties: Mapping[str, str], own_image: str) -> bool:
    annotations = role["metadata"].get("annotations") or {}
    named = {key: annotations[key] for key in (GRANTED_PLUGIN, GRANTED_SHA256, GRANTED_IMAGE) if key in annotations}
    return named in (ties, {**ties, GRANTED_IMAGE: own_image})


def _missing(plugin: str, missing: Iterable[PolicyRule], ties: Mapping[str, str], others: Sequence[str]) -> str:
    # The format is that of the API server's own refusals (CompactString in pkg/apis/rbac/v1/evaluation_helpers.go).
    fields = {"APIGroups": "apiGroups", "Resources": "resources", "ResourceNames": "resourceNames", "Verbs": "verbs"}
    texts = [
        ", ".join(f"{name}:{json.dumps(rule[field])}" for name, field in fields.items() if field in rule)
        for rule in missing
    ]
    listing = " ".join(f"{{{text}}}" for text in texts)
    untied = f" (ClusterRole {', '.join(others)} has them, without these annotations)" if others else ""
    return (
        f"{plugin} declares rights that nobody has granted to it: {listing}; grant them by a ClusterRole with "
        f"{_marks(ties)}{untied}, or disable the plugin"
    )


def _marks(ties: Mapping[str, str]) -> str:
    annotations = " and ".join(f"{key}: {value}" for key, value in ties.items())
    return f'the label {GRANT_LABEL}: "true" and the annotations {annotations}'


def _rules(roles: Iterable[Object]) -> list[PolicyRule]:
    return [rule for role in roles for rule in role.get("rules") or ()]
