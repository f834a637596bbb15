"""Listens, and answers each connection in a thread of its own."""

from __future__ import annotations

import errno
import logging
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.serving.https.access import Access, Caller
from scheduler_runtime.serving.https.certificates import Certificate
from scheduler_runtime.serving.https.routes import TEXT, Answer, Endpoints
from scheduler_runtime.serving.https.status_objects import internal_error

logger = logging.getLogger(__name__)

CONNECTIONS = 200
"""As many are served at a time; further ones are closed at once, so that nobody fills the process by asking."""
SECONDS = 30.0
DISCARDED = 16 << 20
"""As many bytes are read of what is refused, so that who sends them hears the answer."""
TLS_HANDSHAKE = b"\x16"
PLAIN = b"Client sent an HTTP request to an HTTPS server.\n"


class NotServedError(OSError):
    """The address cannot be used."""


@contextmanager
def serving(
    endpoints: Endpoints, address: str, port: int, *, tls: Certificate | None = None, access: Access | None = None
) -> Iterator[int]:
    """Serve until the end of the ``with``; gives the port, which is chosen when ``port`` is 0.

    Without ``tls`` it is plain HTTP, without ``access`` everybody may ask. Raises NotServedError.
    """
    try:
        server = Server(address, port, endpoints, tls, access)
    except OSError as error:
        why = error.strerror or error
        text = f"{address}:{port} cannot be served on: {why}; --secure-port and --bind-address choose another"
        text += ", or end what serves there" if error.errno == errno.EADDRINUSE else ""
        raise NotServedError(text) from error
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="endpoints", daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


class Server(ThreadingHTTPServer):
    """Takes connections; whatever can take time happens in their threads."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, address: str, port: int, endpoints: Endpoints, tls: Certificate | None, access: Access | None
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.endpoints = endpoints
        self.access = access
        self._tls = tls
        self._unsecured = LogOnce(logger)
        self._slots = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__((address, port), Handler)

    def server_bind(self) -> None:
        """Bind without asking a name server for our name, as the base would."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        request.settimeout(SECONDS)
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is None:
            super().finish_request(request, client_address)
        elif _speaks_tls(request) and (context := self._context(self._tls)):
            with context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)

    def _context(self, tls: Certificate) -> ssl.SSLContext | None:
        """What to serve with; None, which is said, when there is nothing."""
        try:
            context = tls.context()
        except Exception as error:  # noqa: BLE001 - whatever it is, every probe fails for it, and nobody else says it
            self._unsecured.failing(
                "the endpoints cannot be served", f"no certificate: {type(error).__name__}: {error}"
            )
            return None
        self._unsecured.recovered()
        return context

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Somebody hung up, or asked in a way that is none."""
        logger.debug("connection ended", extra={"by": client_address[0]}, exc_info=sys.exception())


def _speaks_tls(request: socket.socket) -> bool:
    """Whether who asks does; else it is told that it has to."""
    first = request.recv(1, socket.MSG_PEEK)
    if not first or first == TLS_HANDSHAKE:
        return bool(first)
    head = f"HTTP/1.0 400 Bad Request\r\nContent-Type: {TEXT}\r\nContent-Length: {len(PLAIN)}\r\n\r\n"
    request.sendall(head.encode() + PLAIN)
    return False


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    server_version = "berth-scheduler"
    sys_version = ""
    timeout = SECONDS
    error_content_type = TEXT
    error_message_format = "%(message)s\n"

    def do_GET(self) -> None:
        """Answer."""
        answer = self._answer()
        self._send(answer, {"Warning": answer.warning} if answer.warning else {})

    def parse_request(self) -> bool:
        """Read the head of a request; whether it is still to be answered."""
        if not super().parse_request():
            return False
        if self.command in ("GET", "HEAD"):
            return True
        self._refuse()
        return False

    def _refuse(self) -> None:
        """Refuse to change anything, once what comes with the request is read: most callers send it all first."""
        self.close_connection = True
        self._discard()
        text = f"{self.command} is not allowed: everything here can only be read, by GET or HEAD\n"
        self._send(Answer(405, TEXT, text), {"Allow": "GET, HEAD", "Connection": "close"})

    def _discard(self) -> None:
        """Read the body and forget it: not all of one that is too long or too slow, nothing where no length is told."""
        length = self.headers.get("Content-Length", "")
        left = min(int(length), DISCARDED) if length.isdecimal() and len(length) < 20 else 0
        deadline = time.monotonic() + SECONDS
        while left > 0 and time.monotonic() < deadline and (part := self.rfile.read1(min(left, 1 << 16))):
            left -= len(part)

    def _send(self, answer: Answer, headers: Mapping[str, str]) -> None:
        payload = answer.body.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(payload)))
        self.send_header("Cache-Control", "no-cache, private")
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    def do_HEAD(self) -> None:
        """Answer without the body."""
        self.do_GET()

    def _answer(self) -> Answer:
        access = self.server.access
        authorization = self.headers.get("Authorization", "")
        try:
            refusal = access and access.refusal(self.command, self.path, authorization, self._certified())
            return refusal or self.server.endpoints.answer(self.path, ",".join(self.headers.get_all("Accept", ())))
        except Exception:  # what is asked about one page must not end what others ask
            logger.exception("endpoint failed", extra={"path": self.path})
            return internal_error("see the log of the scheduler")

    def _certified(self) -> Caller | None:
        """Who the client's certificate names, which was verified when the connection was made."""
        found: Any = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        if not found:
            return None
        subject = [pair for relative in found["subject"] for pair in relative]
        names = [value for name, value in subject if name == "commonName"]
        groups = [value for name, value in subject if name == "organizationName"]
        return Caller(names[0], (*groups, "system:authenticated")) if names else None

    def log_message(self, *_: object) -> None:
        """Say nothing: probes come every few seconds."""
