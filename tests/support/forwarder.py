"""Forwarder between two ends of a connection, which can cut connections or swallow bytes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from devcluster import Cluster


@dataclass(eq=False)
class Line:
    """One connection, from a client to the server."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    carried: int = 0
    """Bytes from the client."""
    is_swallowing: bool = False

    def cut(self) -> None:
        for writer in (self.client, self.server):
            writer.transport.abort()

    def swallow(self) -> None:
        """From now on take what either end says, and pass nothing on."""
        self.is_swallowing = True


@dataclass
class Forwarder:
    """All lines there ever were, and what is done to them when they have carried much."""

    host: str
    port: int
    lines: list[Line] = field(default_factory=list)
    carried: int = 0
    _turns: list[tuple[int, Callable[[Line], None]]] = field(default_factory=list)

    def when_carried(self, bytes_more: int, act: Callable[[Line], None]) -> None:
        """Do ``act`` to all lines that are in use when clients have said so much more than before the last such act."""
        if not self._turns:
            self.carried = 0
        self._turns.append((bytes_more, act))

    @property
    def is_done(self) -> bool:
        """Whether everything was done that was to be."""
        return not self._turns

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(self.host, self.port)
        line = Line(writer, to_server)
        self.lines.append(line)
        back = asyncio.create_task(self._pass_on(from_server, writer, line, counts=False))
        await self._pass_on(reader, to_server, line, counts=True)
        await back

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: Line, *, counts: bool
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                if counts:
                    self._count(line, len(data))
                if not line.is_swallowing:
                    writer.write(data)
                    await writer.drain()
        line.cut()

    def _count(self, line: Line, size: int) -> None:
        line.carried += size
        self.carried += size
        if self._turns and self.carried >= self._turns[0][0]:
            _, act = self._turns.pop(0)
            self.carried = 0
            for line in self.lines:
                act(line)


def if_busy(act: Callable[[Line], None], carried: int = 10_000) -> Callable[[Line], None]:
    """Do it to lines that have carried so much: not to those of watches and leases, over which little is said."""

    def act_if_busy(line: Line) -> None:
        if line.carried >= carried:
            act(line)

    return act_if_busy


@asynccontextmanager
async def forwarded(cluster: Cluster, directory: Path) -> AsyncIterator[Forwarder]:
    """A way to ``cluster`` whose kubeconfig is in ``directory``."""
    document = yaml.safe_load(cluster.kubeconfig.read_text())
    to = urlsplit(cluster.server)
    forwarder = Forwarder(to.hostname or "", to.port or 443)
    server = await asyncio.start_server(forwarder.serve, "127.0.0.1", 0)
    for entry in document["clusters"]:
        entry["cluster"]["server"] = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    (directory / "kubeconfig").write_text(yaml.safe_dump(document))
    try:
        yield forwarder
    finally:
        server.close()
        for line in forwarder.lines:
            line.cut()
        await asyncio.sleep(0.1)  # for those who serve them to end
