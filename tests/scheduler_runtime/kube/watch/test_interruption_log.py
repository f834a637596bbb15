"""Log lines about interrupted watches: one for what concerns all, and one when it is over."""

from __future__ import annotations

import gc
import itertools

import msgspec
import pytest

from scheduler_runtime.kube.client import ApiError, NoResponseError
from scheduler_runtime.kube.watch.interruption_log import InterruptionLog

PATHS = ("/api/v1/pods", "/api/v1/nodes", "/api/v1/services")
CUT = NoResponseError("GET /api/v1/pods: the server closed the connection", sent=True, cause="the server closed it")
ABSENT = NoResponseError("API server cannot be reached: Connection refused", sent=False)
FORBIDDEN = ApiError(403, "Forbidden", "cannot list")
_numbers = itertools.count()


@pytest.fixture
def watches(caplog: pytest.LogCaptureFixture) -> list[InterruptionLog]:
    """Of an API server that nobody else speaks of."""
    caplog.set_level("INFO")
    server = f"https://server-{next(_numbers)}"
    return [InterruptionLog(path, server) for path in PATHS]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Each line, without what differs from run to run."""
    texts = (record.getMessage() for record in caplog.records)
    return ["over" if text.startswith("over after") else text.partition(": ")[2] or text for text in texts]


def test_an_api_server_that_restarts_is_the_clients_matter(
    watches: list[InterruptionLog], caplog: pytest.LogCaptureFixture
) -> None:
    for error in (CUT, ABSENT, ABSENT, FORBIDDEN):
        for watch in watches:
            watch.failing(error)
    for watch in watches:
        watch.recovered()
    assert lines(caplog) == []


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(CUT, "/api/v1/pods: the server closed it", id="cut"),
        pytest.param(ApiError(429, "", "slow down"), "/api/v1/pods: 429: slow down", id="too-many"),
        pytest.param(ApiError(503, "", "not yet"), "/api/v1/pods: 503: not yet", id="unavailable"),
    ],
)
def test_what_concerns_all_watches_is_logged_once_and_over_with_the_last(
    watches: list[InterruptionLog], error: Exception, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        for watch in watches:
            watch.failing(error)
    for watch in watches[1:]:
        watch.recovered()
    assert lines(caplog) == [words]
    watches[0].recovered()
    assert lines(caplog) == [words, "over"]


def test_the_log_has_what_to_do_about_a_kind_that_is_not_there(
    watches: list[InterruptionLog], caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        watches[0].failing(ApiError(404, "", "page not found"))
    assert lines(caplog) == [
        "404: page not found; install what defines this kind, or, if it is Kubernetes' own, "
        "see whether the API server is new enough"
    ]


def test_a_watch_that_is_refused_alone_speaks_for_itself(
    watches: list[InterruptionLog], caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        watches[0].failing(FORBIDDEN)
    watches[1].failing(CUT)
    watches[1].recovered()
    watches[0].recovered()
    assert caplog.messages[0] == "watching /api/v1/pods is interrupted: 403 Forbidden: cannot list"
    assert lines(caplog)[1:] == ["over"]


@pytest.mark.parametrize("alone", [FORBIDDEN, msgspec.DecodeError("no JSON")], ids=["refused", "odd"])
def test_a_watch_that_fails_in_its_own_way_does_not_keep_what_concerned_all(
    alone: Exception, watches: list[InterruptionLog], caplog: pytest.LogCaptureFixture
) -> None:
    pods, _, services = watches
    for watch in (pods, services) * 2:
        watch.failing(CUT)
    pods.recovered()
    for error in (alone, alone, CUT, CUT, alone):
        services.failing(error)
    assert [*map(len, (lines(caplog), set(lines(caplog))))] == [3, 3]
    assert lines(caplog)[1] == "over"
    for _ in range(2):
        pods.failing(CUT)
    pods.recovered()
    assert lines(caplog)[3:] == ["/api/v1/pods: the server closed it", "over"]


def test_an_odd_answer_while_the_api_server_goes_is_not_logged(
    watches: list[InterruptionLog], caplog: pytest.LogCaptureFixture
) -> None:
    for error in (CUT, CUT, msgspec.DecodeError("no JSON"), CUT, msgspec.DecodeError("no JSON")):
        watches[0].failing(error)
    watches[0].recovered()
    assert lines(caplog) == ["/api/v1/pods: the server closed it", "over"]


def test_what_was_wrong_goes_with_the_last_who_watched(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        watch = InterruptionLog(PATHS[0], "https://gone")
        watch.failing(CUT)
        watch.failing(CUT)
        del watch
        gc.collect()
    assert lines(caplog) == ["/api/v1/pods: the server closed it"] * 2


def test_what_is_wrong_can_be_read_before_it_is_logged(watches: list[InterruptionLog]) -> None:
    watches[0].failing(ABSENT)
    assert watches[0].sentence == f"watching /api/v1/pods is interrupted: {ABSENT}"
    watches[0].recovered()
    assert watches[0].sentence == ""


def test_a_watch_that_nobody_needs_any_more_is_not_waited_for(
    watches: list[InterruptionLog], caplog: pytest.LogCaptureFixture
) -> None:
    for watch in (*watches, *watches):
        watch.failing(CUT)
    watches[0].withdraw()
    for watch in watches[1:]:
        watch.recovered()
    assert lines(caplog)[1:] == ["over"]
    for _ in range(2):
        watches[1].failing(CUT)
    watches[1].withdraw()
    assert len(lines(caplog)) == 3  # with nobody left, nothing is over
