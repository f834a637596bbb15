"""The gateway of a private Docker daemon: starts it, and forwards a port of this machine into its network.

``python -m devcluster.kind.gateway --name N --home H --data D --tree T [--seed S]``, a component of a cluster.

The daemon N keeps its data in D, at first a copy of the directory S, and runs in the Debian file system
T, in network, mount and pid namespaces of its own: nothing on this machine sees its interfaces,
addresses, firewall rules and mounts. The gateway listens on a port of the loopback address and only
then moves into the daemon's network, where it connects to the same port: that is where kind is told
to publish the API server.

When the gateway is killed the kernel ends the daemon, and with it every process of the cluster. Only
files and cgroups remain then: see ``private_daemon.clear_away``.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import functools
import os
import socket
import subprocess
import sys
from pathlib import Path

from devcluster.kind import private_daemon
from devcluster.kind.commands import contained, dying_with_us

NEW_NETWORK = 0x40000000  # CLONE_NEWNET
CHUNK = 1 << 16


def main() -> None:
    arguments = parse()
    with private_daemon.claimed(arguments.name):
        listener = socket.create_server(("127.0.0.1", 0))
        arguments.home.mkdir(parents=True)
        furnish(arguments.data, arguments.seed)
        (arguments.home / "port").write_text(str(listener.getsockname()[1]))
        enter_new_network()
        places = (arguments.home, arguments.data, arguments.tree)
        command = contained(sys.executable, "-P", "-m", "devcluster.kind.dockerd", arguments.name, *places)
        daemon = subprocess.Popen([*dying_with_us(), *command], stdin=subprocess.DEVNULL)
        sys.exit(asyncio.run(relay_until_end(daemon, listener)))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="devcluster.kind.gateway")
    parser.add_argument("--name", required=True)
    for place in ("--home", "--data", "--tree"):
        parser.add_argument(place, type=Path, required=True)
    parser.add_argument("--seed", type=Path)
    return parser.parse_args()


def furnish(data: Path, seed: Path | None) -> None:
    """Make the daemon's data as in ``seed``.

    Docker never changes the files of an image's layers, so they are linked and not copied: a gigabyte
    in well under a second. Everything else is the daemon's own.
    """
    data.mkdir()
    for entry in seed.iterdir() if seed else ():
        how = "-al" if entry.name == "overlay2" else "-a"
        subprocess.run(["cp", how, entry, data], check=True)


def enter_new_network() -> None:
    """Move this thread, and what it starts, into a network of its own. Sockets that are open stay where they are."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_NETWORK) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"a network namespace could not be made: {os.strerror(number)}")


async def relay_until_end(daemon: subprocess.Popen[bytes], listener: socket.socket) -> int:
    """Relay connections until the daemon ends; its exit code."""
    ended = asyncio.Event()
    descriptor = os.pidfd_open(daemon.pid)
    asyncio.get_running_loop().add_reader(descriptor, ended.set)
    port: int = listener.getsockname()[1]
    await asyncio.start_server(functools.partial(relay, port), sock=listener)
    await ended.wait()
    return daemon.wait()


async def relay(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Join a connection from this machine with one to the same port in the daemon's network."""
    with contextlib.closing(writer):
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            return  # nothing listens yet; the client sees a closed connection and tries again
        with contextlib.closing(inner_writer):
            await asyncio.gather(pump(reader, inner_writer), pump(inner_reader, writer))


async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Pass on bytes until the source ends, then say so to the sink. A broken connection is an end like any other."""
    with contextlib.suppress(ConnectionError):
        while data := await source.read(CHUNK):
            sink.write(data)
            await sink.drain()
        sink.write_eof()


if __name__ == "__main__":
    main()
