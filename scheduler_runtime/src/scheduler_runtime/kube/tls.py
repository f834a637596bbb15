"""TLS contexts of clients: the authority to trust, and a certificate of one's own, each in a file or as inline data."""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

Pem = bytes | Path
"""Certificates or a key in PEM: the text itself, or the file that has it."""


def client_context(authority: Pem | None, *, verifies: bool = True) -> ssl.SSLContext:
    """Return a context that trusts ``authority``, without one the authorities of the system.

    Unless it ``verifies``, any server is trusted. Raises OSError or ValueError when the authority cannot be used.
    """
    if isinstance(authority, bytes):
        context = ssl.create_default_context(cadata=authority.decode())
    else:
        context = ssl.create_default_context(cafile=authority)
    if not verifies:
        # In this order: verify_mode cannot be changed while host names are checked.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def load_certificate(context: ssl.SSLContext, certificate: Pem, key: Pem) -> None:
    """Load the certificate that the client shows. Raises OSError when it cannot be used."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(as_file(pem)) if isinstance(pem, bytes) else pem for pem in (certificate, key)]
        context.load_cert_chain(files[0], files[1])


FileStamps = tuple[tuple[int, int, int] | None, ...]


def stamps_of(files: Iterable[Path]) -> FileStamps:
    """Return what changes with the content of ``files``, also behind a symbolic link, as in mounted Secrets."""
    stamps: list[tuple[int, int, int] | None] = []
    for file in files:
        try:
            status = file.stat()
        except OSError:
            stamps.append(None)
        else:
            stamps.append((status.st_mtime_ns, status.st_ino, status.st_size))
    return tuple(stamps)


@contextmanager
def as_file(content: bytes) -> Iterator[Path]:
    """Give ``content`` a path, which OpenSSL needs; in memory where possible, as not every disk is writable."""
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("pem"), "wb") as file:
            file.write(content)
            file.flush()
            yield Path(f"/proc/self/fd/{file.fileno()}")
    else:
        with tempfile.NamedTemporaryFile() as named:  # only we can read it
            named.write(content)
            named.flush()
            yield Path(named.name)
