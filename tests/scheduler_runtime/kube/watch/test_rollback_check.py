"""An API server that forgets, and one that tells things out of order: what is true now is listed."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from scheduler_runtime.kube.watch import reflector
from scheduler_runtime.state.objects.kinds import NODES
from tests.scheduler_runtime.kube.watch.scripted import WatchScript, levels, line, listed, node, streamed, watching


async def test_a_server_that_was_put_back_to_a_backup_is_listed_again_and_everything_reported_anew(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script = WatchScript([listed(100, node("a", 50), node("b", 60)), streamed(reset=True), listed(80, node("a", 50))])
    script.version = 80
    async with watching(script=script) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "80")
        await watched.until(lambda: len(script.requests) == 4)
    assert watched.changes == [("added", "a"), ("added", "b"), ("changed", "a"), ("deleted", "b")]
    assert script.requests[3]["resourceVersion"] == "80"
    assert levels(caplog, "older data than before") == ["WARNING"]


async def test_an_object_with_an_older_version_after_a_backup_is_stored() -> None:
    script = WatchScript([listed(100, node("a", 90)), streamed(reset=True), listed(80, node("a", 50))])
    script.version = 80
    changed = streamed(line("MODIFIED", node("a", 81)), hold=True)
    script.answers.append(changed)
    async with watching(script=script) as watched:
        await watched.until(lambda: watched.copy == {"uid-a": 81})
    assert watched.changes == [("added", "a"), ("changed", "a"), ("changed", "a")]


async def test_a_server_that_remembers_is_not_listed_again() -> None:
    script = WatchScript([listed(100), streamed(reset=True), streamed(line("ADDED", node("a", 101)), hold=True)])
    script.version = 100
    async with watching(script=script) as watched:
        await watched.until(lambda: watched.copy == {"uid-a": 101})
    assert [query.get("watch") for query in script.requests] == [None, "1", "1"]


async def test_who_may_see_one_object_only_asks_within_its_right() -> None:
    selector = {"fieldSelector": "metadata.name=a"}
    script = WatchScript([listed(10), streamed(reset=True)])
    async with watching(script=script, kind=replace(NODES, params=selector)) as watched:
        await watched.until(lambda: len(script.requests) == 3)
    assert script.version_requests == [{**selector, "limit": "1"}]
    assert all(request.items() >= selector.items() for request in script.requests)


async def test_several_that_find_out_say_it_once(caplog: pytest.LogCaptureFixture) -> None:
    async with watching(listed(10)) as watched:
        reports = [watched.client.report_rollback("at version 1 and was at 2") for _ in range(8)]
    assert reports == [True] + [False] * 7
    assert levels(caplog, "older data than before") == ["WARNING"]


async def test_an_object_that_was_deleted_does_not_come_back_by_a_late_line() -> None:
    late = streamed(line("DELETED", node("a", 12)), line("MODIFIED", node("a", 11)), hold=True)
    script = WatchScript([listed(10, node("a", 1), node("b", 2)), late, listed(13, node("b", 2))])
    async with watching(script=script) as watched:
        await watched.until(lambda: watched.reflector.resource_version == "13")
    assert watched.changes == [("added", "a"), ("added", "b"), ("deleted", "a")]


async def test_a_second_life_that_has_ended_does_not_begin_by_a_late_line() -> None:
    """The object that is known was deleted, made again, and deleted again, which is told from the end."""
    lives = [line("DELETED", node("a", 13, "two")), line("ADDED", node("a", 12, "two")), line("DELETED", node("a", 11))]
    script = WatchScript([listed(10, node("a", 1)), streamed(*lives, hold=True), listed(14, node("b", 14))])
    async with watching(script=script) as watched:
        await watched.until(lambda: watched.copy == {"uid-b": 14})
    assert watched.changes == [("added", "a"), ("added", "b"), ("deleted", "a")]


async def test_an_object_that_is_shown_late_is_stored_without_a_list() -> None:
    late = streamed(line("ADDED", node("b", 12)), line("ADDED", node("a", 11)), hold=True)
    script = WatchScript([listed(10), late])
    async with watching(script=script) as watched:
        await watched.until(lambda: watched.copy == {"uid-b": 12, "uid-a": 11})
    assert len(script.requests) == 2


async def test_a_trouble_is_over_when_the_watch_goes_on_though_nothing_happens(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(reflector, "STEADY_SECONDS", 0.05)
    async with watching(listed(10), streamed(reset=True), streamed(reset=True)) as watched:
        await watched.until(lambda: bool(levels(caplog, "over after")))
    assert levels(caplog, "are interrupted") == ["WARNING", "INFO"]


async def test_a_stream_that_breaks_in_several_ways_is_one_trouble(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflector, "STEADY_SECONDS", 60)
    broken = (streamed(reset=True), streamed(b"<html>\n"), streamed(), streamed(b"x", reset=True))
    async with watching(listed(10), *broken) as watched:
        await watched.until(lambda: len(watched.script.requests) == 6)
    assert levels(caplog, "interrupted") == ["WARNING"]
