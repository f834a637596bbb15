"""The certificate that the endpoints are served with: from files, read again when they change, or made here.

What is made here is signed by nobody: it keeps what is asked and answered from being overheard, and proves nothing.
"""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.serving.https.sni import NamedPair, SniCertificates

logger = logging.getLogger(__name__)

VALID_DAYS = 365
RENEW_SECONDS = VALID_DAYS * 24 * 3600 * 2 / 3
PAIR_NAME = "kube-scheduler"
"""What upstream calls the files in ``--cert-dir``."""

VERSIONS = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
ALWAYS_ON = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""The suites of TLS 1.3, which Go does not let anybody choose either."""


class CertificateError(Exception):
    """The files cannot be used; the message says which, and why."""


class SuiteError(ValueError):
    """A cipher suite that this build of OpenSSL does not have."""


class Certificate(Protocol):
    """Gives what each new connection is wrapped in."""

    def context(self) -> ssl.SSLContext:
        """As it is now. May be asked from any thread."""
        ...


@dataclass(frozen=True, slots=True)
class Serving:
    """What the flags say about TLS."""

    certificate_file: str = ""
    key_file: str = ""
    directory: str = ""
    least_version: str = ""
    suites: tuple[str, ...] = ()
    client_ca_file: str = ""
    by_name: tuple[NamedPair, ...] = ()


def certificate(serving: Serving, address: str) -> Certificate:
    """What to serve with on ``address``. Raises CertificateError."""
    found = _for_everybody(serving, address)
    if not serving.by_name:
        return found
    files = [FileCertificate(Path(each.certificate_file), Path(each.key_file), serving) for each in serving.by_name]
    return SniCertificates(found.context, list(zip(serving.by_name, (each.context for each in files), strict=True)))


def _for_everybody(serving: Serving, address: str) -> Certificate:
    if serving.certificate_file or serving.key_file:
        return FileCertificate(Path(serving.certificate_file), Path(serving.key_file), serving)
    if not serving.directory:
        return OwnCertificate(serving, address)
    pair = [Path(serving.directory) / f"{PAIR_NAME}.{ending}" for ending in ("crt", "key")]
    if not all(path.exists() for path in pair):
        _write(pair[0], pair[1], *_self_signed(address))
    return FileCertificate(pair[0], pair[1], serving)


class FileCertificate:
    """A certificate and its key in files. What cannot be used leaves the one before in use."""

    def __init__(self, certificate: Path, key: Path, serving: Serving) -> None:
        """Raises CertificateError."""
        self._files = (certificate, key)
        self._serving = serving
        self._trouble = LogOnce(logger)
        self._seen = self._stamps()
        self._context = self._load()

    def context(self) -> ssl.SSLContext:
        seen = self._stamps()
        if seen != self._seen:
            try:
                self._context = self._load()
            except CertificateError as error:  # the key may be written a moment after the certificate: look again
                self._trouble.failing("the serving certificate cannot be read again", str(error))
            else:
                self._seen = seen
                self._trouble.recovered()
                logger.info("serving certificate read again", extra={"file": str(self._files[0])})
        return self._context

    def _stamps(self) -> list[tuple[int, int, int] | None]:
        return [_stamp(path) for path in self._files]

    def _load(self) -> ssl.SSLContext:
        return _loaded(context_for(self._serving), *self._files)


class OwnCertificate:
    """A certificate made when somebody asks for the first time, and another long before it ends."""

    def __init__(self, serving: Serving, address: str, clock: Callable[[], float] = time.time) -> None:
        """Raises SuiteError and CertificateError."""
        context_for(serving)  # what is wrong with the flags is said at the start
        self._serving = serving
        self._address = address
        self._clock = clock
        self._lock = threading.Lock()
        self._made_at = float("-inf")
        self._context: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext:
        with self._lock:  # whoever asks first makes it, and the others wait for that
            now = self._clock()
            if self._context is None or now - self._made_at > RENEW_SECONDS:
                self._context = self._make()
                self._made_at = now
            return self._context

    def _make(self) -> ssl.SSLContext:
        with _as_file(b"".join(reversed(_self_signed(self._address)))) as file:
            return _loaded(context_for(self._serving), file, file)


def context_for(serving: Serving) -> ssl.SSLContext:
    """A context without a certificate yet. Raises SuiteError and CertificateError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[serving.least_version or "VersionTLS12"]
    chosen = [each for each in serving.suites if each not in ALWAYS_ON]
    if chosen:
        try:
            context.set_ciphers(":".join(map(openssl_name, chosen)))
        except ssl.SSLError as error:
            raise SuiteError(f"none of {', '.join(chosen)} is known to {ssl.OPENSSL_VERSION}") from error
    if serving.client_ca_file:
        context.verify_mode = ssl.CERT_OPTIONAL
        try:
            context.load_verify_locations(serving.client_ca_file)
        except OSError as error:
            raise CertificateError(f"{serving.client_ca_file}: {error.strerror or error}") from error
    return context


def openssl_name(suite: str) -> str:
    """What OpenSSL calls a suite: ECDHE-RSA-AES128-GCM-SHA256 is TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256."""
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    if not cipher or not suite.startswith("TLS_"):
        raise SuiteError(f"{suite} is not a cipher suite; write it like TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    parts = cipher.replace("_CBC", "").replace("AES_", "AES").replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    parts = parts.replace("3DES_EDE", "DES_CBC3").replace("RC4_128", "RC4")
    return "-".join([*([] if exchange == "RSA" else exchange.split("_")), *parts.split("_")])


def _self_signed(address: str) -> tuple[bytes, bytes]:
    """A certificate and its key. To import what makes them takes 40 ms, for which the first bind shall not wait."""
    from scheduler_runtime.serving.https.self_signed import self_signed

    return self_signed(address, VALID_DAYS)


def _write(certificate: Path, key: Path, certificate_pem: bytes, key_pem: bytes) -> None:
    try:
        certificate.parent.mkdir(parents=True, exist_ok=True)
        key.touch(mode=0o600)
        key.write_bytes(key_pem)
        certificate.write_bytes(certificate_pem)
    except OSError as error:
        raise CertificateError(f"{certificate.parent}: a certificate cannot be written: {error.strerror}") from error


def _loaded(context: ssl.SSLContext, certificate: Path, key: Path) -> ssl.SSLContext:
    try:
        context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise CertificateError(f"{certificate} and {key} are no certificate and its key: {error}") from error
    except OSError as error:
        raise CertificateError(f"{certificate} and {key} cannot be read: {error.strerror}") from error
    return context


@contextmanager
def _as_file(content: bytes) -> Iterator[Path]:
    """``content`` under a name, which OpenSSL wants; in memory where possible, as not every disk is writable."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("serving"), "wb") as file:
            file.write(content)
            file.flush()
            yield Path(f"/proc/self/fd/{file.fileno()}")
    else:
        with tempfile.NamedTemporaryFile() as named:
            named.write(content)
            named.flush()
            yield Path(named.name)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What changes with the content of a file, also behind a link."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
