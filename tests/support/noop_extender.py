"""An extender that filters nothing, and remembers which nodes a kube-scheduler asked it about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.threads import in_a_thread

Object = dict[str, Any]


class NoopExtender(ThreadingHTTPServer):
    """Serves ``/filter`` on loopback."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.feasible: dict[str, frozenset[str]] = {}
        """The feasible nodes of each pod, by its uid, as of the last time it was asked about it."""

    @property
    def configuration(self) -> Object:
        """How a document speaks of it."""
        return {
            "urlPrefix": f"http://127.0.0.1:{self.server_port}",
            "filterVerb": "filter",
            "nodeCacheCapable": True,
        }

    @classmethod
    @contextmanager
    def serving(cls) -> Iterator[NoopExtender]:
        """Serve until the end of the ``with``."""
        server = cls()
        with in_a_thread(server):
            yield server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: NoopExtender

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        names = question["NodeNames"] or []
        self.server.feasible[question["Pod"]["metadata"]["uid"]] = frozenset(names)
        answer = json.dumps({"NodeNames": names}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
