"""CPU of a client for one request: ``python -m bench.micro.requests [--count N] [--rounds N]``.

Binds pods through a real API server, by each client in turn, in one process, with 64 and with 8 requests under way.
Another client can be measured beside ours when it is added to ``CLIENTS``.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import os
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import uvloop

import devcluster
from bench.side_by_side.run import control_plane
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.client import Client

PODS = "/api/v1/namespaces/default/pods"
CREATORS = 32
UNDER_WAY = (64, 8)
SETTLING_SECONDS = 0.3


def http2(kubeconfig: Path) -> Client:
    return Client(credentials.load(str(kubeconfig)), "bench")


def http1(kubeconfig: Path) -> Client:
    return Client(replace(credentials.load(str(kubeconfig)), http2_tls=None), "bench")


CLIENTS: dict[str, Callable[[Path], Client]] = {"HTTP/2": http2, "HTTP/1.1": http1}


async def at_once(count: int, act: Callable[[str], Awaitable[object]], names: Iterable[str]) -> None:
    """Call ``act`` for each of ``names``, ``count`` at a time."""
    remaining = iter(names)

    async def worker() -> None:
        for name in remaining:
            await act(name)

    await asyncio.gather(*(worker() for _ in range(count)))


async def bind(client: Client, name: str) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": "somewhere"}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"namespace": "default", "name": name}, "target": target}
    await client.request("POST", f"{PODS}/{name}/binding", body=body, before_send=lambda: None)


async def create(client: Client, name: str) -> None:
    spec = {"schedulerName": "nobody", "containers": [{"name": "c", "image": "none"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    await client.request("POST", PODS, body=pod)


async def microseconds(client: Client, names: Iterable[str], count: int, under_way: int) -> float:
    """The CPU of this process for one of ``count`` bindings; their pods are there already."""
    await asyncio.sleep(SETTLING_SECONDS)
    gc.collect()
    before = time.process_time()
    await at_once(under_way, lambda name: bind(client, name), names)
    return (time.process_time() - before) / count * 1e6


async def measure(kubeconfig: Path, count: int, rounds: int) -> Iterator[str]:
    """Lines with the median and the extremes of ``rounds``; a first round is not counted."""
    counter = itertools.count()
    clients = {name: make(kubeconfig) for name, make in CLIENTS.items()}
    times: dict[tuple[int, str], list[float]] = {}
    async with http2(kubeconfig) as administrator:
        for under_way, turn in itertools.product(UNDER_WAY, range(rounds + 1)):
            for name in sorted(clients, reverse=bool(turn % 2)):
                pods = [f"pod-{number}" for number in itertools.islice(counter, count)]
                await at_once(CREATORS, lambda pod: create(administrator, pod), pods)
                spent = await microseconds(clients[name], pods, count, under_way)
                if turn:
                    times.setdefault((under_way, name), []).append(spent)
                await administrator.request("DELETE", PODS, body={"gracePeriodSeconds": 0})
    for client in clients.values():
        await client.__aexit__(None, None, None)
    return (
        f"{under_way:>3} under way {name:>9} {statistics.median(row):6.1f} µs ({min(row):.1f} to {max(row):.1f})"
        for (under_way, name), row in times.items()
    )


def main() -> None:
    """Measure on a control plane of its own."""
    parser = argparse.ArgumentParser(prog="python -m bench.micro.requests", description=__doc__.partition(":")[0])
    parser.add_argument("--count", type=int, default=600, help="bindings of a round (600)")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--kubernetes", default="1.36")
    arguments = parser.parse_args()
    os.environ.pop("DISABLE_HTTP2", None)
    with devcluster.running(control_plane(arguments.kubernetes)) as cluster:
        print(*uvloop.run(measure(cluster.kubeconfig, arguments.count, arguments.rounds)), sep="\n")


if __name__ == "__main__":
    main()
