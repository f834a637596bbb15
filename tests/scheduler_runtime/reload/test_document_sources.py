"""New documents from files that are replaced, and from a ConfigMap that is watched."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Protocol

import pytest

from scheduler_runtime.reload.document_sources import (
    DocumentFiles,
    DocumentState,
    NoDocument,
    OwnConfigMap,
    SourceUnreachable,
    UnreadableDocument,
)
from scheduler_runtime.reload.plan import DocumentText
from tests.support.scripted import Answer, Script, listed, refuses, serving, watched


class Source(Protocol):
    async def watch(self, report: Callable[[DocumentState], None], current: DocumentState) -> None: ...


class Reports:
    """The reports of a source, to be waited for."""

    def __init__(self) -> None:
        self.all: list[DocumentState] = []

    async def until(self, *expected: DocumentState) -> None:
        async with asyncio.timeout(20):
            while len(self.all) < len(expected):  # noqa: ASYNC110  what is waited for is a list
                await asyncio.sleep(0.005)
        assert self.all == list(expected)


@contextlib.asynccontextmanager
async def watching(source: Source, current: DocumentState) -> AsyncIterator[Reports]:
    reports = Reports()
    task = asyncio.create_task(source.watch(reports.all.append, current))
    try:
        yield reports
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_file_that_changes_is_reported_once(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("a")
    async with watching(DocumentFiles(str(file), "", 0.02), DocumentText("a")) as reports:
        file.write_text("b")
        await reports.until(DocumentText("b"))
        file.write_text("b")
        await asyncio.sleep(0.1)
        await reports.until(DocumentText("b"))


async def test_a_link_that_is_turned_to_another_folder_is_followed(tmp_path: Path) -> None:
    for version in ("1", "2"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "config.yaml").write_text(version)
        (tmp_path / version / "berth.yaml").write_text(f"extras of {version}")
    data = tmp_path / "..data"
    data.symlink_to("1")
    for name in ("config.yaml", "berth.yaml"):
        (tmp_path / name).symlink_to(f"..data/{name}")
    files = DocumentFiles(str(tmp_path / "config.yaml"), str(tmp_path / "berth.yaml"), 0.02)
    async with watching(files, DocumentText("1", "extras of 1")) as reports:
        (tmp_path / "..new").symlink_to("2")
        (tmp_path / "..new").rename(data)
        await reports.until(DocumentText("2", "extras of 2"))


async def test_a_file_that_goes_and_comes_back_is_reported_both_times(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    async with watching(DocumentFiles(str(file), "", 0.02), DocumentText("a")) as reports:
        missing = NoDocument(f"{file} is not there; it is followed as soon as it is")
        await reports.until(missing)
        file.write_text("a")
        await reports.until(missing, DocumentText("a"))


async def test_a_file_that_is_no_text_is_reported_and_followed_once_it_is(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"a\xff")
    async with watching(DocumentFiles(str(file), "", 0.02), DocumentText("a")) as reports:
        unreadable = UnreadableDocument(f"{file}: is not UTF-8: invalid start byte at byte 1; save it as UTF-8")
        await reports.until(unreadable)
        file.write_text("ä", encoding="utf-8")
        await reports.until(unreadable, DocumentText("ä"))


def test_of_two_files_the_one_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    document, extras = tmp_path / "config.yaml", tmp_path / "berth.yaml"
    document.write_text("a")
    files = DocumentFiles(str(document), str(extras))
    assert files.read() == NoDocument(f"{extras} is not there; it is followed as soon as it is")
    extras.write_bytes(b"\xff")
    assert files.read() == UnreadableDocument(f"{extras}: is not UTF-8: invalid start byte at byte 0; save it as UTF-8")
    extras.unlink()
    extras.mkdir()
    assert files.read() == UnreadableDocument(f"{extras}: is a directory, and has to be a file")


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (PermissionError(13, "Permission denied"), "make it readable for the user that the scheduler runs as"),
        (OSError(5, "Input/output error"), "cannot be read: Input/output error"),
    ],
)
def test_a_file_that_is_there_and_cannot_be_read_is_not_missing(
    error: OSError, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr(Path, "read_text", fail)
    read = DocumentFiles("config.yaml", "").read()
    assert isinstance(read, UnreadableDocument)
    assert read.why.startswith("config.yaml: cannot be read: ")
    assert read.why.endswith(advice)


async def test_a_signal_has_the_files_read_at_once(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("b")
    files = DocumentFiles(str(file), "", 60)
    async with watching(files, DocumentText("a")) as reports:
        await asyncio.sleep(0)
        files.read_now()
        await reports.until(DocumentText("b"))


async def test_a_signal_is_answered_though_nothing_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("a")
    files = DocumentFiles(str(file), "", 60)
    async with watching(files, DocumentText("a")) as reports:
        for count in (1, 2):
            files.read_now()
            await reports.until(*[DocumentText("a")] * count)


def test_a_problem_has_the_file_or_the_config_map_that_has_it() -> None:
    files = DocumentFiles("config.yaml", "m.yaml", 60)
    assert files.locate("is not YAML") == "config.yaml: is not YAML"
    assert files.locate("berth.yaml: event: is not a field") == "m.yaml: event: is not a field"


def config_map(version: int, data: dict[str, str] | None) -> dict[str, Any]:
    metadata = {"name": "berth-a", "namespace": "n", "uid": "u", "resourceVersion": str(version)}
    return {"metadata": metadata, **({"data": data} if data is not None else {})}


CHECK_SECONDS = 0.25
"""Half as long as a slow machine may take for a first answer; what is unknown at two checks is reported."""


@contextlib.asynccontextmanager
async def watching_config_map(*answers: Answer) -> AsyncIterator[tuple[Reports, Script]]:
    script = Script(list(answers))
    async with (
        serving(script) as client,
        watching(OwnConfigMap(client, "n", "berth-a", CHECK_SECONDS), DocumentText("a")) as reports,
    ):
        yield reports, script


GONE = NoDocument("ConfigMap n/berth-a is not there; it is followed as soon as it is")


async def test_only_our_config_map_is_requested_and_its_present_content_is_not_reported() -> None:
    changed = config_map(11, {"config.yaml": "b", "berth.yaml": "events: None", "other": "x"})
    first = listed(config_map(1, {"config.yaml": "a"}))
    async with watching_config_map(first, watched(("MODIFIED", changed))) as (reports, script):
        await reports.until(DocumentText("b", "events: None"))
        assert script.received[0].path == "/api/v1/namespaces/n/configmaps"


async def test_a_config_map_that_is_deleted_and_made_again_is_reported() -> None:
    now = config_map(1, {"config.yaml": "a"})
    again = {**config_map(13, {"config.yaml": "a"})}
    async with watching_config_map(listed(now), watched(("DELETED", config_map(12, {})), ("ADDED", again))) as (
        reports,
        _,
    ):
        await reports.until(GONE, DocumentText("a"))


async def test_a_config_map_that_was_never_there_is_reported() -> None:
    async with watching_config_map(listed(), watched()) as (reports, _):
        await reports.until(GONE)


async def test_a_config_map_without_a_document_is_reported() -> None:
    async with watching_config_map(listed(config_map(1, None)), watched()) as (reports, _):
        await reports.until(
            NoDocument("ConfigMap n/berth-a has no config.yaml; the document is followed as soon as it is there")
        )


FORBIDDEN = 'configmaps "berth-a" is forbidden: User "u" cannot list resource "configmaps"'
UNSEEN = SourceUnreachable(
    f"ConfigMap n/berth-a cannot be watched: 403 Forbidden: {FORBIDDEN}; it takes list and watch on it"
)


async def test_a_config_map_that_may_not_be_read_is_reported_until_it_may() -> None:
    refused, first = refuses(403, "Forbidden", FORBIDDEN), listed(config_map(1, {"config.yaml": "a"}))
    async with watching_config_map(refused, first, watched()) as (reports, _):
        await reports.until(UNSEEN, DocumentText("a"))


async def test_a_config_map_that_may_not_be_watched_any_more_is_reported_until_it_may() -> None:
    first, refused = config_map(1, {"config.yaml": "a"}), refuses(403, "Forbidden", FORBIDDEN)
    async with watching_config_map(listed(first), refused, listed(first), watched(("MODIFIED", first))) as (reports, _):
        await reports.until(UNSEEN, DocumentText("a"))


async def test_a_config_map_of_an_api_server_that_does_not_answer_is_reported() -> None:
    async with watching_config_map(*[refuses(503, "ServiceUnavailable", "later")] * 2) as (reports, _):
        why = "watching /api/v1/namespaces/n/configmaps is interrupted: 503 ServiceUnavailable: later"
        await reports.until(SourceUnreachable(f"ConfigMap n/berth-a cannot be watched: {why}"))
