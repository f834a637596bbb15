"""Certificates that nobody signs but their own key."""

from __future__ import annotations

import datetime
import ipaddress
import socket

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def self_signed(address: str, days: int) -> tuple[bytes, bytes]:
    """A new certificate for this machine and ``address``, good for so many days, and its key, both as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    host = socket.gethostname()
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{host}@{int(now.timestamp())}"[:64])])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(_names(host, address)), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    written = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return made.public_bytes(serialization.Encoding.PEM), written


def _names(host: str, address: str) -> list[x509.GeneralName]:
    addresses = {ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")}
    given = ipaddress.ip_address(address)
    if not given.is_unspecified:
        addresses.add(given)
    names = [x509.DNSName(each) for each in dict.fromkeys(("localhost", host)) if each.isascii()]
    return [*names, *(x509.IPAddress(each) for each in sorted(addresses, key=str))]
