"""Where new documents come from: files that are replaced, and a ConfigMap that is watched."""

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
    DocumentText,
    NoDocument,
    OwnConfigMap,
    UnknownDocument,
    UnreadableDocument,
)
from tests.support.scripted import Answer, Script, listed, refuses, serving, watched


class Follows(Protocol):
    async def follow(self, tell: Callable[[DocumentState], None], last: DocumentState) -> None: ...


class Told:
    """What was told, to be waited for."""

    def __init__(self) -> None:
        self.all: list[DocumentState] = []

    async def until(self, *expected: DocumentState) -> None:
        async with asyncio.timeout(5):
            while len(self.all) < len(expected):  # noqa: ASYNC110  what is waited for is a list
                await asyncio.sleep(0.005)
        assert self.all == list(expected)


@contextlib.asynccontextmanager
async def told_by(follows: Follows, last: DocumentState) -> AsyncIterator[Told]:
    told = Told()
    task = asyncio.create_task(follows.follow(told.all.append, last))
    try:
        yield told
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_file_that_says_something_else_is_told_once(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("a")
    async with told_by(DocumentFiles(str(file), "", 0.02), DocumentText("a")) as told:
        file.write_text("b")
        await told.until(DocumentText("b"))
        file.write_text("b")
        await asyncio.sleep(0.1)
        await told.until(DocumentText("b"))


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
    async with told_by(files, DocumentText("1", "extras of 1")) as told:
        (tmp_path / "..new").symlink_to("2")
        (tmp_path / "..new").rename(data)
        await told.until(DocumentText("2", "extras of 2"))


async def test_a_file_that_goes_and_comes_back_is_told_of_both_times(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    async with told_by(DocumentFiles(str(file), "", 0.02), DocumentText("a")) as told:
        missing = NoDocument(f"{file} is not there; it is followed as soon as it is")
        await told.until(missing)
        file.write_text("a")
        await told.until(missing, DocumentText("a"))


async def test_a_file_that_is_no_text_is_told_of_and_followed_once_it_is(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_bytes(b"a\xff")
    async with told_by(DocumentFiles(str(file), "", 0.02), DocumentText("a")) as told:
        unreadable = UnreadableDocument(f"{file}: is not UTF-8: invalid start byte at byte 1; save it as UTF-8")
        await told.until(unreadable)
        file.write_text("ä", encoding="utf-8")
        await told.until(unreadable, DocumentText("ä"))


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
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied"), "make it readable for the user that the scheduler runs as"),
        (OSError(5, "Input/output error"), "cannot be read: Input/output error"),
    ],
)
def test_a_file_that_is_there_and_cannot_be_read_is_not_missing(
    error: OSError, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr(Path, "read_text", fail)
    read = DocumentFiles("config.yaml", "").read()
    assert isinstance(read, UnreadableDocument)
    assert read.why.startswith("config.yaml: cannot be read: ")
    assert read.why.endswith(said)


async def test_a_signal_has_the_files_read_at_once(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("b")
    files = DocumentFiles(str(file), "", 60)
    async with told_by(files, DocumentText("a")) as told:
        await asyncio.sleep(0)
        files.look()
        await told.until(DocumentText("b"))


async def test_a_signal_is_answered_though_nothing_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("a")
    files = DocumentFiles(str(file), "", 60)
    async with told_by(files, DocumentText("a")) as told:
        for count in (1, 2):
            files.look()
            await told.until(*[DocumentText("a")] * count)


def test_a_problem_is_said_with_the_file_or_the_config_map_that_has_it() -> None:
    files = DocumentFiles("config.yaml", "m.yaml", 60)
    assert files.place("is not YAML") == "config.yaml: is not YAML"
    assert files.place("berth.yaml: event: is not a field") == "m.yaml: event: is not a field"


def config_map(version: int, data: dict[str, str] | None) -> dict[str, Any]:
    metadata = {"name": "berth-a", "namespace": "n", "uid": "u", "resourceVersion": str(version)}
    return {"metadata": metadata, **({"data": data} if data is not None else {})}


@contextlib.asynccontextmanager
async def told_by_config_map(*answers: Answer) -> AsyncIterator[tuple[Told, Script]]:
    script = Script(list(answers))
    async with (
        serving(script) as client,
        told_by(OwnConfigMap(client, "n", "berth-a", 0.02), DocumentText("a")) as told,
    ):
        yield told, script


GONE = NoDocument("ConfigMap n/berth-a is not there; it is followed as soon as it is")


async def test_only_our_config_map_is_asked_for_and_what_is_known_is_not_told() -> None:
    changed = config_map(11, {"config.yaml": "b", "berth.yaml": "events: None", "other": "x"})
    first = listed(config_map(1, {"config.yaml": "a"}))
    async with told_by_config_map(first, watched(("MODIFIED", changed))) as (told, script):
        await told.until(DocumentText("b", "events: None"))
        assert script.asked[0].path == "/api/v1/namespaces/n/configmaps"


async def test_a_config_map_that_is_deleted_and_made_again_is_told_of() -> None:
    now = config_map(1, {"config.yaml": "a"})
    again = {**config_map(13, {"config.yaml": "a"})}
    async with told_by_config_map(listed(now), watched(("DELETED", config_map(12, {})), ("ADDED", again))) as (told, _):
        await told.until(GONE, DocumentText("a"))


async def test_a_config_map_that_was_never_there_is_told_of() -> None:
    async with told_by_config_map(listed(), watched()) as (told, _):
        await told.until(GONE)


async def test_a_config_map_without_a_document_is_told_of() -> None:
    async with told_by_config_map(listed(config_map(1, None)), watched()) as (told, _):
        await told.until(
            NoDocument("ConfigMap n/berth-a has no config.yaml; the document is followed as soon as it is there")
        )


FORBIDDEN = 'configmaps "berth-a" is forbidden: User "u" cannot list resource "configmaps"'
UNSEEN = UnknownDocument(
    f"ConfigMap n/berth-a is not told: 403 Forbidden: {FORBIDDEN}; it takes get, list and watch on it"
)


async def test_a_config_map_that_may_not_be_read_is_told_of_until_it_may() -> None:
    refused, first = refuses(403, "Forbidden", FORBIDDEN), listed(config_map(1, {"config.yaml": "a"}))
    async with told_by_config_map(refused, first, watched()) as (told, _):
        await told.until(UNSEEN, DocumentText("a"))


async def test_a_config_map_that_may_not_be_watched_any_more_is_told_of_until_it_may() -> None:
    known, refused = config_map(1, {"config.yaml": "a"}), refuses(403, "Forbidden", FORBIDDEN)
    async with told_by_config_map(listed(known), refused, listed(known), watched(("MODIFIED", known))) as (told, _):
        await told.until(UNSEEN, DocumentText("a"))


async def test_a_config_map_of_an_api_server_that_does_not_answer_is_told_of() -> None:
    async with told_by_config_map(*[refuses(503, "ServiceUnavailable", "later")] * 2) as (told, _):
        why = "watching /api/v1/namespaces/n/configmaps is interrupted: 503 ServiceUnavailable: later"
        await told.until(UnknownDocument(f"ConfigMap n/berth-a is not told: {why}"))
