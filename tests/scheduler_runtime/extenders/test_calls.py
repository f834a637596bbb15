"""Calling extenders over TLS: whom to trust, and who is asking."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from scheduler_runtime.config import Extender as Written
from scheduler_runtime.endpoints.certificates import self_signed
from scheduler_runtime.extenders import Calls, ExtenderError
from scheduler_runtime.extenders.calls import Address
from tests.support.extenders import Extender, serving


def pair(directory: Path, name: str) -> tuple[str, str]:
    """A certificate of its own authority, and its key, as files."""
    files = directory / f"{name}.crt", directory / f"{name}.key"
    for file, text in zip(files, self_signed("127.0.0.1"), strict=True):
        file.write_bytes(text)
    return str(files[0]), str(files[1])


def client_pair(directory: Path) -> tuple[str, str]:
    """A certificate that may be shown by who asks, and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "scheduler")])
    begins = datetime(2020, 1, 1, tzinfo=UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, begins, begins.replace(year=2120))
    signed = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, SHA256())
    files = directory / "scheduler.crt", directory / "scheduler.key"
    files[0].write_bytes(signed.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return str(files[0]), str(files[1])


def written_out(file: str) -> str:
    """What a file holds, as a document has it."""
    return base64.b64encode(Path(file).read_bytes()).decode()


@contextmanager
def secured(directory: Path, asks_for: str = "") -> Iterator[tuple[Extender, str]]:
    """An extender over HTTPS, and its certificate; it talks to those only who show the one it ``asks_for``."""
    certificate, key = pair(directory, "extender")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if asks_for:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(asks_for)
    with serving({"filter": lambda _: {}}, context) as extender:
        yield extender, certificate


async def ask(extender: Extender, **written: Any) -> bytes:
    calls = Calls()
    try:
        address = Address.of(Written.model_validate({"urlPrefix": f"{extender.url}/", **written}))
        return await calls.post(address, "filter", b"{}")
    finally:
        calls.close()


async def test_the_authority_may_be_a_file_or_written_out(tmp_path: Path) -> None:
    with secured(tmp_path) as (extender, certificate):
        assert await ask(extender, tlsConfig={"caFile": certificate}) == b"{}"
        assert await ask(extender, tlsConfig={"caData": written_out(certificate)}) == b"{}"


async def test_nobody_else_is_trusted(tmp_path: Path) -> None:
    with secured(tmp_path) as (extender, _):
        stranger, _ = pair(tmp_path, "stranger")
        for tls in (None, {"caFile": stranger}, {"serverName": "localhost"}):
            with pytest.raises(ExtenderError, match="CERTIFICATE_VERIFY_FAILED"):
                await ask(extender, tlsConfig=tls)


@pytest.mark.parametrize(
    "written", [{"enableHTTPS": True}, {"tlsConfig": {"insecure": True}}, {"enableHTTPS": True, "tlsConfig": {}}]
)
async def test_without_an_authority_whoever_answers_is_believed_if_https_is_asked_for(
    tmp_path: Path, written: dict[str, Any]
) -> None:
    with secured(tmp_path) as (extender, _):
        assert await ask(extender, **written) == b"{}"


async def test_the_name_on_the_certificate_may_be_another_than_that_in_the_address(tmp_path: Path) -> None:
    with secured(tmp_path) as (extender, certificate):
        assert await ask(extender, tlsConfig={"caFile": certificate, "serverName": "localhost"}) == b"{}"
        with pytest.raises(ExtenderError, match="example"):
            await ask(extender, tlsConfig={"caFile": certificate, "serverName": "example.com"})


async def test_the_scheduler_shows_a_certificate_of_its_own(tmp_path: Path) -> None:
    own, key = client_pair(tmp_path)
    with secured(tmp_path, own) as (extender, authority):
        data = {"certData": written_out(own), "keyData": written_out(key), "caData": written_out(authority)}
        assert await ask(extender, tlsConfig={"certFile": own, "keyFile": key, "caFile": authority}) == b"{}"
        assert await ask(extender, tlsConfig=data) == b"{}"
        with pytest.raises(ExtenderError, match="failed filter with extender at URL"):
            await ask(extender, tlsConfig={"caFile": authority, "certFile": own})


def test_certificates_that_cannot_be_used_are_found_before_anybody_is_asked() -> None:
    for tls in ({"caFile": "/nowhere"}, {"certFile": "/nowhere", "keyFile": "/nowhere"}):
        with pytest.raises(OSError, match="No such file"):
            Address.of(Written.model_validate({"urlPrefix": "https://there", "tlsConfig": tls}))


async def test_a_refusal_is_told_as_kube_scheduler_tells_it() -> None:
    with (
        serving({}) as extender,
        pytest.raises(ExtenderError, match=r"^failed filter with extender at URL http://.*/filter, code 404$"),
    ):
        await ask(extender)


async def test_a_name_and_a_password_in_the_address_are_shown() -> None:
    with serving({"filter": lambda _: {}}) as extender:
        await ask(extender, urlPrefix=extender.url.replace("http://", "http://me:a%20b@"))
        shown = base64.b64decode(extender.headers[-1]["Authorization"].removeprefix("Basic ")).decode()
    assert shown == "me:a b"


@pytest.mark.parametrize("prefix", ["there", "ftp://there", "http:", "http://127.0.0.1:9", "http://127.0.0.1:x"])
async def test_an_address_where_nobody_can_be_asked_is_named(prefix: str) -> None:
    calls = Calls()
    with pytest.raises(ExtenderError, match=f"^failed filter with extender at URL {prefix}/filter: "):
        await calls.post(Address.of(Written.model_validate({"urlPrefix": prefix})), "filter", b"{}")


async def test_connections_are_kept_for_the_next_question() -> None:
    calls = Calls()
    with serving({"filter": lambda _: {}}) as extender:
        address = Address.of(Written.model_validate({"urlPrefix": extender.url}))
        for _ in range(3):
            await calls.post(address, "filter", b"{}")
        assert len(extender.clients) == 1
        calls.close()
