"""Ports that can be used now, and again after a crash."""

import socket
from pathlib import Path

from devcluster.system.ports import free_ports


def test_ports_are_different_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", port))


def test_ports_lie_where_the_kernel_takes_none_for_outgoing_connections() -> None:
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert not [port for port in free_ports(50) if first <= port <= last]
