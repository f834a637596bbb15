"""Refusals in the shape that every client of Kubernetes reads."""

from __future__ import annotations

import json
from collections.abc import Iterable

from scheduler_runtime.serving.https.routes import JSON, Answer


def unauthorized() -> Answer:
    """Who asks is not known."""
    return _status(401, "Unauthorized", "Unauthorized")


def forbidden(user: str, verb: str, path: str, reason: str) -> Answer:
    """Who asks is known, and may not."""
    message = f'forbidden: User "{user}" cannot {verb} path "{path}"'
    return _status(403, "Forbidden", f"{message}: {reason}" if reason else message)


def not_acceptable(media_types: Iterable[str]) -> Answer:
    """It does not come in any of the forms that were asked for."""
    return _status(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(media_types)}")


def internal_error(message: str) -> Answer:
    """It cannot be found out now."""
    return _status(500, "InternalError", f"Internal error occurred: {message}")


def _status(code: int, reason: str, message: str) -> Answer:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return Answer(code, JSON, json.dumps(status) + "\n")
