"""The seam to kopf."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

from scheduler_operator.cluster.credentials import Credentials
from scheduler_operator.cluster.generated_objects import GeneratedObjects
from scheduler_operator.cluster.user_objects import UserObjects
from scheduler_operator.kopf_seam import handlers
from scheduler_operator.kopf_seam.handlers import KopfMemo
from scheduler_operator.kopf_seam.http_session import KopfSession, ObjectFeed
from scheduler_operator.kopf_seam.watch_stream import InterruptedStreams
from scheduler_operator.reconcile.reconciler import Key
from scheduler_operator.resources import kinds
from tests.scheduler_operator.builders import kubeconfig

OWNED = {"ownerReferences": [{"kind": "SchedulerProfile", "name": "calm"}], "labels": {"berth.dev/profile": "wrong"}}
LABELLED = {"labels": {"berth.dev/profile": "calm"}}


@pytest.fixture
def exchanges(tmp_path: Path) -> KopfSession:
    credentials = Credentials(kubeconfig(tmp_path, "http://127.0.0.1:1"))
    feed = ObjectFeed(UserObjects(), GeneratedObjects(), lambda: None, lambda _: None)
    return KopfSession(credentials, "tests", InterruptedStreams(), feed, "berth-system")


@pytest.mark.parametrize("metadata", [OWNED, LABELLED], ids=["by-owner", "by-label"])
@pytest.mark.parametrize("type_", [None, "MODIFIED", "DELETED"])
def test_a_generated_object_puts_its_profile_on_the_queue(
    metadata: dict[str, Any], type_: str | None, exchanges: KopfSession
) -> None:
    assert queued_by(exchanges, type_, metadata) == [(Key("SchedulerProfile", "calm"), type_ is None)]


@pytest.mark.parametrize("labels", [{"app.kubernetes.io/managed-by": "berth"}, {"berth.dev/profile": ""}])
def test_an_object_that_only_looks_like_ours_is_passed_over(labels: dict[str, str], exchanges: KopfSession) -> None:
    assert queued_by(exchanges, "MODIFIED", {"labels": labels}) == []


def queued_by(exchanges: KopfSession, type_: str | None, metadata: dict[str, Any]) -> list[tuple[Key, bool]]:
    """What an event puts on the queue, and whether in bulk."""
    queued: list[tuple[Key, bool]] = []
    memo = KopfMemo(lambda key, in_bulk: queued.append((key, in_bulk)), exchanges)
    asyncio.run(handlers.on_generated(type=type_, meta=metadata, memo=memo))
    return queued


def test_of_pods_only_those_of_schedulers_are_watched() -> None:
    selectors = handlers.settings().watching.label_selectors
    assert selectors["", "v1", "pods"] == "app.kubernetes.io/name=berth-scheduler,berth.dev/profile"


def test_only_objects_of_berth_are_watched() -> None:
    selectors = handlers.settings().watching.label_selectors
    for kind in kinds.GENERATED:
        assert (
            selectors[kind.group, kind.version, kind.plural] == "app.kubernetes.io/managed-by=berth,berth.dev/profile"
        )


async def test_kopf_asks_through_our_sessions_and_all_are_closed(exchanges: KopfSession) -> None:
    first, second = handlers.connection(exchanges), handlers.connection(exchanges)
    assert first.server == "http://127.0.0.1:1"
    assert first.aiohttp_session is not second.aiohttp_session
    await exchanges.close()
    assert first.aiohttp_session.closed
    assert second.aiohttp_session.closed


def test_a_request_is_repeated_for_ever_and_soon() -> None:
    rests = list(itertools.islice(handlers.RetryDelays(), 100))
    assert rests == sorted(rests)
    assert rests[0] <= 1
    assert rests[-1] <= 10


PATHS = {kind.collection("here") for kind in (kinds.PROFILE, kinds.PLUGIN_CONFIG, *kinds.WATCHED)}


async def test_a_kind_that_the_api_server_omits_does_not_stay_unwatched(exchanges: KopfSession) -> None:
    exchanges.has_watch.set()
    exchanges.requested_paths.update(PATHS - {"/apis/berth.dev/v1alpha1/schedulerprofiles"})
    with pytest.raises(RuntimeError, match=r"did not tell of /apis/berth\.dev/v1alpha1/schedulerprofiles "):
        await handlers.check_discovery(exchanges, "here", after=0)


async def test_when_every_kind_is_watched_nothing_is_wrong(exchanges: KopfSession) -> None:
    exchanges.has_watch.set()
    exchanges.requested_paths.update(PATHS)
    await handlers.check_discovery(exchanges, "here", after=0)
