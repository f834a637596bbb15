"""TLS contexts of clients: the authority to trust, and a certificate of one's own, each in a file or as inline data."""

from __future__ import annotations

import ssl
import tempfile
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
    """Load the certificate that the client shows. Raises OSError when it cannot be used.

    OpenSSL reads files only: inline data is written to a file that only we can read, for as long as this takes.
    """
    with tempfile.TemporaryDirectory(prefix="berth-") as directory:
        files: list[Path] = []
        for name, pem in (("certificate", certificate), ("key", key)):
            if isinstance(pem, bytes):
                file = Path(directory, name)
                file.touch(mode=0o600)
                file.write_bytes(pem)
                files.append(file)
            else:
                files.append(pem)
        context.load_cert_chain(files[0], files[1])
