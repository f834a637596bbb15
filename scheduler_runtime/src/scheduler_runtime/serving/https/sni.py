"""Certificates by host name (SNI): ``--tls-sni-cert-key``.

Names in the flag count before names in a certificate, whole names before wildcards, and among equal pairs the first.
"""

from __future__ import annotations

import contextlib
import re
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

Contexts = Callable[[], ssl.SSLContext]
"""Returns the TLS context for a new connection."""

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
        self._by_name = by_name
        self._names: dict[NamedPair, tuple[ssl.SSLContext, frozenset[str]]] = {}
        """The names in each certificate, and the context that was made of its files when they were read."""

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection. May be called from any thread."""
        context = self._default()
        context.sni_callback = self._switch_context
        return context

    def _switch_context(self, connection: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        """Choose the certificate, in the middle of the handshake: OpenSSL calls this with the requested ``name``."""
        if name and (contexts := self._find(name.lower().rstrip("."))):
            connection.context = contexts()

    def _find(self, name: str) -> Contexts | None:
        """Return the source of contexts for a host name, None if the default is to be used."""
        wildcard = f"*.{name.partition('.')[2]}"
        for pattern, is_in_flag in product((name, wildcard), (True, False)):
            for pair, contexts in self._by_name:
                if bool(pair.names) is is_in_flag and pattern in (pair.names or self._names_in(pair, contexts())):
                    return contexts
        return None

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
