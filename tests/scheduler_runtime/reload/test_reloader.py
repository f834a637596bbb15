"""A new document is put in force as a whole, or refused as a whole and reported."""

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
    NoDocument,
    SourceUnreachable,
    UnreadableDocument,
)
from scheduler_runtime.reload.plan import DocumentText, Plan, Planner
from scheduler_runtime.reload.plugin_sources import PluginSources
from scheduler_runtime.reload.reloader import WAITS, PreparedChange, Reloader
from scheduler_runtime.scheduling.metrics import Metrics
from scheduler_runtime.serving.scrape_gauges import add_document_gauges
from tests.support.scripted import Answer, Script, granting, refuses, resets, says, serving

HEADER = {"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}


def document_text(**fields: Any) -> DocumentText:
    return DocumentText(yaml.safe_dump({**HEADER, **fields}))


FIRST = document_text(profiles=[{"schedulerName": "a"}])
SECOND = document_text(profiles=[{"schedulerName": "b"}])


class Part:
    """A part that changes with the document, or cannot."""

    def __init__(self) -> None:
        self.plans: list[Plan] = []
        self.trouble: Exception | None = None

    async def prepare(self, running: Plan, plan: Plan) -> PreparedChange:
        if self.trouble:
            raise self.trouble
        return PreparedChange(lambda: self.plans.append(plan))

    @property
    def names(self) -> list[list[str]]:
        return [[profile.scheduler_name for profile in plan.profiles] for plan in self.plans]


class Scene:
    """A reloader of a process that was started with FIRST, and its source."""

    def __init__(self, running: Plan, planner: Planner) -> None:
        self.reports: list[LoadReport] = []
        self.part = Part()
        self.reloader = Reloader(running, (self.part,), planner, self.reports.append, Backoff(0.02, 0.05))
        self._notify: Callable[[DocumentState], None] | None = None
        self._ready = asyncio.Event()

    async def watch(self, notify: Callable[[DocumentState], None], current: DocumentState) -> None:
        self._notify = notify
        self._ready.set()
        await asyncio.Event().wait()

    def locate(self, problem: str) -> str:
        return f"m.yaml: {problem}"

    async def log_after(self, newest: DocumentState, log: pytest.LogCaptureFixture) -> str:
        """Notify of ``newest``, as at a SIGHUP; return the first line of the log after that."""
        await self._ready.wait()
        assert self._notify is not None
        log.clear()
        self._notify(newest)
        async with asyncio.timeout(5):
            while not log.records:  # noqa: ASYNC110  what is waited for is a list
                await asyncio.sleep(0.005)
        return log.messages[0]

    async def report(self, newest: DocumentState) -> LoadReport:
        """Notify of ``newest``; return what the reloader reports then."""
        await self._ready.wait()
        assert self._notify is not None
        count = len(self.reports)
        self._notify(newest)
        async with asyncio.timeout(5):
            while len(self.reports) == count:  # noqa: ASYNC110  what is waited for is a list
                await asyncio.sleep(0.005)
        return self.reports[-1]


@contextlib.asynccontextmanager
async def scene(first: DocumentText = FIRST, otherwise: Answer | None = None) -> AsyncIterator[Scene]:
    async with serving(Script(otherwise=granting(otherwise or says({})))) as client:
        planner = Planner(Target.parse("v1.36.4"), PluginSources(client, "n", are_allowed=True))
        running = await planner.plan(first)
        assert isinstance(running, Plan), running
        at = Scene(running, planner)
        task = asyncio.create_task(at.reloader.run(at))
        try:
            yield at
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_the_first_report_is_about_the_document_at_the_start() -> None:
    async with scene() as at:
        assert [(report.hash, report.error) for report in at.reports] == [(FIRST.hash, "")]


async def test_a_new_document_is_put_in_force_and_reported() -> None:
    async with scene() as at:
        report = await at.report(SECOND)
        assert (report.hash, report.error, at.part.names) == (SECOND.hash, "", [["b"]])
        page = at.reloader.configz_page()["componentconfig"]
        assert (page["profiles"][0]["schedulerName"], page["parallelism"]) == ("b", 16)


async def test_everything_that_is_wrong_is_reported_and_nothing_changes() -> None:
    async with scene() as at:
        report = await at.report(document_text(parallelism=0, profiles=[{"schedulerName": "b", "plugin": {}}]))
        assert report.hash == FIRST.hash
        assert report.error.splitlines() == [
            "parallelism: 0 is too small; it must be at least 1",
            "profiles[0].plugin: is not a field; did you mean plugins?",
        ]
        assert at.part.plans == []
        assert at.reloader.configz_page()["refused"] == report.error


async def test_what_is_wrong_beside_the_document_has_its_file() -> None:
    async with scene() as at:
        assert (await at.report(DocumentText(SECOND.text, "event: All"))).error.startswith(
            "berth.yaml: event: is not a field"
        )


async def test_profiles_that_sort_one_queue_differently_are_refused() -> None:
    sorts = {"queueSort": {"enabled": [{"name": "PrioritySort"}], "disabled": [{"name": "*"}]}}
    async with scene() as at:
        report = await at.report(
            document_text(profiles=[{"schedulerName": "a"}, {"schedulerName": "b", "plugins": sorts}])
        )
        assert "all profiles of a process share one queue" in report.error


def in_turn(*answers: Answer) -> tuple[Answer, list[str]]:
    """Answers in turn, the last of them from then on, and the paths of the requests."""
    paths: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        paths.append(request.path)
        return await answers[min(len(paths), len(answers)) - 1](request)

    return answer, paths


async def times(paths: list[str], count: int) -> None:
    async with asyncio.timeout(5):
        while len(paths) < count:  # noqa: ASYNC110  what is waited for is a list
            await asyncio.sleep(0.005)


WITH_SOURCE = DocumentText(
    SECOND.text, yaml.safe_dump({"plugins": {"X": {"configMap": {"name": "x", "key": "x.py", "sha256": "0" * 64}}}})
)


async def test_a_document_whose_plugins_cannot_be_read_now_waits_and_that_is_reported_once_whatever_the_cause(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answer, paths = in_turn(refuses(503), resets, refuses(500), resets, refuses(429))
    async with scene(otherwise=answer) as at:
        assert (await at.report(WITH_SOURCE)).error == WAITS
        await times(paths, 6)
        assert [(report.verdict, report.error) for report in at.reports] == [(None, ""), ("waiting", WAITS)]
        assert [key for key in at.reloader.configz_page() if key in get_args(Verdict)] == ["waiting"]
        (line,) = [record for record in caplog.records if "stays in force" in record.getMessage()]
        assert line.levelname == "WARNING"
        assert line.getMessage().endswith(f"{WAITS}: ConfigMap n/x: cannot be read: 503: no")
        again = await at.log_after(WITH_SOURCE, caplog)
        assert again == line.getMessage().replace("the new document is waiting", "the document is still waiting")


async def test_a_refused_document_stays_refused_while_the_api_server_does_not_answer() -> None:
    answer, paths = in_turn(says({"metadata": {"name": "x"}, "data": {}}), refuses(503))
    async with scene(otherwise=answer) as at:
        assert (await at.report(WITH_SOURCE)).error == "plugin X: ConfigMap n/x: has no x.py"
        await times(paths, 4)
        assert len(at.reports) == 2


class Recording:
    """A part that records what happens to it; without a ``name`` it cannot get ready."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self._name = name
        self._calls = calls

    async def prepare(self, running: Plan, plan: Plan) -> PreparedChange:
        self._calls.append(f"prepare {self._name}")
        if not self._name:
            raise RegistrationError("no")
        record = self._calls.append
        return PreparedChange(lambda: record(f"commit {self._name}"), lambda: record(f"discard {self._name}"))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a", "b"], ["prepare a", "prepare b", "commit b", "commit a"]),
        (["a", "b", "", "d"], ["prepare a", "prepare b", "prepare ", "discard b", "discard a"]),
    ],
    ids=["all-are-ready", "the-third-is-not"],
)
async def test_parts_get_ready_in_order_and_change_in_reverse_order_or_not_at_all(
    names: list[str], expected: list[str]
) -> None:
    calls: list[str] = []
    async with serving(Script()) as client:
        planner = Planner(Target.parse("v1.36.4"), PluginSources(client, "n"))
        plan = await planner.plan(FIRST)
        assert isinstance(plan, Plan)
        reloader = Reloader(plan, [Recording(name, calls) for name in names], planner, lambda _: None)
        with contextlib.suppress(RegistrationError):
            reloader.commit(plan, await reloader.prepare(plan))
    assert calls == expected


@pytest.mark.parametrize("trouble", [RegistrationError("plugin X: no"), NotListedError("configmaps: 403")])
async def test_a_document_for_which_a_part_cannot_get_ready_is_refused(trouble: Exception) -> None:
    async with scene() as at:
        at.part.trouble = trouble
        report = await at.report(SECOND)
        assert (report.hash, report.error) == (FIRST.hash, str(trouble))
        at.part.trouble = None
        assert (await at.report(document_text(profiles=[{"schedulerName": "c"}]))).error == ""


async def test_a_change_that_fails_half_way_ends_the_process_and_is_no_refusal() -> None:
    def fails() -> None:
        raise ZeroDivisionError

    class HalfWay(Part):
        async def prepare(self, running: Plan, plan: Plan) -> PreparedChange:
            return PreparedChange(fails)

    class NewDocument:
        async def watch(self, notify: Callable[[DocumentState], None], current: DocumentState) -> None:
            notify(SECOND)

        def locate(self, problem: str) -> str:
            return problem

    async with serving(Script()) as client:
        planner = Planner(Target.parse("v1.36.4"), PluginSources(client, "n"))
        plan = await planner.plan(FIRST)
        assert isinstance(plan, Plan)
        reloader = Reloader(plan, [HalfWay(), Part()], planner, lambda _: None)
        with pytest.raises(ExceptionGroup) as caught:
            await asyncio.wait_for(reloader.run(NewDocument()), 10)
    assert caught.group_contains(ZeroDivisionError)
    assert (reloader.refusals, reloader.status.verdict) == (0, None)


async def test_a_refused_document_is_followed_once_what_it_lacked_is_there_and_refused_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scene() as at:
        at.part.trouble = NotListedError("configmaps: 403")
        await at.report(SECOND)
        await asyncio.sleep(0.3)
        at.part.trouble = None
        async with asyncio.timeout(5):
            while not at.part.plans:  # noqa: ASYNC110  what is waited for is a list
                await asyncio.sleep(0.005)
        assert [(report.hash, report.error) for report in at.reports[1:]] == [
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
    async with scene() as at:
        at.part.trouble = VaryingError()
        await at.report(SECOND)
        async with asyncio.timeout(5):
            while len(at.reports) < 5:  # noqa: ASYNC110  what is waited for is a list
                await asyncio.sleep(0.005)
        assert (refusals(), at.reloader.refusals) == (["ERROR"], 1)
        assert (await at.log_after(SECOND, caplog)).startswith("the document is still refused, the last one stays in")
        assert at.reloader.configz_page()["refused"] == at.reports[-1].error
        await at.report(NoDocument("gone"))
        await at.report(SECOND)
        assert (refusals(), at.reloader.refusals) == (["ERROR"], 2)


async def test_a_document_that_is_missing_stays_in_force_and_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    why = "ConfigMap n/berth-a is not there; it is followed as soon as it is"
    async with scene() as at:
        line = await at.log_after(NoDocument(why), caplog)
        assert line == f"the document is missing, the last one stays in force: {why}"
        assert caplog.records[0].levelname == "WARNING"
        assert (at.reports[-1].hash, at.reports[-1].verdict, at.reports[-1].error) == (FIRST.hash, "missing", why)
        assert (at.reloader.configz_page()["missing"], "refused" in at.reloader.configz_page()) == (why, False)
        assert await at.log_after(NoDocument(why), caplog) == line.replace("is missing", "is still missing")


async def test_a_document_that_cannot_be_read_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    why = "m.yaml: is not UTF-8: invalid start byte at byte 0; save it as UTF-8"
    async with scene() as at:
        line = await at.log_after(UnreadableDocument(why), caplog)
        assert line == f"the new document is refused, the last one stays in force: {why}"
        assert (caplog.records[0].levelname, at.reloader.refusals) == ("ERROR", 1)
        assert at.reloader.configz_page()["refused"] == why
        assert await at.log_after(UnreadableDocument(why), caplog) == line.replace(
            "the new document is", "the document is still"
        )
        assert (await at.report(SECOND)).verdict is None


async def test_a_document_that_cannot_be_watched_counts_as_not_followed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    why = "ConfigMap n/a cannot be watched: 403"
    async with scene() as at:
        line = await at.log_after(SourceUnreachable(why), caplog)
        assert line == f"the document is waiting, the last one stays in force: {why}"
        assert (at.reloader.status.verdict, at.reloader.configz_page()["waiting"]) == ("waiting", why)
        assert (await at.report(FIRST)).verdict is None


async def test_metrics_show_what_became_of_the_newest_document() -> None:
    async with scene() as at:
        metrics = Metrics()
        add_document_gauges(metrics, at.reloader, "m.yaml")

        def show() -> tuple[set[str], str]:
            lines = [line for line in metrics.text().splitlines() if line.startswith("berth_document_")]
            whys = {line.split('"')[1] for line in lines if "_not_followed" in line and line.endswith(" 1")}
            (refusals,) = (line for line in lines if "_refusals_total" in line)
            return whys, refusals

        assert show() == (set(), 'berth_document_refusals_total{source="m.yaml"} 0')
        await at.report(DocumentText("a: ["))
        assert show() == ({"refused"}, 'berth_document_refusals_total{source="m.yaml"} 1')
        await at.report(NoDocument("gone"))
        assert show() == ({"missing"}, 'berth_document_refusals_total{source="m.yaml"} 1')
        await at.report(SECOND)
        assert show() == (set(), 'berth_document_refusals_total{source="m.yaml"} 1')


async def test_a_mistake_that_is_undone_leaves_everything_as_it_was() -> None:
    async with scene() as at:
        before = at.reports[0]
        await at.report(NoDocument("gone"))
        assert await at.report(FIRST) == before
        assert at.part.plans == []


async def test_a_requested_report_is_answered_also_if_nothing_has_changed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    invalid = DocumentText("a: [")
    async with scene() as at:
        assert await at.log_after(FIRST, caplog) == "the document is unchanged and in force"
        refused = await at.log_after(invalid, caplog)
        assert refused.startswith("the new document is refused, the last one stays in force: m.yaml: is not YAML")
        again = await at.log_after(invalid, caplog)
        assert again == refused.replace("the new document is refused", "the document is still refused")
        assert await at.log_after(FIRST, caplog) == "the document is again the one in force"
        assert at.reports[-1] == at.reports[0]
        assert await at.log_after(SECOND, caplog) == "follows a new document"


async def test_a_refused_document_is_logged_with_the_place_of_each_problem(caplog: pytest.LogCaptureFixture) -> None:
    async with scene() as at:
        line = await at.log_after(document_text(parallelism=0, profile=[]), caplog)
        assert line.endswith(
            "force: m.yaml: parallelism: 0 is too small; it must be at least 1; "
            "m.yaml: profile: is not a field; did you mean profiles?"
        )


async def test_what_only_a_new_process_goes_by_is_reported_until_it_is_undone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with scene() as at:
        await at.report(document_text(profiles=[{"schedulerName": "b"}], clientConnection={"qps": 7}))
        assert at.part.names == [["b"]]
        assert at.reloader.configz_page()["afterRestart"] == ["clientConnection"]
        assert "clientConnection of the new document: takes effect only in a new process" in caplog.text
        await at.report(SECOND)
        assert "afterRestart" not in at.reloader.configz_page()


async def test_only_the_newest_of_many_documents_is_followed() -> None:
    async with scene() as at:
        await at.report(SECOND)
        assert at._notify is not None
        for name in ("c", "d", "e"):
            at._notify(document_text(profiles=[{"schedulerName": name}]))
        report = await at.report(document_text(profiles=[{"schedulerName": "f"}]))
        assert report.error == ""
        assert at.part.names == [["b"], ["f"]]
