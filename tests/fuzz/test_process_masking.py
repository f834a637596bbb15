"""Marked secrets in a whole scheduler process: no page, log line, event, status or other request shows one.

What is looked at is not a list: every path that the process says it serves, every record of every logger, and every
request to the API server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, NoReturn

import pytest
import yaml

from devcluster.system.ports import free_port
from scheduler_runtime import config
from scheduler_runtime.api import Plugin, PluginArgs, Pod
from scheduler_runtime.app import startup
from scheduler_runtime.app.settings import NotReadyError, SchedulerSettings
from scheduler_runtime.catalog import Version
from scheduler_runtime.component.https import AccessRules, ProcessInfo, ServingSettings
from scheduler_runtime.component.log_format import JsonFormatter, TextFormatter
from scheduler_runtime.config import Document
from scheduler_runtime.reload.document_sources import DocumentFiles, ObjectName
from scheduler_runtime.reload.plan import DocumentText
from tests.fuzz.test_masking import MARK, MARKS, document, extender
from tests.support.extenders import Answer, Raw, serving
from tests.support.pages import get, listed_paths
from tests.support.scripted import Script, served
from tests.support.tiny_cluster import TinyCluster, pod

pytestmark = pytest.mark.thorough

TOTAL = max(5, int(os.environ.get("FUZZ", "1000")) // 50)
TOKEN = "t0ken-M4rk"
"""The token by which the API server knows the process."""
PODS = ("a", "b", "c")


class Hook(Plugin):
    """A plugin of somebody's, which is told an address with a password and repeats it when something goes wrong."""

    class Args(PluginArgs):
        address: str = ""

    def pre_filter(self, pod: Pod, nodes: Any, cycle: Any) -> NoReturn:
        logging.getLogger("somebody").warning("asks %s", self.args.address, extra={"address": self.args.address})
        raise ConnectionError(f"{self.args.address} does not answer")


@dataclass
class Records(logging.Handler):
    """What any logger of the process is told, as both forms of the log show it."""

    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    __hash__ = logging.Handler.__hash__

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += [TextFormatter().format(record), JsonFormatter().format(record)]

    def has(self, *words: str) -> bool:
        return any(word in line for line in self.lines for word in words)


@contextlib.contextmanager
def every_logger() -> Iterator[Records]:
    """Record whatever is logged, at all levels, also by loggers that keep their records to themselves."""
    root, records = logging.getLogger(), Records()
    loggers = [root, *(logging.getLogger(name) for name in list(logging.root.manager.loggerDict))]
    levels = [(logger, logger.level) for logger in loggers]
    alone = [logger for logger in loggers if logger is root or not logger.propagate]
    try:
        for logger in loggers:
            logger.setLevel(logging.DEBUG if logger is root else logging.NOTSET)
        for logger in alone:
            logger.addHandler(records)
        yield records
    finally:
        for logger in alone:
            logger.removeHandler(records)
        for logger, level in levels:
            logger.setLevel(level)


def answers(random: Random, address: str) -> dict[str, Answer]:
    """What an extender does that is there: it fails, repeats its address, or answers."""
    possible: tuple[Any, ...] = (
        Raw(500, address.encode()),
        Raw(200, address.encode()),
        {"Error": f"{address}/filter is not for you"},
        {"NodeNames": [], "FailedNodes": {"n": f"asked at {address}"}},
        {"NodeNames": [address]},
        {"NodeNames": ["n"]},
        [{"Host": address, "Score": 3}],
    )
    chosen = {verb: random.choice(possible) for verb in ("filter", "prioritize", "preempt", "bind")}
    return {verb: lambda _, answer=answer: answer for verb, answer in chosen.items()}  # type: ignore[misc]


def made_document(random: Random, url: str) -> dict[str, Any]:
    """A document with extenders that are there, elsewhere, or no extenders at all; perhaps with a plugin."""
    made = document(random)
    if random.random() < 0.7:
        made["extenders"] = [extender(random)]
        there = {
            "urlPrefix": url,
            "nodeCacheCapable": True,
            "weight": 1,
            **{f"{verb}Verb": verb for verb in ("filter", "prioritize", "preempt", "bind") if random.random() < 0.6},
        }
        if random.random() < 0.8:
            made["extenders"][0] = {"filterVerb": "filter", **there, "ignorable": random.random() < 0.2}
    if isinstance(made["extenders"], list):
        for one in made["extenders"]:
            if isinstance(one, dict):
                one.setdefault("httpTimeout", "200ms")
    if random.random() < 0.4:
        plugins = {"preFilter": {"enabled": [{"name": "Hook"}]}}
        arguments = {
            "name": "Hook",
            "args": {"address": random.choice((url.partition("?")[0], f"amqp://me:{MARK}@there"))},
        }
        made["profiles"] = [{"schedulerName": "default-scheduler", "plugins": plugins, "pluginConfig": [arguments]}]
    else:
        made["profiles"] = [{"schedulerName": "default-scheduler"}]
    return made


def a_valid_document(random: Random, url: str) -> str:
    """The text of a document that a process starts with."""
    while True:
        text = yaml.safe_dump(made_document(random, url))
        if isinstance(config.load(text), Document):
            return text


@dataclass
class RunningProcess:
    """A process as it is asked from outside, and all that it said."""

    port: int
    file: Path
    script: Script
    records: Records
    task: asyncio.Task[int]

    async def until(self, is_reached: Callable[[], object]) -> None:
        async with asyncio.timeout(30):
            while not is_reached():
                assert not self.task.done(), await self.task
                await asyncio.sleep(0.01)

    def has_events(self) -> bool:
        """Whether there is an event about each pod."""
        events = (request.body for request in self.script.requests("POST") if "events.k8s.io" in request.path)
        return {event["regarding"]["name"] for event in events} >= set(PODS)

    async def page(self, path: str) -> str:
        return (await asyncio.to_thread(get, self.port, path, scheme="https"))[1]

    async def pages(self) -> dict[str, str]:
        """Every path that the process serves, plainly and with what may be asked for besides."""
        listed = await asyncio.to_thread(listed_paths, self.port)
        assert {"/configz", "/metrics", "/debug/pending", "/livez"} <= set(listed)
        targets = [path + query for path in listed for query in ("", "?verbose&compare")]
        return {target: await self.page(target) for target in ("/", *targets)}

    def requests(self) -> Iterator[str]:
        """Whatever the API server was sent."""
        for request in self.script.received:
            yield f"{request.method} {request.path} {request.body!r} {request.body}"


def settings(directory: Path, text: str, server: str, port: int) -> SchedulerSettings:
    """What a process is started with that follows a file and shows every page to anybody."""
    file, kubeconfig = directory / "document.yaml", directory / "kubeconfig"
    file.write_text(text)
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    users, clusters = [{"name": "u", "user": {"token": TOKEN}}], [{"name": "c", "cluster": {"server": server}}]
    contexts = {"current-context": "c", "contexts": [context], "clusters": clusters, "users": users}
    kubeconfig.write_text(yaml.safe_dump(contexts))
    loaded = config.load(text)
    assert isinstance(loaded, Document)
    return SchedulerSettings(
        source=str(file),
        text=DocumentText(text),
        document=loaded,
        kubeconfig=str(kubeconfig),
        version=Version.parse("v1.36.4"),
        feature_gates={"ComponentFlagz": True, "ComponentStatusz": True},
        serving=ServingSettings(address="127.0.0.1", port=port, rules=AccessRules(allowed_paths=("/*",))),
        user_agent="tests",
        plugins={"Hook": Hook},
        files=DocumentFiles(str(file), "", 0.02),
        pod=ObjectName("n", "self"),
        process_info=ProcessInfo("0.9", {"config": str(file), "kubeconfig": str(kubeconfig)}),
    )


@contextlib.asynccontextmanager
async def process(directory: Path, text: str) -> AsyncIterator[RunningProcess]:
    """Run a process until it is told to end; some pods wait for it."""
    script, port = Script(otherwise=TinyCluster(*(pod(name) for name in PODS)).answer), free_port()
    with every_logger() as records:
        async with served(script) as server:
            started = settings(directory, text, server, port)
            task = asyncio.create_task(startup.run(started))
            try:
                yield RunningProcess(port, Path(started.source), script, records, task)
            finally:
                if not task.done():  # else nothing would hold the signal off this test
                    os.kill(os.getpid(), signal.SIGTERM)
                async with asyncio.timeout(20):
                    await task


async def outputs(random: Random, directory: Path) -> AsyncIterator[tuple[str, str]]:
    """Whatever a process tells about two documents of chance: that of its start, and one that comes later."""
    try:
        async for name, output in outputs_of_process(random, directory):
            yield name, output
    except NotReadyError as error:  # as main() prints it: not everything that is wrong with certificates is seen before
        yield "start", str(error)


async def outputs_of_process(random: Random, directory: Path) -> AsyncIterator[tuple[str, str]]:
    """The same, or raise NotReadyError when the first document does not let the process start."""
    with serving({}) as there:
        url = there.url.replace("://", random.choice((f"://me:{MARK}@", f"://{MARK}@"))) + random.choice(
            ("", f"/?token={MARK}")
        )
        there.answers.update(answers(random, url.partition("?")[0]))
        first, second = a_valid_document(random, url), yaml.safe_dump(made_document(random, url))
        async with process(directory, first) as running:
            records = running.records
            await running.until(running.has_events)
            for name, page in (await running.pages()).items():
                yield f"{name} at first", page
            running.file.write_text(second)
            if second != first:
                await running.until(lambda: records.has("follows a new document", "the new document is refused"))
            os.kill(os.getpid(), signal.SIGUSR2)
            await running.until(lambda: records.has("cached node"))
            for name, page in (await running.pages()).items():
                yield f"{name} later", page
        for line in records.lines:
            yield "log", line
        for request in running.requests():
            yield "request", request


async def test_no_output_of_a_process_has_a_secret(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    count, leaks = {"log": 0, "request": 0, "page": 0}, list[str]()
    for number in range(TOTAL):
        directory = tmp_path / str(number)
        directory.mkdir()
        async for name, output in outputs(Random(number), directory):  # noqa: S311 - chance, not secrets
            count[name if name in count else "page"] += 1
            if any(mark in output for mark in (*MARKS, TOKEN)):
                lines = [line[:500] for line in output.splitlines() if any(mark in line for mark in (*MARKS, TOKEN))]
                leaks.append(f"input {number}, {name}: {lines}")
    out, err = capfd.readouterr()
    assert not [mark for mark in (*MARKS, TOKEN) if mark in out + err]
    assert not leaks, "\n".join(leaks[:20])
    assert all(number >= 5 * TOTAL for number in count.values()), count
