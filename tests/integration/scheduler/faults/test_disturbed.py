"""Faults between scheduler and API server: every pod is bound once, and no node is overcommitted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from aiohttp import web

from devcluster import Cluster
from tests.integration.scheduler.faults.scene import PODS, Scene, scene
from tests.integration.scheduler.support import api, document, lease_of, scheduler
from tests.support.audit import AuditLog
from tests.support.proxy import (
    Act,
    Proxy,
    carry_out_and_reset,
    carry_out_and_say,
    cut_after,
    every,
    every_other_watch,
    garble_after,
    is_binding,
    is_list,
    is_watch,
    proxied,
    refuse,
    reset,
)

pytestmark = pytest.mark.cluster

EXPIRED = {"type": "ERROR", "object": {"code": 410, "reason": "Expired", "message": "too old"}}
EXPIRED_EVENT = json.dumps(EXPIRED).encode() + b"\n"


def pods_watch(request: web.Request) -> bool:
    return is_watch(request, "pods")


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param(every(1, pods_watch, cut_after(100, more=1)), id="cut-at-the-first-byte-of-a-line"),
        pytest.param(every(1, pods_watch, cut_after(100, more=333)), id="cut-in-the-middle-of-a-line"),
        pytest.param(every(1, is_watch, garble_after(100, b"<html>\n")), id="garbage"),
        pytest.param(every_other_watch(garble_after(0, b"")), id="ends-at-once"),
        pytest.param(every(1, pods_watch, garble_after(100, EXPIRED_EVENT)), id="410-event"),
        pytest.param(every_other_watch(refuse(410, "Expired")), id="410-answer"),
        pytest.param(every_other_watch(refuse(429, **{"Retry-After": "1"})), id="429"),
        pytest.param(every_other_watch(refuse(500, "InternalError")), id="500"),
    ],
)
async def test_disturbed_watches_lose_no_pod(cluster: Cluster, tmp_path: Path, rule: Act) -> None:
    async with scene(cluster, tmp_path, rule) as disturbed:
        breaking = asyncio.create_task(disturbed.proxy.break_watches_every(2.0))
        try:
            await disturbed.place()
        finally:
            breaking.cancel()
        assert disturbed.proxy.disturbed


async def test_a_request_is_repeated_when_a_busy_api_server_says(cluster: Cluster, tmp_path: Path) -> None:
    """Seven times in a row; pauses of our own would add up to more than a minute."""
    refused = 0

    async def busy(request: web.Request, proxy: Proxy) -> web.StreamResponse | None:
        nonlocal refused
        if not pods_watch(request) or refused == 7:
            return None
        refused += 1
        answer: web.StreamResponse = await refuse(429, **{"Retry-After": "1"})(request, proxy)
        return answer

    async with scene(cluster, tmp_path) as disturbed, disturbed.proxy.disturbing(busy):
        await disturbed.place(seconds=45)
    assert refused == 7


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(reset, id="reset-before"),
        pytest.param(carry_out_and_reset, id="reset-after"),
        pytest.param(refuse(500), id="500-before"),
        pytest.param(carry_out_and_say(500), id="500-after"),
        pytest.param(carry_out_and_say(504), id="504-after"),
        pytest.param(refuse(429, **{"Retry-After": "1"}), id="429"),
    ],
)
async def test_disturbed_bindings_bind_once(cluster: Cluster, tmp_path: Path, act: Act) -> None:
    async with scene(cluster, tmp_path, every(3, is_binding, act)) as disturbed:
        await disturbed.place()
        assert disturbed.proxy.disturbed.total() >= PODS // 3 - 1
        assert len(disturbed.process.lines("WARNING bindings fail")) <= PODS // 3


async def test_a_binding_that_is_answered_late_is_not_repeated(cluster: Cluster, tmp_path: Path) -> None:
    """The time-out of a binding passes, the API server carries it out nevertheless."""

    async def late(request: web.Request, proxy: Proxy) -> web.StreamResponse:
        async with proxy.sent(request) as answer:
            await answer.read()
        await asyncio.sleep(10)
        return web.Response(status=201)

    async with scene(cluster, tmp_path, every(10, is_binding, late)) as disturbed:
        await disturbed.place()


async def test_lists_and_events_that_fail_do_no_harm(cluster: Cluster, tmp_path: Path) -> None:
    def lists(request: web.Request) -> bool:
        return is_list(request, "pods", "nodes")

    def is_report(request: web.Request) -> bool:
        return "/events" in request.path or request.path.endswith("/status")

    rules = (every(2, lists, refuse(500)), every(2, is_report, refuse(503)), every(1, pods_watch, cut_after(100)))
    async with scene(cluster, tmp_path, *rules) as disturbed:
        await disturbed.place()


async def test_an_api_server_that_restarts_is_used_again(cluster: Cluster, audit_log: AuditLog, tmp_path: Path) -> None:
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, document(lease_of(tmp_path))) as process:
            await there.until(lambda: process.is_scheduling, 30)
            pods = await there.create_pods(PODS // 2, "before-restart", cpu="2")
            await asyncio.to_thread(cluster.stop, "kube-apiserver")
            await there.until(lambda: process.lines("cannot be reached"), 30)
            await asyncio.to_thread(cluster.start, "kube-apiserver")
            pods += await there.create_pods(PODS // 2, "after-restart", cpu="2")
            await there.all_bound(PODS)
            bound = audit_log.bindings()  # what was answered when the API server was killed is not among them
            assert {bound[name] for name in pods if bound[name]} == {1}
            assert await there.overcommitted() == []
            assert process.process.poll() is None
            warnings = [line for line in process.lines("WARNING") if "API server" in line]
            assert 1 <= len(warnings) <= 3  # one for each client that noticed


async def test_a_replaced_token_is_used(cluster: Cluster, tmp_path: Path) -> None:
    """The account is made anew, so that the API server refuses the token in use; then the file is replaced."""
    token = tmp_path / "token"

    def make_account() -> None:
        cluster.kubectl("create", "serviceaccount", "rotates")
        token.write_text(cluster.kubectl("create", "token", "rotates").stdout)

    make_account()
    account = "--serviceaccount=default:rotates"
    cluster.kubectl("create", "clusterrolebinding", "rotates", "--clusterrole=cluster-admin", account)
    try:
        async with api(cluster) as there, proxied(cluster, tmp_path, {"tokenFile": "token"}) as proxy:
            with scheduler(tmp_path, tmp_path / "kubeconfig", document(lease_of(tmp_path))) as process:
                await there.until(lambda: process.is_scheduling, 30)
                await there.create_pods(10, "first")
                await there.all_bound(10)
                cluster.kubectl("delete", "serviceaccount", "rotates")
                await proxy.break_watches()
                await there.until(lambda: process.lines("401"), 30)  # the API server believes a token for a while
                make_account()
                await there.create_pods(10, "second")
                await there.all_bound(20)
                await Scene(there, proxy, process).check(20)
                assert len(process.lines("WARNING lease")) <= 1
                assert len(process.lines("WARNING API server")) <= 2  # one for each client
    finally:
        cluster.kubectl("delete", "serviceaccount,clusterrolebinding", "rotates", "--ignore-not-found")
