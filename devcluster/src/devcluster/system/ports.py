"""Free ports on the loopback address."""

from __future__ import annotations

import random
import socket
from pathlib import Path

LOWEST = 10_240


def free_port() -> int:
    """One of ``free_ports``."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """``count`` ports that no process listens on now. Raises OSError if there are not so many.

    They lie below the range from which the kernel gives ports to outgoing connections: a client that
    keeps dialling a component that is down could otherwise be given that very port, and so connect to
    itself and keep the component from coming back.
    """
    first_ephemeral = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    candidates = range(LOWEST, max(first_ephemeral, LOWEST + 1_000))
    ports: list[int] = []
    for port in random.SystemRandom().sample(candidates, len(candidates)):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise OSError(f"no {count} free ports between {candidates.start} and {candidates.stop}")
