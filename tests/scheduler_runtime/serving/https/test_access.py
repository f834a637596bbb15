"""Authentication and authorization of callers, as in every component of Kubernetes."""

from __future__ import annotations

import json

import pytest

from scheduler_runtime.serving.https import Access, AccessRules, Caller
from scheduler_runtime.serving.https.access import ReviewError

ANNA = Caller("anna", ("system:authenticated",))
ROOT = Caller("root", ("system:masters",))


class ApiServer:
    """Knows two tokens, lets anna read /metrics, and records its requests."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.is_there = True

    def caller(self, token: str) -> Caller | None:
        self._record(f"whose {token}")
        return {"anna's": ANNA, "root's": ROOT}.get(token)

    def allows(self, caller: Caller, verb: str, path: str) -> tuple[bool, str]:
        self._record(f"{caller.name} {verb} {path}")
        return (caller, verb, path) == (ANNA, "get", "/metrics"), "no rule"

    def _record(self, request: str) -> None:
        self.requests.append(request)
        if not self.is_there:
            raise ReviewError("not there")


def status(access: Access, path: str, token: str = "", certified: Caller | None = None) -> int:
    refusal = access.refuse("GET", path, f"Bearer {token}" if token else "", certified)
    return refusal.status if refusal else 200


@pytest.mark.parametrize(
    ("path", "token", "expected"),
    [
        pytest.param("/livez", "", 200, id="health-is-open"),
        pytest.param("/readyz?verbose", "", 200, id="a-query-changes-nothing"),
        pytest.param("/livez/", "", 200, id="a-slash-at-the-end-changes-nothing"),
        pytest.param("//livez/metrics", "", 403, id="no-other-way-to-a-page"),
        pytest.param("/livez/leaderElection", "", 403, id="below-health-is-not-open"),
        pytest.param("/metrics", "", 403, id="anonymous"),
        pytest.param("/metrics", "anna's", 200, id="allowed"),
        pytest.param("/metrics?x", "anna's", 200, id="allowed-with-query"),
        pytest.param("/debug/cache", "anna's", 403, id="allowed-elsewhere"),
        pytest.param("/debug/cache", "root's", 200, id="masters"),
        pytest.param("/metrics", "nobody's", 401, id="unknown-token"),
        pytest.param("/livez", "nobody's", 401, id="unknown-token-where-all-may"),
    ],
)
def test_who_may_see_what(path: str, token: str, expected: int) -> None:
    assert status(Access(ApiServer(), AccessRules()), path, token) == expected


def test_a_client_certificate_is_believed_without_asking_who() -> None:
    server = ApiServer()
    assert status(Access(server, AccessRules()), "/metrics", certified=ANNA) == 200
    assert server.requests == ["anna get /metrics"]


def test_a_refusal_says_who_may_not_what() -> None:
    refusal = Access(ApiServer(), AccessRules()).refuse("GET", "/configz", "", None)
    assert refusal is not None
    status_object = json.loads(refusal.body)
    assert (status_object["kind"], status_object["reason"], status_object["code"]) == ("Status", "Forbidden", 403)
    assert status_object["message"] == 'forbidden: User "system:anonymous" cannot get path "/configz": no rule'


def test_the_api_server_is_asked_again_only_after_ten_seconds() -> None:
    now, server = [0.0], ApiServer()
    access = Access(server, AccessRules(), lambda: now[0])
    for now[0] in (0.0, 9.9):
        assert status(access, "/metrics", "anna's") == 200
    assert server.requests == ["whose anna's", "anna get /metrics"]
    now[0] = 10.1
    assert status(access, "/metrics", "anna's") == 200
    assert len(server.requests) == 4


def test_an_api_server_that_is_not_there_keeps_pages_closed_and_health_open() -> None:
    server = ApiServer()
    server.is_there = False
    access = Access(server, AccessRules())
    assert [status(access, path) for path in ("/livez", "/metrics")] == [200, 500]
    assert [status(access, path, "anna's") for path in ("/livez", "/metrics")] == [401, 401]
    server.is_there = True
    assert status(access, "/metrics", "anna's") == 200  # what failed is not kept


@pytest.mark.parametrize(
    ("allowed", "path", "expected"),
    [
        ("/*", "/debug/cache", 200),
        ("/debug/*", "/debug/cache", 200),
        ("/debug/*", "/metrics", 403),
        ("/metrics", "/metrics/resources", 403),
        ("metrics", "/metrics", 200),
    ],
)
def test_paths_that_are_open_by_a_flag(allowed: str, path: str, expected: int) -> None:
    assert status(Access(ApiServer(), AccessRules(allowed_paths=(allowed,))), path) == expected
