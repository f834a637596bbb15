"""What probes and lifecycle hooks do: an HTTP request, a connection, a command, a pause."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp

from devcluster.node.api import Object
from devcluster.node.processes import NotStarted

KINDS = frozenset({"httpGet", "tcpSocket", "exec", "sleep"})


@dataclass(frozen=True, slots=True)
class Target:
    """The container that actions are about."""

    container: Object
    address: str
    execute: Callable[[list[str]], Awaitable[int]]  # runs a command in the container's environment

    def port(self, value: int | str) -> int:
        """The number of a port that may be given by name."""
        named = {port.get("name"): int(port["containerPort"]) for port in self.container.get("ports", [])}
        number = named.get(value, value)
        if isinstance(number, str) and not number.isdecimal():
            raise ValueError(f"the container has no port called {number}")
        return int(number)


async def act(action: Object, target: Target) -> str:
    """Do ``action`` and return what was wrong, or nothing. Its time-out is the caller's business."""
    try:
        match action:
            case {"httpGet": request}:
                return await _http_get(request, target)
            case {"tcpSocket": socket}:
                return await _connect(socket.get("host") or target.address, target.port(socket["port"]))
            case {"exec": {"command": command}}:
                code = await target.execute(command)
                return "" if code == 0 else f"{command[0]} ended with exit code {code}"
            case {"sleep": {"seconds": seconds}}:
                await asyncio.sleep(seconds)
                return ""
        raise ValueError(f"the process node knows none of the actions {', '.join(action)}")
    except (aiohttp.ClientError, NotStarted, OSError, ValueError) as error:
        return str(error) or type(error).__name__


async def _http_get(request: dict[str, Any], target: Target) -> str:
    host = request.get("host") or target.address
    scheme = request.get("scheme", "HTTP").lower()
    url = f"{scheme}://{host}:{target.port(request['port'])}{request.get('path', '/')}"
    headers = {header["name"]: header["value"] for header in request.get("httpHeaders", [])}
    connector = aiohttp.TCPConnector(ssl=False, force_close=True)  # as with a kubelet, any certificate will do
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(url, headers={"User-Agent": "kube-probe", **headers}, allow_redirects=False) as response,
    ):
        return "" if 200 <= response.status < 400 else f"GET {url} answered {response.status}"


async def _connect(host: str, port: int) -> str:
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    return ""
