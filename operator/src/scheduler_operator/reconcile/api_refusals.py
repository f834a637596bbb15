"""Refusals of the API server, translated into problems that say what to change. Pure."""

import re
from http import HTTPStatus

from scheduler_operator.cluster.api import RequestError
from scheduler_operator.render import ObjectProblems
from scheduler_operator.resources.names import GRANT_LABEL
from scheduler_runtime.config import Problem

_ESCALATION = "is attempting to grant RBAC permissions not currently held:"
_NO_RIGHT = re.compile(r'User ".*" cannot ')
_ADMISSION = re.compile(r"ValidatingAdmissionPolicy '.*' denied request|admission webhook \".*\" denied the request")
_GRANT = f'grant them by a ClusterRole labelled {GRANT_LABEL}: "true", or disable the plugin'


def is_escalation(error: RequestError) -> bool:
    """Return whether a role is refused because the operator would grant more than it has."""
    return error.status == HTTPStatus.FORBIDDEN and _ESCALATION in error.message


def refusal_problems(error: RequestError) -> ObjectProblems | None:
    """Return what somebody has to change before the API server accepts; None for an error that may pass by itself."""
    if is_escalation(error):
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


def _permission(message: str) -> ObjectProblems:
    return ObjectProblems("PermissionMissing", (Problem("", message),))
