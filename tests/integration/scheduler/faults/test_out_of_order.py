"""Lists that expire between two pages, and watches that say things twice or in the wrong order."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from devcluster import Cluster
from tests.integration.scheduler.faults.scene import scene
from tests.integration.scheduler.faults.size import FULL
from tests.integration.scheduler.support import ApiView, pod
from tests.support.proxy import (
    Act,
    Proxy,
    carry_out_and_cut,
    every,
    garble_after,
    is_list,
    is_watch,
    paged,
    refuse,
    reorder,
)

pytestmark = pytest.mark.cluster

FULL_HOUSE = 60
"""As many of the pods below as the nodes have room for."""
EXPIRED = {"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old"}}
EXPIRED_EVENT = json.dumps(EXPIRED).encode() + b"\n"


def pods_watch(request: web.Request) -> bool:
    return is_watch(request, "pods")


def pods_list(request: web.Request) -> bool:
    return is_list(request, "pods")


def next_page(request: web.Request) -> bool:
    return pods_list(request) and "continue" in request.query


def whole_list(request: web.Request) -> bool:
    return pods_list(request) and not {"limit", "continue"} & request.query.keys()


def first_page(request: web.Request) -> bool:
    return pods_list(request) and "limit" in request.query and "continue" not in request.query


def noted(what: str, done: Counter[str], act: Act) -> Act:
    """Count what is done to requests."""

    async def noting(request: web.Request, proxy: Proxy) -> web.StreamResponse:
        done[what] += 1
        answer: web.StreamResponse = await act(request, proxy)
        return answer

    return noting


async def test_a_version_may_expire_anywhere_again_and_again(cluster: Cluster, tmp_path: Path) -> None:
    """Between two pages of a list, when a watch begins, and while it goes on.

    Every second list is cut, so that it is asked for in pages; when these expire, as a whole again, and that passes.
    """
    done, expired = Counter[str](), refuse(410, "Expired")
    rules = (
        every(2, whole_list, noted("cut", done, carry_out_and_cut)),
        every(1, first_page, paged(5)),
        every(1, next_page, noted("between pages", done, expired)),
        every(2, pods_watch, noted("at the beginning", done, expired)),
        every(1, pods_watch, noted("meanwhile", done, garble_after(30, EXPIRED_EVENT))),
    )
    async with scene(cluster, tmp_path, *rules) as disturbed:
        await disturbed.place()
        # How often depends on how much each list has caught up with. Nothing but its expiring ends a watch here.
        assert done.keys() == {"cut", "between pages", "at the beginning", "meanwhile"}
        assert not disturbed.process.lines("WARNING")


ORDERS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "backwards": lambda lines: lines[::-1],
    **(
        {"twice": lambda lines: [*lines, *lines], "backwards-and-again": lambda lines: [*lines[::-1], *lines]}
        if FULL
        else {}
    ),
}


@pytest.mark.parametrize("order", [pytest.param(order, id=name) for name, order in ORDERS.items()])
async def test_no_room_is_lost_or_counted_twice_when_a_watch_is_out_of_order(
    cluster: Cluster, tmp_path: Path, order: Callable[[list[bytes]], list[bytes]]
) -> None:
    """Pods pass through that fill the nodes; who believes that one is still there has no room for those that follow."""
    async with scene(cluster, tmp_path, every(1, pods_watch, reorder(order))) as disturbed:
        there = disturbed.there
        await asyncio.gather(*(pass_through(there, node["metadata"]["name"]) for node in await there.nodes()))
        await there.create_pods(FULL_HOUSE, cpu="10")
        await there.all_bound(FULL_HOUSE)
        await disturbed.check(FULL_HOUSE)


async def pass_through(there: ApiView, node: str) -> None:
    """A pod is bound to the node by hand, takes all of it, and is deleted at once."""
    path = "/api/v1/namespaces/default/pods"
    await there.client.request("POST", path, body=pod(f"on-{node}", cpu="32", nodeName=node))
    await there.client.request("DELETE", f"{path}/on-{node}", body={"gracePeriodSeconds": 0})
