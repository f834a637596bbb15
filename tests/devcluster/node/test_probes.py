"""Probes and hooks: when enough is enough, and what the actions find."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from devcluster.node.probes import Streak, Target, act, probe
from tests.devcluster.node.scripted import served


@pytest.mark.parametrize(
    ("results", "verdicts"),
    [
        ("..", ["bad?", "bad?"]),
        ("...", ["bad?", "bad?", False]),
        ("....", ["bad?", "bad?", False, False]),
        ("+", ["good?"]),
        ("++", ["good?", True]),
        ("..+...", ["bad?", "bad?", "good?", "bad?", "bad?", False]),
    ],
)
def test_a_verdict_needs_enough_equal_results_in_a_row(results: str, verdicts: list[bool | str]) -> None:
    streak = Streak(success_threshold=2, failure_threshold=3)
    actual = [streak.verdict(succeeded=result == "+") for result in results]
    assert actual == [None if isinstance(verdict, str) else verdict for verdict in verdicts]


async def no_command(command: list[str]) -> int:
    raise AssertionError(f"{command} was not to be run")


async def answer(request: web.Request) -> web.StreamResponse:
    """200 to a custom header, else what the path says."""
    if request.path == "/late":
        await asyncio.sleep(0.5)
    statuses = {"/moved": 302, "/broken": 500, "/asked": 200 if request.headers.get("Asked") == "yes" else 400}
    return web.Response(status=statuses.get(request.path, 200))


@contextlib.asynccontextmanager
async def target() -> AsyncIterator[Target]:
    """A container that answers on its port ``http``."""
    async with served(answer, "127.9.9.9") as server:
        port = int(server.rpartition(":")[2])
        yield Target({"ports": [{"name": "http", "containerPort": port}]}, "127.9.9.9", no_command)


@pytest.mark.parametrize(
    ("action", "failure"),
    [
        ({"httpGet": {"port": "http", "path": "/"}}, ""),
        ({"httpGet": {"port": "http", "path": "/moved"}}, ""),
        ({"httpGet": {"port": "http", "path": "/asked", "httpHeaders": [{"name": "Asked", "value": "yes"}]}}, ""),
        ({"httpGet": {"port": "http", "path": "/broken"}}, "answered 500"),
        ({"httpGet": {"port": "http", "host": "127.9.9.8"}}, "Cannot connect to host 127.9.9.8"),
        ({"httpGet": {"port": "metrics"}}, "the container has no port called metrics"),
        ({"tcpSocket": {"port": "http"}}, ""),
        ({"tcpSocket": {"port": "http", "host": "127.9.9.8"}}, "Connect call failed"),
        ({"sleep": {"seconds": 0}}, ""),
    ],
)
def test_an_action_says_what_was_wrong(action: dict[str, Any], failure: str) -> None:
    async def run_action() -> str:
        async with target() as container:
            return await act(action, container)

    result = asyncio.run(run_action())
    assert failure in result
    assert bool(failure) == bool(result)


def test_a_probe_that_gets_no_answer_in_time_has_failed() -> None:
    async def first_attempt() -> tuple[str, bool | None]:
        specification = {"httpGet": {"port": "http", "path": "/late"}, "timeoutSeconds": 0.1, "failureThreshold": 1}
        async with target() as container:
            async for attempt in probe(specification, container, asyncio.get_running_loop().time()):
                return attempt.failure, attempt.verdict
        raise AssertionError("a probe does not end")

    assert asyncio.run(first_attempt()) == ("no answer within 0.1 s", False)


def test_the_delay_of_a_probe_counts_from_the_start_of_the_container() -> None:
    async def verdict() -> bool | None:
        specification = {"httpGet": {"port": "http", "path": "/"}, "initialDelaySeconds": 1000}
        async with target() as container:
            async for attempt in probe(specification, container, asyncio.get_running_loop().time() - 1000):
                return attempt.verdict
        raise AssertionError("a probe does not end")

    assert asyncio.run(verdict()) is True
