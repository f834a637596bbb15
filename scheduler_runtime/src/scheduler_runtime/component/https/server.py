"""HTTPS server for the endpoints, in a thread and an event loop of its own: no busy process delays a response.

Health checks are answered in that loop. All else may have to wait for the API server, and has threads for that.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import itertools
import logging
import resource
import socket
import ssl
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from scheduler_runtime.component.https.access import Access, AccessRules, ApiServerReviews
from scheduler_runtime.component.https.certificates import Certificate, TlsSettings, choose_certificate
from scheduler_runtime.component.https.connection import Connection, ReceivedRequest
from scheduler_runtime.component.https.routes import EndpointResponse, Endpoints, internal_error
from scheduler_runtime.kube import credentials
from scheduler_runtime.kube.log_once import LogOnce

logger = logging.getLogger(__name__)

CONNECTIONS = 1024
"""How many connections are open at a time, some 50 KB each, and 90 KB with the longest heads. One more ends the idlest
of ``OpenConnections``."""
THREADS = 32
"""Pages that are made at a time; further requests wait for one of them."""
THREADS_PER_ADDRESS = 8
"""How many of them may be for one address, which could hold all others up while the API server is slow."""
CERTIFICATE_SECONDS = 1.0
"""Changed files of a certificate are noticed after so long; one that could not be made is tried again."""
BACKLOG = 1024
"""Connections that the kernel accepts for us. With fewer, a probe in a crowd would be sent again after a second."""
ACCEPTED_AT_ONCE = 16
READ_BYTES = 64 << 10


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
        listener = listen(address, port)
    except OSError as error:
        why = error.strerror or error
        text = f"{address}:{port} cannot be served on: {why}; --secure-port and --bind-address choose another"
        text += ", or end what serves there" if error.errno == errno.EADDRINUSE else ""
        raise NotServedError(text) from error
    server = Server(endpoints, certificate, access)
    thread = threading.Thread(target=server.run, args=(listener,), name="endpoints", daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        server.end()
        thread.join()


def listen(address: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises OSError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sets TCP_NODELAY by the protocol
    try:
        if family == socket.AF_INET6:
            # :: takes IPv4 as well, as with Go's net.Listen, whatever the system's default is.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # A process that is restarted finds its port free, although connections of the last one are in TIME_WAIT.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def most_connections() -> int:
    """Return how many connections may be open: half of the files that are allowed, ``CONNECTIONS`` at most.

    As Go does in every process, the soft limit of files is raised to the hard one: it is low for programs that cannot
    wait for many files at a time.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # not every system lets it be as high as its own limit says
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(CONNECTIONS, soft // 2) if soft > 0 else CONNECTIONS


class Server:
    """Accepts connections, and makes the responses to their requests."""

    def __init__(self, endpoints: Endpoints, certificate: Certificate | None, access: Access | None) -> None:
        self.buffer = memoryview(bytearray(READ_BYTES))
        self._endpoints = endpoints
        self._certificate = certificate
        self._tls_context: ssl.SSLContext | None = None
        """For new connections, which wait while there is none."""
        self._is_over = threading.Event()
        self._access = access
        # Not uvloop, whatever the scheduler itself uses: reads must come one after the other, into one buffer.
        self._loop = asyncio.SelectorEventLoop()
        self._end = asyncio.Event()
        self._connections = OpenConnections()
        self._most = most_connections()
        self._threads = Counter[str]()
        """The threads that make pages, by the addresses of their clients."""
        self._waiting: dict[Connection, ReceivedRequest] = {}
        """Requests for which no thread is free, in the order of their arrival; a connection has one under way."""

    def run(self, listener: socket.socket) -> None:
        """Serve until ``end`` is called."""
        if self._certificate is not None:
            arguments = (self._certificate,)
            threading.Thread(target=self._prepare_contexts, args=arguments, name="certificate", daemon=True).start()
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve(listener))

    def end(self) -> None:
        """Let ``run`` return. May be called from any thread."""
        self._is_over.set()
        self._loop.call_soon_threadsafe(self._end.set)

    async def _serve(self, listener: socket.socket) -> None:
        def create_connection() -> Connection:
            return Connection(self, is_tls=self._certificate is not None)

        server = await self._loop.create_server(create_connection, sock=listener, backlog=ACCEPTED_AT_ONCE)
        listener.listen(BACKLOG)  # asyncio has set it to what it accepts at once
        await self._end.wait()
        server.close()
        for connection in self._connections.all():
            connection.abort()
        await asyncio.sleep(0)  # until they are closed

    def _prepare_contexts(self, certificate: Certificate) -> None:
        """Have the context for new connections ready, in a thread: a certificate is made, or read from a slow disk."""
        trouble, last = LogOnce(logger), None
        while True:
            try:
                context = certificate.context()
            except Exception as error:  # noqa: BLE001 - whatever it is, every probe fails for it, and nothing else reports it
                reason = f"no certificate: {type(error).__name__}: {error}"
                trouble.failing("the endpoints cannot be served", reason)
            else:
                trouble.recovered()
                if context is not last:
                    with contextlib.suppress(RuntimeError):  # the loop is closed
                        self._loop.call_soon_threadsafe(self._use_context, context)
                    last = context
            if self._is_over.wait(CERTIFICATE_SECONDS):
                return

    def _use_context(self, context: ssl.SSLContext) -> None:
        waiting = self._connections.all() if self._tls_context is None else []
        self._tls_context = context
        for connection in waiting:
            connection.begin_tls(context)

    # Called by connections, in the event loop.

    def add(self, connection: Connection) -> None:
        """Count ``connection``; if it is one too many, another one ends."""
        self._connections.add(connection)
        if len(self._connections) > self._most:
            idlest = self._connections.idlest()
            self.forget(idlest)
            idlest.abort()
            logger.debug("connection ended", extra={"by": idlest.address, "because": f"of {self._most} the idlest"})
        if self._tls_context is not None:
            connection.begin_tls(self._tls_context)

    def forget(self, connection: Connection) -> None:
        """Forget ``connection``, and the request that it waits for: nobody would read the response."""
        self._connections.discard(connection)
        self._waiting.pop(connection, None)

    def begin_response(self, connection: Connection, request: ReceivedRequest) -> None:
        """Make the response to ``request``: at once to a health check, else in a thread as soon as one is free."""
        self._connections.renew(connection)
        is_open = self._access is None or not self._access.needs_review(request.target, request.authorization)
        if is_open and self._endpoints.is_health_check(request.target):
            connection.send(self._respond(connection.address, request))
        else:
            self._waiting[connection] = request
            self._start_threads()

    def _start_threads(self) -> None:
        while self._threads.total() < THREADS:
            may_begin = (one for one in self._waiting if self._threads[one.address] < THREADS_PER_ADDRESS)
            connection = next(may_begin, None)
            if connection is None:
                return
            arguments = connection, self._waiting.pop(connection)
            threading.Thread(target=self._respond_in_thread, args=arguments, daemon=True).start()
            self._threads[connection.address] += 1

    def _respond_in_thread(self, connection: Connection, request: ReceivedRequest) -> None:
        response = self._respond(connection.address, request)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for the response any more
            self._loop.call_soon_threadsafe(self._finish, connection, response)

    def _finish(self, connection: Connection, response: EndpointResponse) -> None:
        self._threads -= Counter((connection.address,))  # without those that have none any more
        connection.send(response)
        self._start_threads()

    def _respond(self, address: str, request: ReceivedRequest) -> EndpointResponse:
        try:
            refusal = self._access and self._access.refuse(
                request.method, request.target, request.authorization, request.certified, address
            )
            return refusal or self._endpoints.respond(request.target, request.accept)
        except Exception:
            logger.exception("endpoint failed", extra={"path": request.target})
            return internal_error("see the log of this process")


class OpenConnections:
    """The open connections by their clients' addresses, in the order of their last complete request, or their start."""

    def __init__(self) -> None:
        self._by_address: dict[str, dict[Connection, int]] = {}
        self._order = itertools.count()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, connection: Connection) -> None:
        """Add a connection as the latest."""
        self._by_address.setdefault(connection.address, {})[connection] = next(self._order)
        self._length += 1

    def discard(self, connection: Connection) -> None:
        """Remove a connection, if it is there."""
        siblings = self._by_address.get(connection.address, {})
        if siblings.pop(connection, None) is not None:
            self._length -= 1
            if not siblings:
                del self._by_address[connection.address]

    def renew(self, connection: Connection) -> None:
        """Count a connection as the latest, because it has sent a complete request."""
        siblings = self._by_address.get(connection.address, {})
        if siblings.pop(connection, None) is not None:
            siblings[connection] = next(self._order)

    def idlest(self) -> Connection:
        """Return the first of the address that has the most connections: who opens many loses their own."""
        most = max(map(len, self._by_address.values()))
        first = (next(iter(group.items())) for group in self._by_address.values() if len(group) == most)
        return min(first, key=lambda item: item[1])[0]

    def all(self) -> list[Connection]:
        """Return all of them."""
        return [connection for group in self._by_address.values() for connection in group]
