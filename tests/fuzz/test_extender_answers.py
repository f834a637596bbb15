"""Odd answers of an extender, over HTTP: each has a meaning or ends in an ExtenderError of one short sentence."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import pytest
from msgspec import Raw

from scheduler_runtime import testing
from scheduler_runtime.api import Pod, Reject, Victims
from scheduler_runtime.config import ExtenderConfig
from scheduler_runtime.kube.events import NOTE_BYTES
from scheduler_runtime.scheduling.extenders import Extender, ExtenderError
from scheduler_runtime.state.objects.quantity import wrap_int64
from tests.fuzz.budget import Budget

pytestmark = pytest.mark.thorough

TOTAL = int(os.environ.get("FUZZ", "1000"))
NAMES = ("a", "b", "c")
VERBS = ("filter", "prioritize", "preempt", "bind")
SEEDS: dict[str, Any] = {
    "filter": {"NodeNames": ["a", "b"], "FailedNodes": {"c": "no"}, "FailedAndUnresolvableNodes": {"b": "never"},
               "Nodes": {"items": [{"metadata": {"name": "a"}}]}, "Error": ""},
    "prioritize": [{"Host": "a", "Score": 10}, {"Host": "b", "Score": 3}],
    "preempt": {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-of-on-a"}], "NumPDBViolations": 1}}},
    "bind": {"Error": ""},
}  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**63 - 1, -(2**63), 2**64, 10**400, 1e308, -0.5, "", "a", "\ud800", "\0", "x" * 100_000,
    "é" * 2000, [], {}, [None], {"": None}, {"NAME": "a", "name": "b", "Name": "c"}, ["a"] * 3000,
)  # fmt: skip
STATUSES = (b"200 OK", b"200 OK", b"200 OK", b"200 OK", b"204 No Content", b"304 x", b"100 x", b"500 x", b"999 x", b"x")
FIELDS = (b"Content-Length: 0", b"Content-Length: 99999999", b"Content-Length: x", b"Transfer-Encoding: gzip",
          b"Connection: close", b"X: " + b"y" * 70_000, b": ", b"X", b"Upgrade: x\r\nConnection: upgrade")  # fmt: skip


class RawPods:
    """Every pod, as an object without fields."""

    async def pod(self, pod: Pod) -> Raw:
        return Raw(b"{}")

    async def pods(self, pods: Iterable[Pod]) -> dict[str, Raw]:
        return {pod.uid: Raw(b"{}") for pod in pods}

    def nodes(self, names: Iterable[str]) -> dict[str, Raw]:
        return {name: Raw(b"{}") for name in names}


def changed(random: Random, value: Any) -> Any:
    """``value`` with one of its parts replaced, renamed or doubled."""
    if random.random() < 0.2 or not isinstance(value, dict | list) or not value:
        return random.choice(VALUES)
    if isinstance(value, list):
        index = random.randrange(len(value))
        return [*value[:index], changed(random, value[index]), *value[index:]]
    name = random.choice(list(value))
    rename = random.choice((str.lower, str.upper, str, lambda _: random.choice(("", "Error", "\ud800", "x" * 9999))))
    return {**value, rename(name): changed(random, value[name])}


def body(random: Random, verb: str) -> bytes:
    """JSON that is nearly an answer, nests deep, or is none."""
    kind = random.random()
    if kind < 0.03:
        depth = random.choice((500, 1000, 5000, 100_000))
        opening, closing = random.choice(((b"[", b"]"), (b'{"x":', b"}"), (b'{"NodeNames":[', b"]}"), (b"[[{", b"")))
        return opening * depth + b"1" + closing * depth
    value = SEEDS[verb]
    for _ in range(random.choice((0, 1, 1, 2, 4))):
        value = changed(random, value)
    data = json.dumps(value).encode()
    if kind < 0.3:
        start = random.randrange(len(data))
        piece = random.choice((b"", b"\xff", b"\xef\xbb\xbf", b"\\ud83d", b'"', b"1e999999", b"9" * 5000))
        data = data[:start] + piece + data[start + random.randrange(4) :]
    return data


def answer(random: Random, verb: str) -> bytes:
    """An answer over HTTP that is right in most cases."""
    data = body(random, verb)
    length = b"Content-Length: %d" % len(data)
    usual = random.random() < 0.8
    fields = [length] if usual else random.choices((length, *FIELDS), k=random.randrange(4))
    status = b"200 OK" if usual else random.choice(STATUSES)
    return b"\r\n".join([b"HTTP/1.1 " + status, *fields, b"", b""]) + data


async def ask(extender: Extender, verb: str) -> Sequence[object]:
    """Ask a question; return the parts of the answer that others go on with."""
    pod = testing.pod("p")
    match verb:
        case "filter":
            allowed, rejects = await extender.filter(pod, NAMES)
            return (*allowed, *rejects.values())
        case "prioritize":
            return await extender.prioritize(pod, NAMES)
        case "preempt":
            victim = testing.pod("on-a", nodeName="a")
            return await extender.preempt(
                pod, [Victims("a", [victim], 0)], lambda node: [victim] if node == "a" else None
            )
        case _:
            await extender.bind(pod, "a", lambda: None)
            return ()


def check(part: object) -> None:
    """Whether others can go on with a part of an answer, or with the error that it is."""
    match part:
        case ExtenderError():
            assert 0 < len(str(part).encode()) <= NOTE_BYTES
        case str():
            assert part in NAMES
        case Reject():
            assert len(part.reason.encode()) <= NOTE_BYTES
        case (str(), int() as points):
            wrap_int64(points)
        case Victims():
            assert all(isinstance(pod, Pod) for pod in part.pods)
        case _:
            raise AssertionError(part)


def test_answers() -> None:
    asyncio.run(ask_and_check())


async def ask_and_check() -> None:
    """Ask as often as there are inputs."""
    budget = Budget(seconds=2, megabytes=150)
    next_answer = b""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(next_answer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    verbs = {f"{verb}Verb": verb for verb in VERBS}
    fields = {"urlPrefix": url, **verbs, "weight": 2**62, "httpTimeout": "30s"}
    extenders = [
        Extender(ExtenderConfig.model_validate({**fields, "nodeCacheCapable": knows}), RawPods())  # type: ignore[arg-type]
        for knows in (False, True)
    ]
    understood = 0
    async with server:
        for number in range(TOTAL):
            random = Random(number)  # noqa: S311 - chance, not secrets
            verb = VERBS[number % len(VERBS)]
            next_answer = answer(random, verb)
            with budget.input(next_answer):
                try:
                    parts: Sequence[object] = await ask(random.choice(extenders), verb)
                except ExtenderError as error:
                    parts = [error]
                else:
                    understood += 1
                for part in parts:
                    check(part)
        for extender in extenders:
            extender.close()
    assert understood > TOTAL // 10  # or the answers would be too odd to show much
    budget.print("answers of extenders")
