"""The credentials of a cluster: its users' tokens, and the certificates of the API server."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from devcluster.system.files import write_atomically

# The first address of the service range: the API server's address for pods.
SERVICE_ADDRESS = "10.96.0.1"
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
VALID_FOR = datetime.timedelta(days=365)


@dataclass(frozen=True, slots=True)
class User:
    name: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The files of one cluster's credentials."""

    directory: Path
    tokens: Mapping[str, str]

    @property
    def ca(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def certificate(self) -> Path:
        return self.directory / "apiserver.crt"

    @property
    def key(self) -> Path:
        return self.directory / "apiserver.key"

    @property
    def service_account_key(self) -> Path:
        return self.directory / "sa.key"

    @property
    def token_file(self) -> Path:
        return self.directory / "tokens.csv"

    def kubeconfig(self, who: str) -> Path:
        return self.directory / f"{who}.kubeconfig"

    def token(self, who: str) -> Path:
        return self.directory / f"{who}.token"


def make(directory: Path, users: Mapping[str, User]) -> Credentials:
    """Make a certificate authority, the API server's certificate and a token for each of ``users``."""
    directory.mkdir(mode=0o700)
    credentials = Credentials(directory, {who: secrets.token_hex(16) for who in users})
    authority = ec.generate_private_key(ec.SECP256R1())
    root = _certificate("devcluster", authority, authority, authority=True)
    key = ec.generate_private_key(ec.SECP256R1())
    leaf = _certificate("kube-apiserver", key, authority, authority=False)
    _write(credentials.ca, _pem(root))
    _write(credentials.certificate, _pem(leaf))
    _write(credentials.key, _private_pem(key))
    _write(credentials.service_account_key, _private_pem(ec.generate_private_key(ec.SECP256R1())))
    rows = [f'{credentials.tokens[who]},{user.name},{user.name},"{user.group}"' for who, user in users.items()]
    _write(credentials.token_file, "\n".join(rows) + "\n")
    for who, token in credentials.tokens.items():
        _write(credentials.token(who), token)
    return credentials


def write_kubeconfigs(credentials: Credentials, server: str, cluster: str) -> None:
    """Write a kubeconfig for each user, now that the server's address is known."""
    ca = base64.b64encode(credentials.ca.read_bytes()).decode()
    for who, token in credentials.tokens.items():
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": f"devcluster-{cluster}",
            "clusters": [{"name": cluster, "cluster": {"server": server, "certificate-authority-data": ca}}],
            "users": [{"name": who, "user": {"token": token}}],
            "contexts": [
                {"name": f"devcluster-{cluster}", "context": {"cluster": cluster, "user": who, "namespace": "default"}}
            ],
        }
        _write(credentials.kubeconfig(who), json.dumps(document, indent=1))


def _certificate(
    name: str, key: ec.EllipticCurvePrivateKey, issuer_key: ec.EllipticCurvePrivateKey, *, authority: bool
) -> x509.Certificate:
    """A certificate by the authority ``devcluster``, for itself or for the API server."""
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name("devcluster"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=authority,
                crl_sign=authority,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
    )
    if not authority:
        addresses = [x509.IPAddress(ipaddress.ip_address(a)) for a in ("127.0.0.1", SERVICE_ADDRESS)]
        names = [x509.DNSName(name) for name in SERVER_NAMES]
        builder = builder.add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([x509.OID_SERVER_AUTH]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _private_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()


def _write(path: Path, text: str) -> None:
    write_atomically(path, text, mode=0o600)
