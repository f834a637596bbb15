"""Reading what may be absent, straight from the API server."""

from http.client import RemoteDisconnected
from typing import Any

from devcluster.model.api import AdminApi, RefusedError
from scheduler_operator.resources import kinds

KINDS = {kind.name.lower(): kind for kind in (*kinds.WATCHED, kinds.PROFILE, kinds.PLUGIN_CONFIG)}
"""Every kind that Berth has to do with, as kubectl calls one of it."""


def read(api: AdminApi, path: str) -> dict[str, Any]:
    """What is at ``path``. A server that was started anew since the last request, or is slow, is asked once more."""
    try:
        item: dict[str, Any] = api.get(path)
    except (RemoteDisconnected, TimeoutError):
        item = api.get(path)
    return item


def get_or_none(api: AdminApi, path: str) -> dict[str, Any] | None:
    """The object at ``path``; None when there is none."""
    try:
        return read(api, path)
    except RefusedError as refusal:
        if refusal.status != 404:
            raise
        return None
