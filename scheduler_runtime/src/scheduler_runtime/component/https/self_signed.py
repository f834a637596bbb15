"""Self-signed certificates for this machine."""

from __future__ import annotations

import datetime
import ipaddress
import socket

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def self_signed(address: str, days: int) -> tuple[bytes, bytes]:
    """Return a new certificate and its key, both as PEM: for localhost, this host's name and ``address``."""
    key = ec.generate_private_key(ec.SECP256R1())
    host = socket.gethostname()
    now = datetime.datetime.now(datetime.UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{host}@{int(now.timestamp())}"[:64])])
    addresses = {ipaddress.ip_address("127.0.0.1"), ipaddress.ip_address("::1")}
    if not (own := ipaddress.ip_address(address)).is_unspecified:
        addresses.add(own)
    names: list[x509.GeneralName] = [
        *(x509.DNSName(name) for name in dict.fromkeys(("localhost", host)) if name.isascii()),
        *(x509.IPAddress(ip) for ip in sorted(addresses, key=str)),
    ]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))  # for callers whose clocks are behind
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key_pem
