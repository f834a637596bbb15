"""List and watch against a server that misbehaves on demand: nothing ends it, nothing is missed."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from devcluster.node.api import NodeApi
from devcluster.node.decoding import decode
from devcluster.node.watch import Changed, Deleted, Interrupted, Listed, WatchEvent, watch
from tests.devcluster.node.scripted import Step, served


def pod(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": name, "resourceVersion": str(version)}}


DEEP = b'{"f:a":' * 100_000 + b'"[{]}"' + b"}" * 100_000
"""More levels than any decoder reads; the API server stores ten thousand."""


def deep(document: dict[str, Any]) -> bytes:
    """``document`` as JSON, with the managed fields of each pod called ``deep`` as deep as can be."""
    managed = b'"name": "deep", "managedFields": [{"manager": "\\"{", "fieldsV1": %s}, {"fieldsV1": %s}]' % (DEEP, DEEP)
    return json.dumps(document).encode().replace(b'"name": "deep"', managed)


def listing(version: int, *names: str) -> Step:
    async def answer(request: web.Request) -> web.StreamResponse:
        assert "watch" not in request.query
        items = [pod(name, version) for name in names]
        document = {"metadata": {"resourceVersion": str(version)}, "items": items}
        return web.Response(body=deep(document), content_type="application/json")

    return answer


def events(since: int, *lines: dict[str, Any] | bytes) -> Step:
    """A watch, expected to resume from ``since``, that sends ``lines`` and closes."""

    async def answer(request: web.Request) -> web.StreamResponse:
        assert request.query["resourceVersion"] == str(since)
        response = web.StreamResponse()
        await response.prepare(request)
        for line in lines:
            await response.write(line if isinstance(line, bytes) else deep(line) + b"\n")
        return response

    return answer


def event(kind: str, name: str, version: int) -> dict[str, Any]:
    return {"type": kind, "object": pod(name, version)}


def refusal(status: int, message: str, **headers: str) -> Step:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"message": message, "code": status}, status=status, headers=headers)

    return answer


async def gibberish(request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>", content_type="text/html")


TOO_OLD = {"type": "ERROR", "object": {"code": 410, "message": "too old resource version"}}


def describe(event: WatchEvent) -> str:
    match event:
        case Listed(items):
            return "listed " + " ".join(item["metadata"]["name"] for item in items)
        case Changed(item):
            return f"changed {item['metadata']['name']}"
        case Deleted(item):
            return f"deleted {item['metadata']['name']}"
        case Interrupted():
            return "interrupted"


async def follow(steps: list[Step], count: int, token_file: Path) -> tuple[list[str], list[str]]:
    """The first ``count`` things that a watch tells of a server that answers with ``steps``; the tokens it used."""
    remaining, tokens = list(steps), []

    def replace_token(number: int) -> None:
        token_file.write_text(f"token-{number}")

    async def answer(request: web.Request) -> web.StreamResponse:
        tokens.append(request.headers["Authorization"])
        replace_token(len(tokens))
        return await remaining.pop(0)(request)

    descriptions: list[str] = []
    async with served(answer) as server, NodeApi(server, None, token_file) as api:
        async for event in watch(api, "/pods"):
            descriptions.append(describe(event))
            if len(descriptions) == count:
                break
    return descriptions, tokens


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param(
            [listing(1, "a"), events(1, event("ADDED", "b", 2)), events(2, event("DELETED", "b", 3))],
            ["listed a", "changed b", "deleted b"],
            id="resumes-where-it-was",
        ),
        pytest.param(
            [
                listing(1, "a"),
                events(1, {"type": "BOOKMARK", "object": pod("", 7)}),
                events(7, event("MODIFIED", "a", 8)),
            ],
            ["listed a", "changed a"],
            id="resumes-from-a-bookmark",
        ),
        pytest.param(
            [listing(1, "a"), events(1, event("ADDED", "b", 2), b'{"type": "MOD'), events(2, event("ADDED", "c", 3))],
            ["listed a", "changed b", "interrupted", "changed c"],
            id="a-line-cut-in-the-middle",
        ),
        pytest.param(
            [listing(1, "a"), events(1, b"gibberish\n"), events(1, event("ADDED", "c", 3))],
            ["listed a", "interrupted", "changed c"],
            id="not-json",
        ),
        pytest.param(
            [gibberish, listing(1, "a")],
            ["interrupted", "listed a"],
            id="a-list-that-is-not-json",
        ),
        pytest.param(
            [listing(1, "a", "deep", "b"), events(1, event("ADDED", "c", 3))],
            ["listed a deep b", "changed c"],
            id="deep-in-a-list",
        ),
        pytest.param(
            [listing(1), events(1, event("ADDED", "deep", 2), event("ADDED", "b", 3), event("DELETED", "deep", 4))],
            ["listed ", "changed deep", "changed b", "deleted deep"],
            id="deep-in-the-stream",
        ),
        pytest.param(
            [listing(1, "a", "b"), events(1, TOO_OLD), listing(9, "b")],
            ["listed a b", "interrupted", "listed b"],
            id="gone-within-the-stream",
        ),
        pytest.param(
            [listing(1, "a", "b"), refusal(410, "gone"), listing(9, "b")],
            ["listed a b", "interrupted", "listed b"],
            id="gone-at-once",
        ),
        pytest.param(
            [refusal(500, "etcd is away"), refusal(401, "Unauthorized"), listing(1, "a")],
            ["interrupted", "interrupted", "listed a"],
            id="no-list-at-first",
        ),
        pytest.param(
            [
                listing(1, "a"),
                refusal(429, "too many requests", **{"Retry-After": "1"}),
                events(1, event("ADDED", "b", 2)),
            ],
            ["listed a", "interrupted", "changed b"],
            id="told-to-wait",
        ),
    ],
)
def test_a_watch_goes_on(steps: list[Step], expected: list[str], tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("token-0")
    descriptions, tokens = asyncio.run(follow(steps, len(expected), token))
    assert descriptions == expected
    assert tokens == [f"Bearer token-{number}" for number in range(len(tokens))], "each request reads the token file"


def test_the_log_names_the_object_that_is_not_read_as_a_whole(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    token = tmp_path / "token"
    token.write_text("token-0")
    asyncio.run(follow([listing(1, "a", "deep"), events(1, event("MODIFIED", "deep", 2))], 2, token))
    line = "GET /pods: deep is read without what is nested more than 100 levels deep"
    assert [record.getMessage() for record in caplog.records] == [line, line]


def test_what_is_not_deep_stays_as_it_is() -> None:
    document = deep({"items": [pod("a", 1), pod("deep", 2)]})
    a, read = decode(document, "GET /pods")["items"]
    assert a == pod("a", 1)
    first, second = read["metadata"].pop("managedFields")
    assert (first["manager"], list(first["fieldsV1"])) == ('"{', ["f:a"])
    assert list(second["fieldsV1"]) == ["f:a"]
    assert read == pod("deep", 2)


def test_a_server_that_is_away_is_waited_for(tmp_path: Path) -> None:
    async def first() -> list[str]:
        async with NodeApi("http://127.0.0.1:9", None, token) as api:
            async for event in watch(api, "/pods"):
                return [describe(event)]
        raise AssertionError("a watch does not end")

    token = tmp_path / "token"
    token.write_text("t")
    assert asyncio.run(first()) == ["interrupted"]
