"""Certificates by host name (SNI): ``--tls-sni-cert-key``.

Names in the flag count before names in a certificate, whole names before wildcards, and among equal pairs the first.
"""

from __future__ import annotations

import contextlib
import re
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

Contexts = Callable[[], ssl.SSLContext]
"""Returns the TLS context for new connections."""

_HOST = re.compile(r"(\*|(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)")


@dataclass(frozen=True, slots=True)
class NamedPair:
    """Files with a certificate and its key, and the host names they are for; without any, those in the certificate."""

    certificate_file: str
    key_file: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = f":{','.join(self.names)}" if self.names else ""
        return f"{self.certificate_file},{self.key_file}{names}"


class SniCertificates:
    """Chooses the certificate by the host name that the client requests, with a default for all other names."""

    def __init__(self, default: Contexts, by_name: Sequence[tuple[NamedPair, Contexts]]) -> None:
        self._default = default
        self._by_name = sorted(by_name, key=lambda entry: not entry[0].names)
        self._by_host: dict[str, ssl.SSLContext] = {}
        """By host names and wildcards."""
        self._names: dict[NamedPair, tuple[ssl.SSLContext, frozenset[str]]] = {}
        """The names in each certificate, and the context that was made of its files when they were read."""

    def context(self) -> ssl.SSLContext:
        """Return the context for new connections. Handshakes, which must not wait, find all others prepared."""
        context, by_host = self._default(), dict[str, ssl.SSLContext]()
        for pair, contexts in self._by_name:
            named = contexts()
            for name in pair.names or self._names_in(pair, named):
                by_host.setdefault(name, named)
        self._by_host = by_host
        context.sni_callback = self._switch_context
        return context

    def _switch_context(self, connection: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        """Choose the certificate, in the middle of the handshake: OpenSSL calls this with the requested ``name``."""
        host = (name or "").lower().rstrip(".")
        by_host = self._by_host
        if context := by_host.get(host) or by_host.get(f"*.{host.partition('.')[2]}"):
            connection.context = context

    def _names_in(self, pair: NamedPair, context: ssl.SSLContext) -> frozenset[str]:
        """Return the names in the certificate of ``pair``; its file is read again when there is another ``context``."""
        last_context, names = self._names.get(pair, (None, frozenset[str]()))
        if last_context is not context:
            # If the file changed once more since the context was made, it may be half written: the names stay as they
            # are until the pair is loaded again.
            with contextlib.suppress(OSError, ValueError):
                names = frozenset(certificate_names(Path(pair.certificate_file).read_bytes()))
            self._names[pair] = context, names
        return names


def certificate_names(pem: bytes) -> Iterator[str]:
    """Yield the host names of a certificate: its common name, if that is a host name, and its alternative names.

    Raises ValueError.
    """
    from cryptography import x509  # 40 ms, which only those who use names pay

    certificate = x509.load_pem_x509_certificate(pem)
    for attribute in certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME):
        name = str(attribute.value).lower()
        if _HOST.fullmatch(name):
            yield name
    for extension in certificate.extensions:
        if isinstance(extension.value, x509.SubjectAlternativeName):
            yield from (name.lower() for name in extension.value.get_values_for_type(x509.DNSName))
