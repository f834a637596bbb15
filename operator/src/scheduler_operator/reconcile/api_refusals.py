"""Refusals of the API server, translated into problems that say what to change. Pure."""

import json
import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus

from scheduler_operator.cluster.api import RequestError
from scheduler_operator.desired.rbac import PolicyRule, uncovered_rules
from scheduler_operator.render import ObjectProblems, Rendered
from scheduler_runtime.config import Problem

_ESCALATION = "is attempting to grant RBAC permissions not currently held:"
_NO_RIGHT = re.compile(r'User ".*" cannot ')
_ADMISSION = re.compile(r"ValidatingAdmissionPolicy '.*' denied request|admission webhook \".*\" denied the request")
_GRANT = 'grant them by a ClusterRole labelled berth.dev/aggregate-to-operator: "true", or disable the plugin'


def refusal_problems(error: RequestError) -> ObjectProblems | None:
    """Return what somebody has to change before the API server accepts; None for an error that may pass by itself."""
    if error.status == HTTPStatus.FORBIDDEN and _ESCALATION in error.message:
        rules = error.message.partition(_ESCALATION)[2].split(";")[0].split()
        return _permission(
            f"the plugins of this profile need rights that the operator does not have: {' '.join(rules)}; {_GRANT}"
        )
    # Admission is a policy, webhook or quota: it refuses what RBAC allows, with 403 or with a status of its own.
    is_forbidden = error.status == HTTPStatus.FORBIDDEN
    is_invalid = error.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
    if (is_forbidden and not _NO_RIGHT.search(error.message)) or (is_invalid and _ADMISSION.search(error.message)):
        return _permission(
            f"the cluster's admission control refuses {error.target}: {error.message}; "
            "change the policy, webhook or quota that it names, or what the profile asks for"
        )
    if is_forbidden:
        return _permission(f"the operator lacks a right of its own, install its chart again: {error.message}")
    if is_invalid:
        message = f"the API server refuses what follows from this profile: {error.message}"
        return ObjectProblems("Invalid", (Problem("spec.scheduler", message),))
    return None


def permission_problems(
    rendered: Rendered, granted: Sequence[PolicyRule], allows_sources: bool
) -> ObjectProblems | None:
    """Return the problem of plugins that the installation does not permit; None when it permits all of them.

    ``granted`` are the rules that the operator may pass on: its own powers, over roles and Deployments, are not among
    them. ``allows_sources`` is True if schedulers may run plugin code from ConfigMaps.
    """
    plugins = [name for name, rules in rendered.declared_by.items() if uncovered_rules(rules, granted)]
    if plugins:
        return ungranted_problems(uncovered_rules(rendered.declared, granted), plugins)
    if allows_sources or rendered.engine != "Python" or not rendered.sources:
        return None
    config_maps = ", ".join(sorted({source.name for source in rendered.sources}))
    message = (
        f"the code in ConfigMap {config_maps} is not run; have the chart installed with "
        "pluginSources.enabled=true, or put the plugin into the scheduler's image"
    )
    return ObjectProblems("NotLoaded", (Problem("spec.plugins", message),))


def ungranted_problems(rules: Sequence[PolicyRule], plugins: Iterable[str]) -> ObjectProblems:
    """Return the problem of ``plugins`` that declare rules which no ClusterRole lets the operator pass on."""
    # The format is that of the API server's own refusals (CompactString in pkg/apis/rbac/v1/evaluation_helpers.go).
    fields = {"APIGroups": "apiGroups", "Resources": "resources", "ResourceNames": "resourceNames", "Verbs": "verbs"}
    texts = [
        ", ".join(f"{name}:{json.dumps(rule[field])}" for name, field in fields.items() if field in rule)
        for rule in rules
    ]
    names, listing = ", ".join(sorted(plugins)), " ".join(f"{{{text}}}" for text in texts)
    needs = f"what PluginConfigs declare of {names} needs rights that nobody has granted to plugins"
    return _permission(f"{needs}: {listing}; {_GRANT}")


def _permission(message: str) -> ObjectProblems:
    return ObjectProblems("PermissionMissing", (Problem("", message),))
