"""Calling extenders over HTTP, and how to know that it is they who answer."""

from __future__ import annotations

import asyncio
import base64
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from ..catalog.durations import Duration
from ..config import Extender, ExtenderTLSConfig

DEFAULT_SECONDS = 5.0


class ExtenderError(Exception):
    """An extender could not be asked, or its answer makes no sense; the message names it.

    ``sent`` tells whether what it was asked to do may have been done.
    """

    def __init__(self, problem: str, *, sent: bool = True) -> None:
        super().__init__(problem)
        self.sent = sent


@dataclass(frozen=True, slots=True)
class Address:
    """Where an extender is, how to know that it is there, and how long to wait for an answer."""

    url_prefix: str
    tls: ssl.SSLContext | None
    server_name: str | None
    seconds: float | None

    @classmethod
    def of(cls, written: Extender) -> Address:
        """The address of an extender. Raises OSError or ValueError when its certificates cannot be used."""
        seconds = Duration(written.http_timeout).seconds or DEFAULT_SECONDS
        tls = written.tls_config
        return cls(
            written.url_prefix.rstrip("/"),
            tls_context(tls, verifies=not written.enable_https or _has_authority(tls)),
            (tls.server_name if tls else "") or None,
            seconds if seconds > 0 else None,
        )

    def failed(self, verb: str, problem: object, *, sent: bool = True) -> ExtenderError:
        """That asking did not help."""
        return ExtenderError(f"failed {verb} with extender at URL {self.url_prefix}/{verb}{problem}", sent=sent)


class Calls:
    """The connections to all extenders of a process; there are none before the first call."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """End all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(
        self, address: Address, verb: str, body: bytes, before_send: Callable[[], None] = lambda: None
    ) -> bytes:
        """Ask one extender something; what ``before_send`` raises is raised. Raises ExtenderError."""
        before_send()
        try:
            async with asyncio.timeout(address.seconds):
                return await self._exchange(address, verb, body)
        except TimeoutError as error:
            raise address.failed(verb, f": no answer within {address.seconds:g} s") from error
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL) as error:
            raise address.failed(verb, f": {error}", sent=False) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise address.failed(verb, f": {str(error) or type(error).__name__}") from error

    async def _exchange(self, address: Address, verb: str, body: bytes) -> bytes:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers={"Content-Type": "application/json"},
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        tls = True if address.tls is None else address.tls
        url = f"{address.url_prefix}/{verb}"
        async with self._session.post(url, data=body, ssl=tls, server_hostname=address.server_name) as answer:
            if answer.status != 200:
                raise address.failed(verb, f", code {answer.status}")
            return await answer.read()


def tls_context(written: ExtenderTLSConfig | None, *, verifies: bool) -> ssl.SSLContext | None:
    """What ``tlsConfig`` means; None for what everybody trusts. Raises OSError or ValueError.

    Where nothing is said about whom to trust, HTTPS that was asked for explicitly ``verifies`` nothing, as upstream.
    """
    if written is None and verifies:
        return None
    written = written or ExtenderTLSConfig()
    if written.ca_data:
        context = ssl.create_default_context(cadata=base64.b64decode(written.ca_data).decode())
    else:
        context = ssl.create_default_context(cafile=written.ca_file or None)
    if written.insecure or not verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if (written.cert_data or written.cert_file) and (written.key_data or written.key_file):
        _load_certificate(context, written)
    return context


def _has_authority(written: ExtenderTLSConfig | None) -> bool:
    return written is not None and bool(written.ca_data or written.ca_file)


def _load_certificate(context: ssl.SSLContext, written: ExtenderTLSConfig) -> None:
    """Load what the scheduler says who it is with; OpenSSL reads it from files only, so data passes through one."""
    with tempfile.TemporaryDirectory(prefix="berth-") as scratch:
        files = [written.cert_file, written.key_file]
        for index, data in enumerate((written.cert_data, written.key_data)):
            if data:
                file = Path(scratch, str(index))
                file.touch(mode=0o600)
                file.write_bytes(base64.b64decode(data))
                files[index] = str(file)
        context.load_cert_chain(files[0], files[1])
