"""A client that requests a host by its name gets the certificate for that name."""

from __future__ import annotations

import datetime
import socket
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from scheduler_runtime.component.https import (
    CertificateError,
    Endpoints,
    NamedPair,
    TlsSettings,
    choose_certificate,
    serve,
    server,
)
from scheduler_runtime.component.https.sni import certificate_names
from tests.support.eventually import eventually


def pair(directory: Path, title: str, common_name: str, *alternative_names: str) -> tuple[str, str]:
    """Write a certificate with the organization ``title`` for these names, and its key."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.UTC)
    name = x509.Name(
        [
            x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name),
            x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, title),
        ]
    )
    builder = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
    )
    builder = builder.not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(
        now + datetime.timedelta(days=1)
    )
    if alternative_names:
        names = x509.SubjectAlternativeName([x509.DNSName(name) for name in alternative_names])
        builder = builder.add_extension(names, critical=False)
    files = directory / f"{title}.crt", directory / f"{title}.key"
    files[0].write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files[1].write_bytes(key.private_bytes(*form))
    return str(files[0]), str(files[1])


def title(port: int, name: str | None) -> str:
    """Return the organization in the certificate that a client of the host ``name`` gets."""
    context = ssl._create_unverified_context()  # noqa: S323 - what is looked at is the certificate itself
    with (
        socket.create_connection(("127.0.0.1", port), 5) as plain,
        context.wrap_socket(plain, server_hostname=name) as secured,
    ):
        certificate = x509.load_der_x509_certificate(secured.getpeercert(binary_form=True) or b"")
    return ",".join(str(part.value) for part in certificate.subject if part.oid == x509.NameOID.ORGANIZATION_NAME)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(None, "everybody", id="no-name"),
        pytest.param("nobody.example", "everybody", id="a-name-that-nobody-bears"),
        pytest.param("borne.example", "bearing", id="the-certificates-own"),
        pytest.param("BORNE.example", "bearing", id="whatever-the-case"),
        pytest.param("beside.example", "bearing", id="beside-its-common-name"),
        pytest.param("a.wide.example", "bearing", id="a-wildcard"),
        pytest.param("a.b.wide.example", "everybody", id="a-wildcard-is-one-label"),
        pytest.param("given.example", "given", id="given-counts-before-borne"),
        pytest.param("x.given.example", "given", id="a-wildcard-that-is-given"),
        pytest.param("whole.given.example", "bearing", id="a-whole-name-counts-before-a-wildcard"),
        pytest.param("both.example", "given", id="the-first-of-two"),
        pytest.param("unused.example", "everybody", id="names-borne-do-not-count-beside-those-given"),
    ],
)
def test_the_name_chooses(name: str | None, expected: str, tmp_path: Path) -> None:
    default = pair(tmp_path, "everybody", "everybody")
    names = ("beside.example", "*.wide.example", "given.example", "whole.given.example")
    bearing = NamedPair(*pair(tmp_path, "bearing", "borne.example", *names))
    by_flag = pair(tmp_path, "given", "unused.example")
    first = NamedPair(*by_flag, ("given.example", "*.given.example", "both.example"))
    second = NamedPair(*pair(tmp_path, "second", "second"), ("both.example",))
    settings = TlsSettings(certificate_file=default[0], key_file=default[1], by_name=(bearing, first, second))
    with serve(Endpoints(), "127.0.0.1", 0, certificate=choose_certificate(settings, "127.0.0.1")) as port:
        assert title(port, name) == expected


def test_files_that_change_are_read_again_with_the_names_they_bear(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CERTIFICATE_SECONDS", 0.01)
    settings = TlsSettings(by_name=(NamedPair(*pair(tmp_path, "its", "old.example")),))
    with serve(Endpoints(), "127.0.0.1", 0, certificate=choose_certificate(settings, "127.0.0.1")) as port:
        assert title(port, "old.example") == "its"
        (tmp_path / "its.crt").write_text("half a certif")
        assert title(port, "old.example") == "its"
        pair(tmp_path, "its", "new.example")
        eventually(lambda: title(port, "new.example") == "its", 20)


def test_files_that_cannot_be_used_are_named_at_the_start(tmp_path: Path) -> None:
    files = pair(tmp_path, "its", "a.example")
    with pytest.raises(CertificateError, match="are no certificate and its key"):
        choose_certificate(TlsSettings(by_name=(NamedPair(files[1], files[1]),)), "127.0.0.1")


def test_a_common_name_that_is_no_host_is_no_name_of_one(tmp_path: Path) -> None:
    names = certificate_names(Path(pair(tmp_path, "its", "Some Authority", "A.example")[0]).read_bytes())
    assert list(names) == ["a.example"]
