"""The check behind helm test: its profile, and its answers."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from scheduler_operator.app.installation_check import FailedCheckError, check, main
from scheduler_operator.cluster.api import ApiConnection, RequestError


class Server:
    """An API server whose profiles have this status, the next one at each look."""

    def __init__(self, *statuses: Mapping[str, Any]) -> None:
        self.statuses = list(statuses)
        self.profiles: dict[str, Any] = {}
        self.specs: list[Any] = []

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        name = path.rpartition("/")[2]
        if method == "POST":
            self.profiles[body["metadata"]["name"]] = body
            self.specs.append(body["spec"])
        elif method == "DELETE":
            del self.profiles[name]
        else:
            status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
            return {**self.profiles[name], "status": status}
        return {}


def condition(kind: str, message: str) -> dict[str, str]:
    return {"type": kind, "status": "True", "message": message}


RENDERED = {"configHash": "4f1c", "conditions": [condition("Ready", "ConfigMap x holds the document")]}
STALLED = {"conditions": [condition("Ready", "spec.engine"), condition("Stalled", "spec.engine: x is not among")]}


async def run(server: Server, engine: str = "ConfigMap", seconds: float = 5) -> str:
    try:
        return await check(cast("ApiConnection", server), engine, seconds)
    finally:
        assert server.profiles == {}, "the profile stays"


async def test_a_profile_is_rendered_and_deleted() -> None:
    server = Server({}, RENDERED)
    assert await run(server) == "ConfigMap x holds the document"
    assert server.specs == [{"engine": "ConfigMap"}]


async def test_no_process_is_started_where_profiles_may_not_only_be_rendered() -> None:
    server = Server(RENDERED)
    await run(server, "Python")
    assert server.specs == [{"engine": "Python", "scheduler": {"replicas": 0}}]


async def test_a_stalled_profile_is_reported_with_the_reason() -> None:
    with pytest.raises(FailedCheckError, match=r"is stalled: spec\.engine: x is not among"):
        await run(Server(STALLED))


async def test_nobody_who_renders_is_reported_with_what_to_look_at() -> None:
    with pytest.raises(FailedCheckError, match=r"no operator has rendered the profile .+ within 0.1 s; see whether"):
        await run(Server({}), seconds=0.1)


async def test_a_profile_that_is_refused_is_an_error_of_its_own() -> None:
    class Refusing(Server):
        async def request(self, method: str, path: str, body: Any = None) -> Any:
            raise RequestError(f"{method} {path}", 404, "NotFound", "no such kind")

    with pytest.raises(RequestError, match="no such kind"):
        await run(Refusing({}))


def test_no_credentials_are_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--kubeconfig", "/nowhere"]) == 1
    assert "no credentials for the API server" in capsys.readouterr().err
