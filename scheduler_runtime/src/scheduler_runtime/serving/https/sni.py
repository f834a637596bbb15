"""Certificates for those who ask for a host by its name (SNI): ``--tls-sni-cert-key``.

Names that the flag gives count before those that a certificate bears, whole names before wildcards, and of pairs that
are alike in that, the first.
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
"""Gives what a new connection is wrapped in, as it is now."""

_HOST = re.compile(r"(\*|(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)")


@dataclass(frozen=True, slots=True)
class NamedPair:
    """Files with a certificate and its key, and the names they are for; those it bears if there are none."""

    certificate_file: str
    key_file: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        names = f":{','.join(self.names)}" if self.names else ""
        return f"{self.certificate_file},{self.key_file}{names}"


class SniCertificates:
    """One certificate for each name that is asked for, and another for everything else."""

    def __init__(self, otherwise: Contexts, named: Sequence[tuple[NamedPair, Contexts]]) -> None:
        self._otherwise = otherwise
        self._named = named
        self._borne: dict[NamedPair, tuple[ssl.SSLContext, frozenset[str]]] = {}
        """The names that each certificate bears, and what was made of its files when they were read."""

    def context(self) -> ssl.SSLContext:
        """As it is now. May be asked from any thread."""
        context = self._otherwise()
        context.sni_callback = self._choose
        return context

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        if name and (found := self._of(name)):
            connection.context = found()

    def _of(self, name: str) -> Contexts | None:
        name = name.lower().rstrip(".")
        for wanted, is_given in product((name, f"*.{name.partition('.')[2]}"), (True, False)):
            for pair, context in self._named:
                if bool(pair.names) is is_given and wanted in (pair.names or self._names_borne(pair, context())):
                    return context
        return None

    def _names_borne(self, pair: NamedPair, context: ssl.SSLContext) -> frozenset[str]:
        """Its certificate is read again when whoever reads the pair has done so."""
        known, names = self._borne.get(pair, (None, frozenset[str]()))
        if known is not context:
            with contextlib.suppress(OSError, ValueError):  # it changed once more: the names stay until it is read
                names = frozenset(certificate_names(Path(pair.certificate_file).read_bytes()))
            self._borne[pair] = context, names
        return names


def certificate_names(pem: bytes) -> Iterator[str]:
    """The names of hosts that a certificate is for: its common name, if that is one, and all that stand beside it.

    Raises ValueError.
    """
    from cryptography import x509

    found = x509.load_pem_x509_certificate(pem)
    named = [str(each.value) for each in found.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)]
    yield from (each.lower() for each in named if _HOST.fullmatch(each.lower()))
    for extension in found.extensions:
        if isinstance(extension.value, x509.SubjectAlternativeName):
            yield from (each.lower() for each in extension.value.get_values_for_type(x509.DNSName))
