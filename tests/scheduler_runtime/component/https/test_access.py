"""Authentication and authorization of callers, as in every component of Kubernetes."""

from __future__ import annotations

import json

import pytest

from scheduler_runtime.component.https import Access, AccessRules, Caller
from scheduler_runtime.component.https.access import ADDRESSES, REVIEWS_AT_ONCE, ReviewError, ReviewLimits

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


def test_one_address_causes_so_many_reviews_and_no_more() -> None:
    now, server = [0.0], ApiServer()
    access = Access(server, AccessRules(), lambda: now[0])

    def statuses(address: str, count: int) -> list[int]:
        refusals = [access.refuse("GET", f"/{address}/{number}", "", None, address) for number in range(count)]
        return [refusal.status if refusal else 200 for refusal in refusals]

    assert statuses("10.0.0.1", 200) == [403] * REVIEWS_AT_ONCE + [429] * (200 - REVIEWS_AT_ONCE)
    assert len(server.requests) == REVIEWS_AT_ONCE
    refusal = access.refuse("GET", "/unknown", "Bearer unknown", None, "10.0.0.1")
    assert refusal is not None
    assert (refusal.status, refusal.headers) == (429, {"Retry-After": "1"})
    assert statuses("10.0.0.2", 3) == [403] * 3  # another one is not held up
    assert status(access, "/livez") == 200
    now[0] = 1.0
    assert statuses("10.0.0.1b", 1) == [403]
    assert statuses("10.0.0.1", 40 + 20)[40:] == [403] * 4 + [429] * 16


def test_what_is_known_needs_no_review() -> None:
    server = ApiServer()
    access = Access(server, AccessRules(), lambda: 0.0)
    for _ in range(500):
        assert access.refuse("GET", "/metrics", "Bearer anna's", None, "10.0.0.1") is None
    assert len(server.requests) == 2


def test_a_collector_of_three_pages_every_15_seconds_is_never_held_up() -> None:
    now = [0.0]
    access = Access(ApiServer(), AccessRules(allowed_seconds=10, token_seconds=10), lambda: now[0])
    for now[0] in range(0, 3600, 15):
        for page in ("/metrics", "/metrics/resources", "/metrics/slis"):
            refusal = access.refuse("GET", page, "Bearer anna's", None, "10.0.0.1")
            assert refusal is None or refusal.status == 403  # anna may read the first only


def test_only_so_many_addresses_are_remembered() -> None:
    limits = ReviewLimits(lambda: 0.0)
    for number in range(5000):
        limits.take(str(number))
    assert len(limits._full_at) == ADDRESSES
