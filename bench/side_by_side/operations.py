"""Performing the steps of a workload on an API server."""

from __future__ import annotations

import asyncio
import itertools

from bench.cluster.api import BulkClient, nodes, once, pods
from bench.cluster.client import Connection
from bench.workloads import Barrier, Churn, CreateAny, CreateNamespaces, CreateNodes, CreatePods, Step, Workload

WAIT_SECONDS = 600.0
"""The time in which pods must get their nodes."""


class Operations:
    """One workload on one API server."""

    def __init__(self, api: BulkClient, workload: Workload) -> None:
        self._api = api
        self._workload = workload
        self._created: dict[str, int] = {}

    async def perform(self, number: int, step: Step) -> None:
        """Do one step, the workload's ``number``-th."""
        match step:
            case CreateNodes():
                template = self._workload.templates[step.node_template_path]
                count, label = self._workload.count(step), step.label_node_prepare_strategy
                await self._api.create(nodes(template, count, label))
            case CreateNamespaces():
                for which in range(self._workload.count(step)):
                    await self._api.need_namespace(f"{step.prefix}-{which}")
            case CreatePods():
                await self.create_pods(step, namespace(number, step))
                if not step.skip_wait_to_completion:
                    await self.wait(namespace(number, step))
            case CreateAny():
                await self._api.need_namespace(step.namespace or "default")
                await self._api.create(
                    iter([once(self._workload.templates[step.template_path], step.namespace or "default")])
                )
            case Churn():
                await self._api.need_namespace(namespace(number, step))
                self._api.begin(self._churn(step, namespace(number, step)))
            case Barrier():
                for created in self._created:
                    await self.wait(created)

    async def create_pods(self, step: CreatePods, into: str) -> None:
        """Create the pods of a step, without waiting for them to get a node."""
        await self._api.follow(into)
        count = self._workload.count(step)
        self._created[into] = self._created.get(into, 0) + count
        await self._api.create(pods(self._workload.pod_template(step), count, into))

    async def wait(self, where: str) -> None:
        """Wait until every pod that was created in a namespace has a node. Raises TimeoutError."""
        await self._api.bound[where].reach(self._created[where], WAIT_SECONDS)

    async def _churn(self, step: Churn, into: str) -> None:
        connection = await Connection.open(self._api.server)
        try:
            for path in itertools.cycle(step.template_paths):
                await connection.post(*once(self._workload.templates[path], into))
                await asyncio.sleep(step.interval_milliseconds / 1000 / len(step.template_paths))
        finally:
            await connection.close()


def namespace(number: int, step: CreatePods | Churn) -> str:
    """The namespace of the step's objects: one of its own if the step names none."""
    return step.namespace or f"namespace-{number}"
