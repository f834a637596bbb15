"""The API server's Kubernetes version, and whether this build knows how that version schedules."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from scheduler_runtime.catalog import NEWEST_MINOR, OLDEST_MINOR, Version, is_too_new, is_too_old
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff, run_until

logger = logging.getLogger(__name__)


class _VersionInfo(msgspec.Struct, rename="camel"):
    """The part of ``/version`` that is read."""

    git_version: str


async def read_server_version(client: Client, stop: asyncio.Event, backoff: Backoff | None = None) -> Version | None:
    """Request the version until the API server returns a valid one; None if ``stop`` is set before."""
    pauses, trouble = backoff or Backoff(longest=5.0), LogOnce(logger)

    async def keep_reading() -> Version:
        while True:
            try:
                return parse_version(await client.request("GET", "/version"))
            except (NoResponseError, ApiError, ValueError) as error:
                if not isinstance(error, NoResponseError) or error.sent:  # the client logs an absent server
                    trouble.failing(f"the API server's version cannot be read: {client.server}/version: {error}")
                await asyncio.sleep(pauses.next_delay())

    return await run_until(stop, keep_reading())


def parse_version(body: bytes) -> Version:
    """Return the version in the body of a response to ``/version``. Raises ValueError."""
    try:
        text = msgspec.json.decode(body, type=_VersionInfo).git_version
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError("the answer is not that of an API server; check the server in the kubeconfig") from error
    return Version.parse(text)


def explain_refusal(version: Version) -> str:
    """Return why this build refuses to behave like ``version``; empty if it does not."""
    if not is_too_old(version):
        return ""
    return f"Kubernetes {version} is older than this build knows; it knows {OLDEST_MINOR} to {NEWEST_MINOR}"


def explain_fallback(version: Version) -> str:
    """Return how this build behaves for a ``version`` newer than itself; empty if it knows the version."""
    if not is_too_new(version):
        return ""
    return f"Kubernetes {version} is newer than this build knows; it is taken as {NEWEST_MINOR}"
