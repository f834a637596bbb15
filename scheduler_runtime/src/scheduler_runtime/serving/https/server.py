"""HTTPS server for the endpoints, with a thread for each connection, so that a busy event loop delays no response."""

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
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.serving.https.access import Access, AccessRules, ApiServerReviews, Caller
from scheduler_runtime.serving.https.certificates import Certificate, TlsSettings, choose_certificate
from scheduler_runtime.serving.https.routes import TEXT, EndpointResponse, Endpoints, internal_error

logger = logging.getLogger(__name__)

CONNECTIONS = 200
"""Connections served at a time; further ones are closed at once, so that callers cannot exhaust the process."""
SECONDS = 30.0
LONGEST_REFUSED_BODY = 16 << 20
"""So many bytes are read of a refused request's body."""
TLS_HANDSHAKE = b"\x16"
PLAIN = b"Client sent an HTTP request to an HTTPS server.\n"


class NotServedError(OSError):
    """The address cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingSettings:
    """Address, certificate and access rules of the endpoints: from the flags."""

    address: str
    port: int
    """0 means that nothing is served."""
    tls: TlsSettings = field(default_factory=TlsSettings)
    rules: AccessRules = field(default_factory=AccessRules)
    authentication_kubeconfig: str = ""
    authorization_kubeconfig: str = ""
    user_agent: str = "berth-scheduler"


@contextmanager
def serve_configured(settings: ServingSettings, endpoints: Endpoints) -> Iterator[int]:
    """Serve ``endpoints`` as the flags demand until the end of the ``with``; gives the port, 0 if nothing is served.

    Raises NotServedError, CertificateError or SuiteError.
    """
    if not settings.port:
        yield 0
        return
    reviews = ApiServerReviews(
        lambda: credentials.load(settings.authentication_kubeconfig),
        lambda: credentials.load(settings.authorization_kubeconfig),
        settings.user_agent,
    )
    certificate = choose_certificate(settings.tls, settings.address)
    access = Access(reviews, settings.rules)
    with serve(endpoints, settings.address, settings.port, certificate=certificate, access=access) as port:
        yield port


@contextmanager
def serve(
    endpoints: Endpoints,
    address: str,
    port: int,
    *,
    certificate: Certificate | None = None,
    access: Access | None = None,
) -> Iterator[int]:
    """Serve until the end of the ``with``; gives the port, which the kernel chooses if ``port`` is 0.

    Without ``certificate`` it is plain HTTP, without ``access`` everybody may read. Raises NotServedError.
    """
    try:
        server = Server(address, port, endpoints, certificate, access)
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
    """Accepts connections; whatever can take time, the TLS handshake too, happens in the connections' threads."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, address: str, port: int, endpoints: Endpoints, certificate: Certificate | None, access: Access | None
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.endpoints = endpoints
        self.access = access
        self._certificate = certificate
        self._certificate_trouble = LogOnce(logger)
        self._slots = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__((address, port), Handler)

    def server_bind(self) -> None:
        """Bind without the base class's DNS lookup of this host's name, which can take seconds."""
        if self.address_family == socket.AF_INET6:
            # :: takes IPv4 as well, as with Go's net.Listen, whatever the system's default is.
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # A process that is restarted finds its port free, although connections of the last one are in TIME_WAIT.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start the thread of a connection, or close the connection when there are too many."""
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection in its own thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Respond to the requests of a connection, after the handshake if there is a certificate."""
        request.settimeout(SECONDS)
        # Head and body of a response are two writes: the second would wait until the first is acknowledged.
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._certificate is None:
            super().finish_request(request, client_address)
        elif _expect_tls(request) and (context := self._load_context(self._certificate)):
            with context.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)

    def _load_context(self, certificate: Certificate) -> ssl.SSLContext | None:
        """Return the context for a new connection; logs why if there is none."""
        try:
            context = certificate.context()
        except Exception as error:  # noqa: BLE001 - whatever it is, every probe fails for it, and nothing else reports it
            reason = f"no certificate: {type(error).__name__}: {error}"
            self._certificate_trouble.failing("the endpoints cannot be served", reason)
            return None
        self._certificate_trouble.recovered()
        return context

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a connection that was cut, or on which no valid request arrived."""
        logger.debug("connection ended", extra={"by": client_address[0]}, exc_info=sys.exception())


def _expect_tls(request: socket.socket) -> bool:
    """Return whether the client begins a TLS handshake. A client of plain HTTP gets a 400, as from Go's server."""
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

    def parse_request(self) -> bool:
        """Read the head of a request; return whether a ``do_…`` method is to respond to it.

        Other methods than GET and HEAD are refused here, as the base class would answer unknown ones with 501.
        """
        if not super().parse_request():
            return False
        if self.command in ("GET", "HEAD"):
            return True
        self.close_connection = True  # what may be left of the body must not be read as the next request
        # Most callers send the body before they read the response: it is read, or the part of it that arrives in time,
        # and nothing if its length is not declared.
        length = self.headers.get("Content-Length", "")
        remaining = min(int(length), LONGEST_REFUSED_BODY) if length.isdecimal() and len(length) < 20 else 0
        deadline = time.monotonic() + SECONDS
        while remaining > 0 and time.monotonic() < deadline and (part := self.rfile.read1(min(remaining, 1 << 16))):
            remaining -= len(part)
        text = f"{self.command} is not allowed: everything here can only be read, by GET or HEAD\n"
        self._send(EndpointResponse(405, TEXT, text), {"Allow": "GET, HEAD", "Connection": "close"})
        return False

    def do_GET(self) -> None:
        """Send the response to a GET; ``_send`` leaves the body out for a HEAD."""
        access = self.server.access
        authorization = self.headers.get("Authorization", "")
        try:
            refusal = access and access.refuse(self.command, self.path, authorization, self._certified_caller())
            accept = ",".join(self.headers.get_all("Accept", ()))
            response = refusal or self.server.endpoints.respond(self.path, accept)
        except Exception:  # a page that fails must not close the connection: the next request may be a probe
            logger.exception("endpoint failed", extra={"path": self.path})
            response = internal_error("see the log of the scheduler")
        self._send(response, {"Warning": response.warning} if response.warning else {})

    def do_HEAD(self) -> None:
        """Send the response to a HEAD."""
        self.do_GET()

    def _certified_caller(self) -> Caller | None:
        """Return the owner of the client certificate, which OpenSSL verified in the handshake; None without one."""
        certificate: Any = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        if not certificate:
            return None
        subject = [pair for relative in certificate["subject"] for pair in relative]
        names = [value for name, value in subject if name == "commonName"]
        groups = [value for name, value in subject if name == "organizationName"]
        return Caller(names[0], (*groups, "system:authenticated")) if names else None

    def _send(self, response: EndpointResponse, headers: Mapping[str, str]) -> None:
        payload = response.body.encode()
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(payload)))
        self.send_header("Cache-Control", "no-cache, private")
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(payload)

    def log_message(self, *_: object) -> None:
        """Log nothing: probes arrive every few seconds."""
