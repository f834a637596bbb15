"""Scheduler processes that are assembled as a real one is, in this process of a test."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scheduler_runtime import config
from scheduler_runtime.api import Plugin
from scheduler_runtime.app import startup
from scheduler_runtime.app.scheduler import Clients, Scheduler
from scheduler_runtime.app.settings import SchedulerSettings
from scheduler_runtime.catalog import Version
from scheduler_runtime.component.https import ServingSettings
from scheduler_runtime.config import Document
from scheduler_runtime.kube.client import Client
from scheduler_runtime.reload.plan import DocumentText, Planner
from scheduler_runtime.reload.reloader import DocumentSource
from scheduler_runtime.scheduling.metrics import Metrics
from tests.support.kubeconfigs import kubeconfig

VERSION = Version.parse("v1.36.4")


def settings_of(
    directory: Path, first: DocumentText, server: str, plugins: Iterable[type[Plugin]] = ()
) -> SchedulerSettings:
    """What a process is started with that goes by the document ``first``, and shows no pages."""
    document = config.load(first.text)
    assert isinstance(document, Document), str(document)
    return SchedulerSettings(
        source="x",
        text=first,
        document=document,
        kubeconfig=str(kubeconfig(directory, server)),
        version=VERSION,
        feature_gates={},
        serving=ServingSettings(address="127.0.0.1", port=0),
        user_agent="tests",
        plugins={plugin.__name__: plugin for plugin in plugins},
    )


async def assembled(
    directory: Path,
    first: DocumentText,
    client: Client,
    plugins: Iterable[type[Plugin]] = (),
    metrics: Metrics | None = None,
    source: DocumentSource | None = None,
) -> tuple[Scheduler, Planner]:
    """A process that goes by the document ``first``, with these plugins of its own, and what plans others for it."""
    settings = settings_of(directory, first, client.server, plugins)
    return await assembled_with(settings, (client, client), metrics, source)


async def assembled_with(
    settings: SchedulerSettings,
    clients: tuple[Client, Client],
    metrics: Metrics | None = None,
    source: DocumentSource | None = None,
) -> tuple[Scheduler, Planner]:
    """The same with these settings, and a client for what is done and one for what is told."""
    planner = startup.create_planner(settings, VERSION, clients[0])
    plan = await startup.first_plan(settings, planner)
    return startup.assemble(settings, plan, planner, Clients(*clients), metrics or Metrics(), source), planner
