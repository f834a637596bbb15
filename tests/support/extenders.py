"""An extender of a test's own, over HTTP or HTTPS, that remembers what it was asked."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.threads import in_a_thread

Object = dict[str, Any]


@dataclass(frozen=True)
class Raw:
    """An answer that is not what extenders answer."""

    status: int
    body: bytes = b""


Answer = Callable[[Object], Any]
"""What is answered to a question: something to be written as JSON, or ``Raw``."""


class ExtenderServer(ThreadingHTTPServer):
    """Answers each verb as ``answers`` says; what is not there is not found."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answers: Mapping[str, Answer], tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = dict(answers)
        self.received: list[tuple[str, Object]] = []
        self.headers: list[Mapping[str, str]] = []
        """Of each question."""
        self.clients: set[object] = set()
        """Where the connections to it came from."""
        self.connected: set[object] = set()
        """Where those came from that are open."""
        self.released = threading.Event()
        """For answers that come late: set at the end."""
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server_port}"

    def questions(self, verb: str) -> list[Object]:
        """What it was asked with one verb."""
        return [question for received_verb, question in self.received if received_verb == verb]

    def configuration(self, **fields: Any) -> Object:
        """How a document speaks of it; it has a verb of the same name for each that it answers."""
        verbs = {f"{verb}Verb": verb for verb in self.answers}
        return {"urlPrefix": self.url, **({"weight": 1} if "prioritize" in self.answers else {}), **verbs, **fields}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that does not wait for the answer is no error of ours."""


@contextmanager
def serving(answers: Mapping[str, Answer], tls: ssl.SSLContext | None = None) -> Iterator[ExtenderServer]:
    """Serve until the end of the ``with``."""
    server = ExtenderServer(answers, tls)
    with in_a_thread(server):
        try:
            yield server
        finally:
            server.released.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ExtenderServer

    def setup(self) -> None:
        super().setup()
        self.server.connected.add(self.client_address)

    def finish(self) -> None:
        self.server.connected.discard(self.client_address)
        super().finish()

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        verb = self.path.strip("/").rpartition("/")[2]
        self.server.received.append((verb, question))
        self.server.headers.append(dict(self.headers))
        self.server.clients.add(self.client_address)
        answer = self.server.answers[verb](question) if verb in self.server.answers else Raw(404)
        reply = answer if isinstance(answer, Raw) else Raw(200, json.dumps(answer).encode())
        self.send_response(reply.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def nodes_of(question: Object) -> list[str]:
    """The nodes that it was asked about, as objects or by name."""
    if question["Nodes"] is not None:
        return [node["metadata"]["name"] for node in question["Nodes"]["items"]]
    names: list[str] = question["NodeNames"]
    return names


def keeps(*names: str) -> Answer:
    """Lets only these nodes through, in the form in which it was asked, and says why not the others."""

    def answer(question: Object) -> Object:
        failed = {name: "not this one" for name in nodes_of(question) if name not in names}
        if question["Nodes"] is None:
            return {"NodeNames": [name for name in question["NodeNames"] if name in names], "FailedNodes": failed}
        items = [node for node in question["Nodes"]["items"] if node["metadata"]["name"] in names]
        return {"Nodes": {"items": items}, "FailedNodes": failed}

    return answer


def prefers(name: str, score: int = 10) -> Answer:
    """Gives one node so many points, and one to each other."""
    return lambda question: [{"Host": node, "Score": score if node == name else 1} for node in nodes_of(question)]
