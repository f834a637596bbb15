"""Which Kubernetes the API server is, and whether this build knows how that one schedules."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from scheduler_runtime.catalog import NEWEST_MINOR, OLDEST_MINOR, Version, is_too_new, is_too_old
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff, run_until

logger = logging.getLogger(__name__)


class _Answer(msgspec.Struct, rename="camel"):
    """What is read of ``/version``."""

    git_version: str


async def server_version(client: Client, stop: asyncio.Event, backoff: Backoff | None = None) -> Version | None:
    """Ask the API server until it says its version, None when stopped meanwhile."""
    return await run_until(stop, _asked(client, backoff or Backoff(longest=5.0)))


async def _asked(client: Client, backoff: Backoff) -> Version:
    trouble = LogOnce(logger)
    while True:
        try:
            return _parse(await client.request("GET", "/version"))
        except (NoResponseError, ApiError, ValueError) as error:
            if not isinstance(error, NoResponseError) or error.sent:  # an absent server is said by the client
                trouble.failing(f"the API server's version cannot be read: {client.server}/version: {error}")
            await asyncio.sleep(backoff.next_delay())


def refusal(version: Version) -> str:
    """Say why ``version`` cannot be followed; empty when it can."""
    if not is_too_old(version):
        return ""
    return f"Kubernetes {version} is older than this build knows; it knows {OLDEST_MINOR} to {NEWEST_MINOR}"


def remark(version: Version) -> str:
    """Say how ``version`` is followed when it is newer than this build; empty when it is known."""
    if not is_too_new(version):
        return ""
    return f"Kubernetes {version} is newer than this build knows; it is taken as {NEWEST_MINOR}"


def _parse(answer: bytes) -> Version:
    try:
        text = msgspec.json.decode(answer, type=_Answer).git_version
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError("the answer is not that of an API server; check the server in the kubeconfig") from error
    return Version.parse(text)
