"""Health, metrics and configuration over HTTP, from threads of their own, so that a busy scheduler answers.

/livez /healthz   200 unless something that should end the process did not
/readyz           200 once everything is known that a decision needs; a standby is ready too
/metrics          Prometheus
/configz          the document that was loaded, with its hash
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TEXT = "text/plain; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
JSON = "application/json"

Problem = Callable[[], str | None]
"""Says what is wrong, None when nothing is."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """What is asked when somebody asks; every answer is made in the asker's thread."""

    alive: Problem
    ready: Problem
    metrics: Callable[[], str]
    config: Callable[[], Any]

    def answer(self, path: str) -> tuple[int, str, str]:
        """Return status, content type and body for ``path``."""
        match path.partition("?")[0].rstrip("/"):
            case "/livez" | "/healthz":
                return _health(self.alive())
            case "/readyz":
                return _health(self.alive() or self.ready())
            case "/metrics":
                return 200, PROMETHEUS, self.metrics()
            case "/configz":
                return 200, JSON, json.dumps(self.config())
        return 404, TEXT, "there are /livez, /readyz, /metrics and /configz\n"


def _health(problem: str | None) -> tuple[int, str, str]:
    return (500, TEXT, f"{problem}\n") if problem else (200, TEXT, "ok")


@contextmanager
def serving(endpoints: Endpoints, address: str, port: int) -> Iterator[int]:
    """Serve until the end of the ``with``; gives the port, which is chosen when ``port`` is 0.

    Raises OSError when the address cannot be used.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 30

        def do_GET(self) -> None:
            status, kind, body = endpoints.answer(self.path)
            payload = body.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: object) -> None:
            """Say nothing: probes come every few seconds."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        address_family = socket.AF_INET6 if ":" in address else socket.AF_INET

    with Server((address, port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="endpoints", daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()
