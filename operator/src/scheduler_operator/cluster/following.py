"""Follows one kind of objects where kopf does not: in another namespace, or by another selector."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from scheduler_runtime.kube import Change, Client, Kind, Reflector, credentials
from scheduler_runtime.kube.watch.kinds import Object

T = TypeVar("T", bound=Object)


async def follow(
    kubeconfig: str, user_agent: str, kind: Kind[T], take: Callable[[Change[T]], None], on_listed: Callable[[], None]
) -> None:
    """Call ``take`` with each change until cancelled, and ``on_listed`` once all that there is has been taken."""
    loaded = await asyncio.to_thread(credentials.load, kubeconfig)
    async with Client(loaded, user_agent) as client:
        reflector = Reflector(kind, client, take)
        async with asyncio.TaskGroup() as group:
            group.create_task(reflector.run())
            await reflector.synced.wait()
            on_listed()
