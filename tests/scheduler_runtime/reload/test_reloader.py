"""A new document is followed as a whole, or refused as a whole and told of."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, get_args

import pytest
import yaml
from aiohttp import web

from scheduler_runtime import config
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import LoadReport, Verdict
from scheduler_runtime.framework import RegistrationError
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.kube.watch.reflector_group import NotListedError
from scheduler_runtime.reload.document_sources import (
    DocumentState,
    DocumentText,
    NoDocument,
    UnknownDocument,
    UnreadableDocument,
)
from scheduler_runtime.reload.plan import Plan, Planner
from scheduler_runtime.reload.plugin_sources import PluginSources
from scheduler_runtime.reload.reloader import WAITS, Reloader
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.serving.scrape_gauges import add_document_gauges
from tests.support.scripted import Answer, Script, refuses, resets, says, serving

HEADER = {"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}


def written(**fields: Any) -> DocumentText:
    return DocumentText(yaml.safe_dump({**HEADER, **fields}))


FIRST = written(profiles=[{"schedulerName": "a"}])
SECOND = written(profiles=[{"schedulerName": "b"}])


class Running:
    """What follows a plan, or cannot."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self.trouble: Exception | None = None

    async def change(self, plan: Plan) -> None:
        if self.trouble:
            raise self.trouble
        self.plans.append(plan)

    @property
    def names(self) -> list[list[str]]:
        return [[profile.scheduler_name for profile in plan.profiles] for plan in self.plans]


class Scene:
    """A process that was started with FIRST, and what is told of it."""

    def __init__(self, running: Plan, planner: Planner) -> None:
        self.said: list[LoadReport] = []
        self.process = Running()
        self.changing = Reloader(running, self.process, planner, self.said.append, Backoff(0.02, 0.05))
        self._tell: Callable[[DocumentState], None] | None = None
        self._ready = asyncio.Event()

    async def follow(self, tell: Callable[[DocumentState], None], last: DocumentState) -> None:
        self._tell = tell
        self._ready.set()
        await asyncio.Event().wait()

    def place(self, problem: str) -> str:
        return f"m.yaml: {problem}"

    async def asks(self, newest: DocumentState, log: pytest.LogCaptureFixture) -> str:
        """Let somebody ask for a look that finds that; what is logged for an answer."""
        await self._ready.wait()
        assert self._tell is not None
        log.clear()
        self._tell(newest)
        async with asyncio.timeout(5):
            while not log.records:  # noqa: ASYNC110  what is waited for is a list
                await asyncio.sleep(0.005)
        return log.messages[0]

    async def finds(self, newest: DocumentState) -> LoadReport:
        """Let that be the newest document; what is said after it was looked at."""
        await self._ready.wait()
        assert self._tell is not None
        said = len(self.said)
        self._tell(newest)
        async with asyncio.timeout(5):
            while len(self.said) == said:  # noqa: ASYNC110  what is waited for is a list
                await asyncio.sleep(0.005)
        return self.said[-1]


@contextlib.asynccontextmanager
async def scene(first: DocumentText = FIRST, otherwise: Answer | None = None) -> AsyncIterator[Scene]:
    async with serving(Script(otherwise=otherwise or says({}))) as client:
        planner = Planner(Target.parse("v1.36.4"), PluginSources(client, "n"))
        running = await planner.plan(first)
        assert isinstance(running, Plan), running
        made = Scene(running, planner)
        task = asyncio.create_task(made.changing.run(made))
        try:
            yield made
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_process_says_what_it_was_started_with() -> None:
    async with scene() as told:
        assert [(each.hash, each.error) for each in told.said] == [(FIRST.hash, "")]


async def test_a_new_document_is_followed_and_told_of() -> None:
    async with scene() as told:
        said = await told.finds(SECOND)
        assert (said.hash, said.error, told.process.names) == (SECOND.hash, "", [["b"]])
        shown = told.changing.configz()["componentconfig"]
        assert (shown["profiles"][0]["schedulerName"], shown["parallelism"]) == ("b", 16)


async def test_everything_that_is_wrong_is_told_and_nothing_is_followed() -> None:
    async with scene() as told:
        said = await told.finds(written(parallelism=0, profiles=[{"schedulerName": "b", "plugin": {}}]))
        assert said.hash == FIRST.hash
        assert said.error.splitlines() == [
            "parallelism: 0 is too small; it must be at least 1",
            "profiles[0].plugin: is not a field; did you mean plugins?",
        ]
        assert told.process.plans == []
        assert told.changing.configz()["refused"] == said.error


async def test_what_is_wrong_beside_the_document_is_told_with_its_file() -> None:
    async with scene() as told:
        assert (await told.finds(DocumentText(SECOND.text, "event: All"))).error.startswith(
            "berth.yaml: event: is not a field"
        )


async def test_profiles_that_sort_one_queue_differently_are_refused() -> None:
    sorts = {"queueSort": {"enabled": [{"name": "PrioritySort"}], "disabled": [{"name": "*"}]}}
    async with scene() as told:
        said = await told.finds(written(profiles=[{"schedulerName": "a"}, {"schedulerName": "b", "plugins": sorts}]))
        assert "all profiles of a process share one queue" in said.error


def one_after_the_other(*answers: Answer) -> tuple[Answer, list[str]]:
    """Answers in turn, the last of them from then on; and what was asked."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return await answers[min(len(asked), len(answers)) - 1](request)

    return answer, asked


async def times(asked: list[str], count: int) -> None:
    async with asyncio.timeout(5):
        while len(asked) < count:  # noqa: ASYNC110  what is waited for is a list
            await asyncio.sleep(0.005)


WITH_SOURCE = DocumentText(
    SECOND.text, yaml.safe_dump({"plugins": {"X": {"configMap": {"name": "x", "key": "x.py", "sha256": "0" * 64}}}})
)


async def test_a_document_whose_plugins_cannot_be_read_now_waits_and_that_is_said_once_whatever_the_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answer, asked = one_after_the_other(refuses(503), resets, refuses(500), resets, refuses(429))
    async with scene(otherwise=answer) as told:
        assert (await told.finds(WITH_SOURCE)).error == WAITS
        await times(asked, 6)
        assert [(each.verdict, each.error) for each in told.said] == [(None, ""), ("waiting", WAITS)]
        assert [key for key in told.changing.configz() if key in get_args(Verdict)] == ["waiting"]
        (line,) = [record for record in caplog.records if "stays in force" in record.getMessage()]
        assert line.levelname == "WARNING"
        assert line.getMessage().endswith(f"{WAITS}: ConfigMap n/x: cannot be read: 503: no")
        again = await told.asks(WITH_SOURCE, caplog)
        assert again == line.getMessage().replace("the new document is waiting", "the document is still waiting")


async def test_a_refused_document_stays_refused_while_the_api_server_does_not_answer() -> None:
    answer, asked = one_after_the_other(says({"metadata": {"name": "x"}, "data": {}}), refuses(503))
    async with scene(otherwise=answer) as told:
        assert (await told.finds(WITH_SOURCE)).error == "plugin X: ConfigMap n/x: has no x.py"
        await times(asked, 4)
        assert len(told.said) == 2


@pytest.mark.parametrize("trouble", [RegistrationError("plugin X: no"), NotListedError("configmaps: 403")])
async def test_what_cannot_be_made_is_refused(trouble: Exception) -> None:
    async with scene() as told:
        told.process.trouble = trouble
        said = await told.finds(SECOND)
        assert (said.hash, said.error) == (FIRST.hash, str(trouble))
        told.process.trouble = None
        assert (await told.finds(written(profiles=[{"schedulerName": "c"}]))).error == ""


async def test_a_refused_document_is_followed_once_what_it_lacked_is_there_and_refused_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scene() as told:
        told.process.trouble = NotListedError("configmaps: 403")
        await told.finds(SECOND)
        await asyncio.sleep(0.3)
        told.process.trouble = None
        async with asyncio.timeout(5):
            while not told.process.plans:  # noqa: ASYNC110  what is waited for is a list
                await asyncio.sleep(0.005)
        assert [(each.hash, each.error) for each in told.said[1:]] == [
            (FIRST.hash, "configmaps: 403"),
            (SECOND.hash, ""),
        ]
    assert [record.levelname for record in caplog.records if "refused" in record.getMessage()] == ["ERROR"]


async def test_a_document_whose_reason_is_another_at_each_try_is_refused_once_until_another_comes_between(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class VaryingError(RegistrationError):
        def __str__(self) -> str:
            return f"plugin X: <object at {next(addresses):#x}>"

    def refusals() -> list[str]:
        return [record.levelname for record in caplog.records if "is refused" in record.getMessage()]

    addresses = itertools.count()
    async with scene() as told:
        told.process.trouble = VaryingError()
        await told.finds(SECOND)
        async with asyncio.timeout(5):
            while len(told.said) < 5:  # noqa: ASYNC110  what is waited for is a list
                await asyncio.sleep(0.005)
        assert (refusals(), told.changing.refusals) == (["ERROR"], 1)
        assert (await told.asks(SECOND, caplog)).startswith("the document is still refused, the last one stays in")
        assert told.changing.configz()["refused"] == told.said[-1].error
        await told.finds(NoDocument("gone"))
        await told.finds(SECOND)
        assert (refusals(), told.changing.refusals) == (["ERROR"], 2)


async def test_a_document_that_is_missing_stays_in_force_and_is_told_of(caplog: pytest.LogCaptureFixture) -> None:
    why = "ConfigMap n/berth-a is not there; it is followed as soon as it is"
    async with scene() as told:
        line = await told.asks(NoDocument(why), caplog)
        assert line == f"the document is missing, the last one stays in force: {why}"
        assert caplog.records[0].levelname == "WARNING"
        assert (told.said[-1].hash, told.said[-1].verdict, told.said[-1].error) == (FIRST.hash, "missing", why)
        assert (told.changing.configz()["missing"], "refused" in told.changing.configz()) == (why, False)
        assert await told.asks(NoDocument(why), caplog) == line.replace("is missing", "is still missing")


async def test_a_document_that_cannot_be_read_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    why = "m.yaml: is not UTF-8: invalid start byte at byte 0; save it as UTF-8"
    async with scene() as told:
        line = await told.asks(UnreadableDocument(why), caplog)
        assert line == f"the new document is refused, the last one stays in force: {why}"
        assert (caplog.records[0].levelname, told.changing.refusals) == ("ERROR", 1)
        assert told.changing.configz()["refused"] == why
        assert await told.asks(UnreadableDocument(why), caplog) == line.replace(
            "the new document is", "the document is still"
        )
        assert (await told.finds(SECOND)).verdict is None


async def test_a_document_that_is_not_told_counts_as_not_followed_until_it_is(caplog: pytest.LogCaptureFixture) -> None:
    why = "ConfigMap n/a is not told: 403"
    async with scene() as told:
        line = await told.asks(UnknownDocument(why), caplog)
        assert line == f"the document is waiting, the last one stays in force: {why}"
        assert (told.changing.loaded.verdict, told.changing.configz()["waiting"]) == ("waiting", why)
        assert (await told.finds(FIRST)).verdict is None


async def test_metrics_tell_what_became_of_the_newest_document() -> None:
    async with scene() as told:
        metrics = Metrics()
        add_document_gauges(metrics, told.changing, "m.yaml")

        def shown() -> tuple[set[str], str]:
            lines = [line for line in metrics.text().splitlines() if line.startswith("berth_document_")]
            whys = {line.split('"')[1] for line in lines if "_not_followed" in line and line.endswith(" 1")}
            (refusals,) = (line for line in lines if "_refusals_total" in line)
            return whys, refusals

        assert shown() == (set(), 'berth_document_refusals_total{source="m.yaml"} 0')
        await told.finds(DocumentText("a: ["))
        assert shown() == ({"refused"}, 'berth_document_refusals_total{source="m.yaml"} 1')
        await told.finds(NoDocument("gone"))
        assert shown() == ({"missing"}, 'berth_document_refusals_total{source="m.yaml"} 1')
        await told.finds(SECOND)
        assert shown() == (set(), 'berth_document_refusals_total{source="m.yaml"} 1')


async def test_a_mistake_that_is_taken_back_leaves_everything_as_it_was() -> None:
    async with scene() as told:
        before = told.said[0]
        await told.finds(NoDocument("gone"))
        assert await told.finds(FIRST) == before
        assert told.process.plans == []


async def test_whoever_asks_is_answered_whether_something_has_changed_or_not(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bad = DocumentText("a: [")
    async with scene() as told:
        assert await told.asks(FIRST, caplog) == "the document is unchanged and in force"
        refused = await told.asks(bad, caplog)
        assert refused.startswith("the new document is refused, the last one stays in force: m.yaml: is not YAML")
        again = await told.asks(bad, caplog)
        assert again == refused.replace("the new document is refused", "the document is still refused")
        assert await told.asks(FIRST, caplog) == "the document is again the one in force"
        assert told.said[-1] == told.said[0]
        assert await told.asks(SECOND, caplog) == "follows a new document"


async def test_a_refused_document_is_logged_with_the_place_of_each_problem(caplog: pytest.LogCaptureFixture) -> None:
    async with scene() as told:
        said = await told.asks(written(parallelism=0, profile=[]), caplog)
        assert said.endswith(
            "force: m.yaml: parallelism: 0 is too small; it must be at least 1; "
            "m.yaml: profile: is not a field; did you mean profiles?"
        )


async def test_what_only_a_new_process_goes_by_is_told_until_it_is_taken_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scene() as told:
        await told.finds(written(profiles=[{"schedulerName": "b"}], clientConnection={"qps": 7}))
        assert told.process.names == [["b"]]
        assert told.changing.configz()["afterRestart"] == ["clientConnection"]
        assert "clientConnection of the new document: only a new process goes by it" in caplog.text
        await told.finds(SECOND)
        assert "afterRestart" not in told.changing.configz()


async def test_only_the_newest_of_many_documents_is_followed() -> None:
    async with scene() as told:
        await told.finds(SECOND)
        assert told._tell is not None
        for name in ("c", "d", "e"):
            told._tell(written(profiles=[{"schedulerName": name}]))
        said = await told.finds(written(profiles=[{"schedulerName": "f"}]))
        assert said.error == ""
        assert told.process.names == [["b"], ["f"]]
