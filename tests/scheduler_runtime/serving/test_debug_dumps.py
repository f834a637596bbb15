"""Dumps of the cache and the queue, and the differences between the cache and the API server."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.framework import Progress
from scheduler_runtime.kube.blocking_client import RequestFailedError
from scheduler_runtime.kube.credentials import Credentials
from scheduler_runtime.scheduling.pending import SchedulingQueue
from scheduler_runtime.serving.debug_dumps import compare_with_api, dump_cache, dump_queue, log_dumps
from scheduler_runtime.state.cache import Cache
from tests.support.threads import in_a_thread


def cache() -> Cache:
    """Node n with one bound and one assumed pod, and a pod on an unknown node."""
    cache = Cache()
    cache.set_node(testing.node("n", cpu="4"))
    cache.add(testing.pod("bound", {"cpu": "1"}, nodeName="n"))
    cache.assume(testing.pod("assumed", {"cpu": "500m"}), "n")
    cache.add(testing.pod("lost", nodeName="gone"))
    return cache


def queue() -> SchedulingQueue:
    queue = SchedulingQueue({"default": testing.framework({})})
    queue.add(testing.pod("a"), "default", 10)
    queue.take(10)
    queue.park("uid-of-a", ["NodeAffinity"], 12)
    return queue


def test_the_cache_is_dumped_node_by_node() -> None:
    dump = dump_cache(cache())
    (node,) = dump["nodes"]
    assert (node["name"], node["allocatable"]["cpu"], node["requested"]["cpu"]) == ("n", 4000, 1500)
    assert [(pod["name"], pod["assumed"]) for pod in node["pods"]] == [
        ("default/bound", False),
        ("default/assumed", True),
    ]
    assert [pod["node"] for pod in dump["podsOnUnknownNodes"]] == ["gone"]


def test_the_queue_is_dumped_place_by_place() -> None:
    assert dump_queue(queue(), 15, Progress()) == {
        "unschedulable": [
            {
                "name": "default/a",
                "uid": "uid-of-a",
                "profile": "default",
                "seconds": 3,
                "attempts": 1,
                "rejectedBy": ["NodeAffinity"],
            }
        ]
    }


def test_the_log_has_a_line_for_each_node_and_each_waiting_pod(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    log_dumps(cache(), queue(), Progress())
    assert [record.message for record in caplog.records] == [
        "cached node",
        "cached pod on an unknown node",
        "waiting pod",
    ]
    assert vars(caplog.records[0])["pods"] == ["default/bound", "default/assumed"]


@contextmanager
def api_server(**items: list[dict[str, Any]]) -> Iterator[Credentials]:
    """Answers lists of nodes and pods, one object a page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            all_of = items[path.rpartition("/")[2]]
            at = int(query.partition("continue=")[2] or 0)
            more = {"continue": str(at + 1)} if at + 1 < len(all_of) else {}
            body = json.dumps({"items": all_of[at : at + 1], "metadata": more}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    with in_a_thread(server):
        yield Credentials(f"http://127.0.0.1:{server.server_port}")


def pod_object(name: str, node: str = "", phase: str = "Running") -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-of-{name}"}
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": {"phase": phase}}


def test_differences_from_the_api_are_named() -> None:
    pods = [
        pod_object("bound", "other"),
        pod_object("new", "n"),
        pod_object("ended", "n", "Succeeded"),
        pod_object("waiting"),
    ]
    with api_server(nodes=[{"metadata": {"name": "m"}}], pods=pods) as credentials:
        assert compare_with_api(cache(), credentials, "tests") == {
            "nodesMissing": ["m"],
            "nodesRedundant": ["n"],
            "podsMissing": ["default/new"],
            "podsRedundant": ["default/lost"],
            "podsAssumed": ["default/assumed"],
            "podsElsewhere": ["default/bound is on other, not on n"],
        }


def test_without_an_api_server_there_is_nothing_to_compare_with() -> None:
    with pytest.raises(RequestFailedError, match="Connection refused"):
        compare_with_api(cache(), Credentials("http://127.0.0.1:9"), "tests")
