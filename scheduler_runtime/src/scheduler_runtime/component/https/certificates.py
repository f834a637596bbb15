"""The serving certificate: from files, which are read again when they change, or generated.

A generated certificate is self-signed: it keeps others from reading along, and proves nothing about this process.
"""

from __future__ import annotations

import logging
import os
import ssl
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scheduler_runtime.component.https.sni import NamedPair, SniCertificates
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.tls import as_file, stamps_of

logger = logging.getLogger(__name__)

VALID_DAYS = 365
RENEW_SECONDS = VALID_DAYS * 24 * 3600 * 2 / 3
PAIR_NAME = "kube-scheduler"
"""Upstream's name for the files in ``--cert-dir``."""

VERSIONS = {
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
ALWAYS_ON = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
"""The suites of TLS 1.3, which cannot be chosen, in Go neither."""


class CertificateError(Exception):
    """The files cannot be used; the message names them and says why."""


class SuiteError(ValueError):
    """A cipher suite that this build of OpenSSL does not have."""


class Certificate(Protocol):
    """The source of the TLS contexts of new connections."""

    def context(self) -> ssl.SSLContext:
        """Return the context for new connections. May take long; called by one thread at a time, again and again."""
        ...


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """The TLS part of the command line."""

    certificate_file: str = ""
    key_file: str = ""
    directory: str = ""
    least_version: str = ""
    suites: tuple[str, ...] = ()
    client_ca_file: str = ""
    by_name: tuple[NamedPair, ...] = ()


def choose_certificate(settings: TlsSettings, address: str) -> Certificate:
    """Return the certificate to serve with on ``address``: from files, from ``--cert-dir``, or generated.

    Raises CertificateError and SuiteError.
    """
    certificate: Certificate
    if settings.certificate_file or settings.key_file:
        certificate = FileCertificate(Path(settings.certificate_file), Path(settings.key_file), settings)
    elif settings.directory:
        files = [Path(settings.directory) / f"{PAIR_NAME}.{ending}" for ending in ("crt", "key")]
        if not all(os.path.lexists(file) for file in files):
            _write_pair(files[0], files[1], address)
        certificate = FileCertificate(files[0], files[1], settings)
    else:
        certificate = GeneratedCertificate(settings, address)
    if not settings.by_name:
        return certificate
    by_name = [
        (pair, FileCertificate(Path(pair.certificate_file), Path(pair.key_file), settings).context)
        for pair in settings.by_name
    ]
    return SniCertificates(certificate.context, by_name)


class FileCertificate:
    """A certificate and its key in files. While changed files are unusable, the last usable pair stays in use."""

    def __init__(self, certificate: Path, key: Path, settings: TlsSettings) -> None:
        """Raises CertificateError."""
        self._files = (certificate, key)
        self._settings = settings
        self._trouble = LogOnce(logger)
        self._stamps = stamps_of(self._files)
        self._context = self._load()

    def context(self) -> ssl.SSLContext:
        """Return the context for new connections, after reading the files again if they changed."""
        # The stamps are read before the files, so that a change in between is noticed the next time.
        stamps = stamps_of(self._files)
        if stamps != self._stamps:
            try:
                self._context = self._load()
            except CertificateError as error:
                # The key may be written a moment after the certificate: the stamps stay, so it is tried again.
                self._trouble.failing("the serving certificate cannot be read again", str(error))
            else:
                self._stamps = stamps
                self._trouble.recovered()
                logger.info("serving certificate read again", extra={"file": str(self._files[0])})
        return self._context

    def _load(self) -> ssl.SSLContext:
        return _load_pair(context_for(self._settings), *self._files)


class GeneratedCertificate:
    """A self-signed certificate in memory, generated when it is first needed and renewed long before it expires."""

    def __init__(self, settings: TlsSettings, address: str, clock: Callable[[], float] = time.time) -> None:
        """Raises SuiteError and CertificateError."""
        context_for(settings)  # mistakes in the flags are reported at the start, not in the log
        self._settings = settings
        self._address = address
        self._clock = clock
        self._generated_at = float("-inf")
        self._context: ssl.SSLContext | None = None

    def context(self) -> ssl.SSLContext:
        """Return the context for new connections, with a new certificate if the last one is old."""
        now = self._clock()
        if self._context is None or now - self._generated_at > RENEW_SECONDS:
            certificate, key = _generate_pair(self._address)
            with as_file(key + certificate) as file:
                self._context = _load_pair(context_for(self._settings), file, file)
            self._generated_at = now
        return self._context


def context_for(settings: TlsSettings) -> ssl.SSLContext:
    """Return a context without a certificate. Raises SuiteError and CertificateError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = VERSIONS[settings.least_version or "VersionTLS12"]
    suites = [suite for suite in settings.suites if suite not in ALWAYS_ON]
    if suites:
        try:
            context.set_ciphers(":".join(map(openssl_name, suites)))
        except ssl.SSLError as error:
            raise SuiteError(f"none of {', '.join(suites)} is known to {ssl.OPENSSL_VERSION}") from error
    if settings.client_ca_file:
        context.verify_mode = ssl.CERT_OPTIONAL  # a caller without a certificate may have a token
        try:
            context.load_verify_locations(settings.client_ca_file)
        except OSError as error:
            raise CertificateError(f"{settings.client_ca_file}: {error.strerror or error}") from error
    return context


def openssl_name(suite: str) -> str:
    """Return OpenSSL's name of a suite: ECDHE-RSA-AES128-GCM-SHA256 for TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256.

    Raises SuiteError for a text that does not have the form of a suite's name.
    """
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    if not cipher or not suite.startswith("TLS_"):
        raise SuiteError(f"{suite} is not a cipher suite; write it like TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
    parts = cipher.replace("_CBC", "").replace("AES_", "AES").replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305")
    parts = parts.replace("3DES_EDE", "DES_CBC3").replace("RC4_128", "RC4")
    return "-".join([*([] if exchange == "RSA" else exchange.split("_")), *parts.split("_")])


def _generate_pair(address: str) -> tuple[bytes, bytes]:
    # The import takes 40 ms, for which no start-up waits: a certificate in memory is generated in a thread meanwhile.
    from scheduler_runtime.component.https.self_signed import self_signed

    return self_signed(address, VALID_DAYS)


def _write_pair(certificate: Path, key: Path, address: str) -> None:
    """Write a new pair of files that only we can read. Raises CertificateError if a file of either name is there."""
    directory = certificate.parent
    for file in (certificate, key):
        # Half a pair is somebody's and is not replaced; and nothing is written through a link, wherever it leads.
        if os.path.lexists(file):
            text = f"{file} is there without the other half of its pair; remove it, and both are written anew"
            raise CertificateError(text)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for file, pem in zip((certificate, key), _generate_pair(address), strict=True):
            _write_new(file, pem)
    except OSError as error:
        raise CertificateError(f"{directory}: a certificate cannot be written: {error.strerror}") from error


def _write_new(file: Path, content: bytes) -> None:
    """Write a file of mode 0600 under a name that nobody has; whoever reads it finds it complete. Raises OSError."""
    # Made under a name that nobody can guess, so that no link or file of another user stands there.
    descriptor, unfinished = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    try:
        with os.fdopen(descriptor, "wb") as new:
            new.write(content)
        os.link(unfinished, file)  # unlike a rename it replaces nothing
    finally:
        os.unlink(unfinished)


def _load_pair(context: ssl.SSLContext, certificate: Path, key: Path) -> ssl.SSLContext:
    try:
        context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        raise CertificateError(f"{certificate} and {key} are no certificate and its key: {error}") from error
    except OSError as error:
        raise CertificateError(f"{certificate} and {key} cannot be read: {error.strerror}") from error
    return context
