"""Responses of the endpoints, and refusals as the ``Status`` objects that every Kubernetes client reads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

TEXT = "text/plain; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class EndpointResponse:
    """Status, content type and body, and the value of the header ``Warning`` if there is one."""

    status: int
    content_type: str
    body: str
    warning: str = ""


def unauthorized() -> EndpointResponse:
    """401: the caller could not be identified."""
    return _status(401, "Unauthorized", "Unauthorized")


def forbidden(user: str, verb: str, path: str, reason: str) -> EndpointResponse:
    """403: the caller is identified, but may not do this. Worded like the API server's."""
    message = f'forbidden: User "{user}" cannot {verb} path "{path}"'
    return _status(403, "Forbidden", f"{message}: {reason}" if reason else message)


def not_acceptable(media_types: Iterable[str]) -> EndpointResponse:
    """406: the page does not exist in any of the media types that the caller accepts."""
    return _status(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(media_types)}")


def internal_error(message: str) -> EndpointResponse:
    """500: making the page, or reviewing the caller, failed."""
    return _status(500, "InternalError", f"Internal error occurred: {message}")


def _status(code: int, reason: str, message: str) -> EndpointResponse:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return EndpointResponse(code, JSON, json.dumps(status) + "\n")
