"""Scheduler processes that are assembled as a real one is, in this process of a test."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scheduler_runtime import config, running
from scheduler_runtime.api import Plugin
from scheduler_runtime.catalog import Version
from scheduler_runtime.client import Client
from scheduler_runtime.config import Document
from scheduler_runtime.following import Found
from scheduler_runtime.listening import Listening
from scheduler_runtime.metrics import Metrics
from scheduler_runtime.plans import Planner
from scheduler_runtime.process import Process
from scheduler_runtime.settings import Settings
from tests.support.kubeconfigs import kubeconfig

VERSION = Version.parse("v1.36.4")


async def assembled(
    directory: Path,
    first: Found,
    client: Client,
    plugins: Iterable[type[Plugin]] = (),
    metrics: Metrics | None = None,
) -> tuple[Process, Planner]:
    """A process that goes by the document ``first``, with these plugins of its own, and what plans others for it."""
    document = config.load(first.text)
    assert isinstance(document, Document), str(document)
    settings = Settings(
        source="x",
        found=first,
        document=document,
        kubeconfig=str(kubeconfig(directory, client.server)),
        version=VERSION,
        feature_gates={},
        listening=Listening(address="127.0.0.1", port=0),
        user_agent="tests",
        plugins={each.__name__: each for each in plugins},
    )
    planner = running.planner_of(settings, VERSION, client)
    plan = await running.first_plan(settings, planner)
    return running.assemble(settings, plan, VERSION, (client, client), metrics or Metrics()), planner
