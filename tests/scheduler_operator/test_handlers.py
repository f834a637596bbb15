"""The seam to kopf."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from scheduler_operator import handlers, kinds
from scheduler_operator.credentials import Credentials
from scheduler_operator.handlers import Seam
from scheduler_operator.reconcile import Key
from tests.scheduler_operator.builders import kubeconfig
from tests.scheduler_operator.test_credentials import jwt

OWNED = {"ownerReferences": [{"kind": "SchedulerProfile", "name": "calm"}], "labels": {"berth.dev/profile": "wrong"}}
LABELLED = {"labels": {"berth.dev/profile": "calm"}}


@pytest.fixture
def credentials(tmp_path: Path) -> Credentials:
    return Credentials(kubeconfig(tmp_path, "http://127.0.0.1:1"))


@pytest.mark.parametrize("metadata", [OWNED, LABELLED], ids=["by-owner", "by-label"])
def test_a_generated_object_puts_its_profile_on_the_queue(metadata: dict[str, Any], credentials: Credentials) -> None:
    seen: list[Key] = []
    asyncio.run(handlers.generated_seen(meta=metadata, memo=Seam(seen.append, credentials)))
    assert seen == [Key("SchedulerProfile", "calm")]


@pytest.mark.parametrize("labels", [{"app.kubernetes.io/managed-by": "berth"}, {"berth.dev/profile": ""}])
def test_an_object_that_only_looks_like_ours_is_passed_over(labels: dict[str, str], credentials: Credentials) -> None:
    seen: list[Key] = []
    asyncio.run(handlers.generated_seen(meta={"labels": labels}, memo=Seam(seen.append, credentials)))
    asyncio.run(
        handlers.lease_seen(type="DELETED", meta={"labels": labels}, spec={}, memo=Seam(seen.append, credentials))
    )
    assert seen == []


def test_a_lease_matters_when_another_holds_it_or_it_is_gone(credentials: Credentials) -> None:
    seen: list[Key] = []
    seam = Seam(seen.append, credentials)

    def looks(type_: str | None, holder: str | None) -> int:
        seen.clear()
        asyncio.run(handlers.lease_seen(type=type_, meta=OWNED, spec={"holderIdentity": holder}, memo=seam))
        return len(seen)

    story = [(None, None), ("MODIFIED", "a"), ("MODIFIED", "a"), ("MODIFIED", "b"), ("DELETED", "b"), ("ADDED", None)]
    assert [looks(type_, holder) for type_, holder in story] == [0, 1, 0, 1, 1, 0]


def test_only_what_berth_made_is_watched() -> None:
    chosen = handlers.settings().watching.label_selectors
    for kind in kinds.GENERATED:
        assert chosen[kind.group, kind.version, kind.plural] == "app.kubernetes.io/managed-by=berth,berth.dev/profile"


def test_logging_in_reads_the_token_anew(credentials: Credentials, tmp_path: Path) -> None:
    end = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    second = jwt({"exp": end.timestamp()})
    (tmp_path / "token").write_text(second)
    info = handlers.connection(credentials)
    assert (info.server, info.token) == ("http://127.0.0.1:1", second)
    assert info.expiration == end - handlers.BEFORE_EXPIRY


def test_a_token_that_is_nearly_over_is_used_a_little_longer(credentials: Credentials, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(jwt({"exp": datetime.now(UTC).timestamp()}))
    info = handlers.connection(credentials)
    assert info.expiration is not None
    assert info.expiration > datetime.now(UTC)
