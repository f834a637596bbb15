"""Calling extenders over TLS: whom to trust, and who is asking."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from scheduler_runtime.component.https.self_signed import self_signed
from scheduler_runtime.config import ExtenderConfig
from scheduler_runtime.scheduling.binding_sender import FencedError
from scheduler_runtime.scheduling.extenders import ExtenderClient, ExtenderError
from scheduler_runtime.scheduling.extenders.http_calls import CONNECTIONS, Address
from tests.support.extenders import Answer, ExtenderServer, serving


def pair(directory: Path, name: str) -> tuple[str, str]:
    """A certificate of its own authority, and its key, as files."""
    files = directory / f"{name}.crt", directory / f"{name}.key"
    for file, text in zip(files, self_signed("127.0.0.1", 1), strict=True):
        file.write_bytes(text)
    return str(files[0]), str(files[1])


def client_pair(directory: Path) -> tuple[str, str]:
    """A certificate that may be shown by who asks, and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "scheduler")])
    begins = datetime(2020, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, begins, begins.replace(year=2120))
    signed = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, SHA256())
    files = directory / "scheduler.crt", directory / "scheduler.key"
    files[0].write_bytes(signed.public_bytes(Encoding.PEM))
    files[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return str(files[0]), str(files[1])


def base64_of(file: str) -> str:
    """What a file holds, as a document has it."""
    return base64.b64encode(Path(file).read_bytes()).decode()


@contextmanager
def secured(directory: Path, asks_for: str = "") -> Iterator[tuple[ExtenderServer, str]]:
    """An extender over HTTPS, and its certificate; it talks to those only who show the one it ``asks_for``."""
    certificate, key = pair(directory, "extender")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if asks_for:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(asks_for)
    with serving({"filter": lambda _: {}}, context) as extender:
        yield extender, certificate


@contextmanager
def calling(url_prefix: str, **fields: Any) -> Iterator[ExtenderClient]:
    """The connections to an extender that is said to be there."""
    calls = ExtenderClient(Address.of(ExtenderConfig.model_validate({"urlPrefix": url_prefix, **fields})))
    try:
        yield calls
    finally:
        calls.close()


async def ask(extender: ExtenderServer, **fields: Any) -> bytes:
    with calling(**{"url_prefix": f"{extender.url}/", **fields}) as calls:
        return await calls.post("filter", b"{}")


async def test_the_authority_may_be_a_file_or_written_out(tmp_path: Path) -> None:
    with secured(tmp_path) as (extender, certificate):
        assert await ask(extender, tlsConfig={"caFile": certificate}) == b"{}"
        assert await ask(extender, tlsConfig={"caData": base64_of(certificate)}) == b"{}"


async def test_nobody_else_is_trusted(tmp_path: Path) -> None:
    with secured(tmp_path) as (extender, _):
        stranger, _ = pair(tmp_path, "stranger")
        for tls in (None, {"caFile": stranger}, {"serverName": "localhost"}):
            with pytest.raises(ExtenderError, match="CERTIFICATE_VERIFY_FAILED"):
                await ask(extender, tlsConfig=tls)


@pytest.mark.parametrize(
    "fields", [{"enableHTTPS": True}, {"tlsConfig": {"insecure": True}}, {"enableHTTPS": True, "tlsConfig": {}}]
)
async def test_without_an_authority_whoever_answers_is_believed_if_https_is_asked_for(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    with secured(tmp_path) as (extender, _):
        assert await ask(extender, **fields) == b"{}"


async def test_the_name_on_the_certificate_may_be_another_than_that_in_the_address(tmp_path: Path) -> None:
    with secured(tmp_path) as (extender, certificate):
        assert await ask(extender, tlsConfig={"caFile": certificate, "serverName": "localhost"}) == b"{}"
        with pytest.raises(ExtenderError, match="example"):
            await ask(extender, tlsConfig={"caFile": certificate, "serverName": "example.com"})


async def test_the_scheduler_shows_a_certificate_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, key = client_pair(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")  # as in a pod whose root file system is read-only
    with secured(tmp_path, own) as (extender, authority):
        data = {"certData": base64_of(own), "keyData": base64_of(key), "caData": base64_of(authority)}
        assert await ask(extender, tlsConfig={"certFile": own, "keyFile": key, "caFile": authority}) == b"{}"
        assert await ask(extender, tlsConfig=data) == b"{}"
        with pytest.raises(ExtenderError, match="failed filter with extender at URL"):
            await ask(extender, tlsConfig={"caFile": authority, "certFile": own})


def test_certificates_that_cannot_be_used_are_found_before_anybody_is_asked() -> None:
    for tls in ({"caFile": "/nowhere"}, {"certFile": "/nowhere", "keyFile": "/nowhere"}):
        with pytest.raises(OSError, match="No such file"):
            Address.of(ExtenderConfig.model_validate({"urlPrefix": "https://there", "tlsConfig": tls}))


async def test_a_refusal_is_told_as_kube_scheduler_tells_it() -> None:
    with (
        serving({}) as extender,
        pytest.raises(ExtenderError, match=r"^failed filter with extender at URL http://.*/filter, code 404$"),
    ):
        await ask(extender)


async def test_a_name_and_a_password_in_the_address_are_shown() -> None:
    with serving({"filter": lambda _: {}}) as extender:
        await ask(extender, url_prefix=extender.url.replace("http://", "http://me:a%20b@"))
        await ask(extender, url_prefix=extender.url.replace("http://", "http://token@"))
        encoded = [headers["Authorization"].removeprefix("Basic ") for headers in extender.headers]
    assert [base64.b64decode(credentials).decode() for credentials in encoded] == ["me:a b", "token:"]


async def test_a_query_in_the_address_may_have_spaces() -> None:
    with serving({"filter": lambda _: {}}) as extender:
        assert await ask(extender, url_prefix=f"{extender.url}/?for=a b") == b"{}"


async def test_an_address_that_would_lose_the_verb_is_not_called() -> None:
    with serving({"filter": lambda _: {}}) as extender:
        with pytest.raises(ExtenderError, match="nothing after the # of an address is sent"):
            await ask(extender, url_prefix=f"{extender.url}/#pods")
        assert extender.received == []


@pytest.mark.parametrize("prefix", ["there", "ftp://there", "http:", "http://127.0.0.1:9", "http://127.0.0.1:x"])
async def test_an_address_where_nobody_can_be_asked_is_named(prefix: str) -> None:
    with (
        calling(prefix) as calls,
        pytest.raises(ExtenderError, match=f"^failed filter with extender at URL {prefix}/filter: ") as failure,
    ):
        await calls.post("filter", b"{}")
    assert not failure.value.sent


@pytest.mark.parametrize(
    "prefix",
    ["http://me:secret@127.0.0.1:9", "http://secret@127.0.0.1:9", "http://me:se/secret@127.0.0.1:9", "me:secret@there"],
)
async def test_who_asks_and_by_which_password_is_told_to_nobody(prefix: str) -> None:
    with calling(prefix) as calls, pytest.raises(ExtenderError, match=r"\*\*\*@") as failure:
        await calls.post("filter", b"{}")
    assert "secret" not in str(failure.value)


async def test_connections_are_kept_for_the_next_question() -> None:
    with serving({"filter": lambda _: {}}) as extender, calling(extender.url) as calls:
        for _ in range(3):
            await calls.post("filter", b"{}")
        assert len(extender.clients) == 1


def hangs_up(_: Any) -> Any:
    """End the connection without an answer."""
    raise ConnectionAbortedError


async def test_a_question_that_met_the_end_of_an_idle_connection_is_asked_again() -> None:
    answers: list[Answer] = [lambda _: {}, hangs_up, lambda _: {"again": True}]
    with serving({"filter": lambda question: answers.pop(0)(question)}) as extender, calling(extender.url) as calls:
        assert await calls.post("filter", b"{}") == b"{}"
        assert json.loads(await calls.post("filter", b"{}")) == {"again": True}
        assert len(extender.clients) == 2


async def test_one_who_ends_new_connections_is_asked_once() -> None:
    with serving({"filter": hangs_up}) as extender, calling(extender.url) as calls:
        with pytest.raises(ExtenderError, match="the server closed the connection"):
            await calls.post("filter", b"{}")
        assert len(extender.received) == 1


async def test_a_binding_is_sent_once() -> None:
    with serving({"filter": lambda _: {}, "bind": hangs_up}) as extender, calling(extender.url) as calls:
        await calls.post("filter", b"{}")
        with pytest.raises(ExtenderError, match="failed bind") as failure:
            await calls.post("bind", b"{}", lambda: None)
        assert len(extender.questions("bind")) == 1
    assert failure.value.sent


@asynccontextmanager
async def busy(extender: ExtenderServer, calls: ExtenderClient) -> AsyncIterator[None]:
    """All connections that there may be are waiting for an answer, which comes at the end of the ``with``."""
    extender.answers["filter"] = lambda _: {"late": extender.released.wait(30)}
    calls_under_way = [asyncio.create_task(calls.post("filter", b"{}")) for _ in range(CONNECTIONS)]
    while len(extender.received) < CONNECTIONS:  # noqa: ASYNC110  it is a thread that is asked
        await asyncio.sleep(0.005)
    yield
    extender.released.set()
    await asyncio.gather(*calls_under_way)


async def test_what_forbids_a_question_is_looked_at_once_there_is_a_connection_for_it() -> None:
    leads = True

    def check() -> None:
        if not leads:
            raise FencedError

    with serving({}) as extender, calling(extender.url) as calls:
        async with busy(extender, calls):
            binding = asyncio.create_task(calls.post("bind", b"{}", check))
            await asyncio.sleep(0)
            leads = False
        with pytest.raises(FencedError):
            await binding
        assert extender.questions("bind") == []


async def test_without_a_connection_in_time_nothing_was_sent() -> None:
    with serving({}) as extender, calling(extender.url) as calls:
        async with busy(extender, calls):
            calls.address = replace(calls.address, seconds=0.05)
            with pytest.raises(ExtenderError, match=r"/bind: no answer within 0\.05 s") as failure:
                await calls.post("bind", b"{}")
    assert not failure.value.sent


async def test_once_closed_no_connection_stays_open_after_its_answer() -> None:
    with serving({}) as extender, calling(extender.url) as calls:
        extender.answers["filter"] = lambda _: {"late": extender.released.wait(30)}
        calls_under_way = asyncio.create_task(calls.post("filter", b"{}"))
        while not extender.received:  # noqa: ASYNC110  it is a thread that is asked
            await asyncio.sleep(0.005)
        calls.close()
        extender.released.set()
        assert json.loads(await calls_under_way) == {"late": True}
        await calls.post("filter", b"{}")
        while extender.connected:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


@asynccontextmanager
async def endless(start: bytes, part: bytes) -> AsyncIterator[tuple[str, list[int]]]:
    """An extender that answers with ``start`` and then with ``part`` for ever; gives its address, and what it sent."""
    sent = [0]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(start)
            while True:
                writer.write(part)
                sent[0] += len(part)
                await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", sent
    finally:
        server.close()


OK = b"HTTP/1.1 200 OK\r\n"
KERNEL = 16 << 20
"""More than the buffers of both sides hold."""


@pytest.mark.parametrize(
    ("start", "part", "longest", "problem"),
    [
        pytest.param(OK + b"\r\n", b" " * 65536, 8 << 20, "more than 8388[0-9]{3} bytes", id="body"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b" " * 65536 + b"\r\n", 8 << 20,
                     "more than 8388[0-9]{3} bytes", id="chunks"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 1000, 1 << 20,
                     "more than 65536 bytes beside its body", id="tiny-chunks"),
        pytest.param(OK, b"X: y\r\n" * 1000, 65536, "more than 65536 bytes beside its body", id="fields"),
        pytest.param(OK + b"X: ", b"y" * 65536, 65536, "more than 65536 bytes beside its body", id="field"),
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, 65536, "more than 65536 bytes beside its body",
                     id="interim-responses"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n \r\n0\r\n", b"X: y\r\n" * 1000, 65536,
                     "more than 65536 bytes beside its body", id="trailers"),
    ],
)  # fmt: skip
async def test_an_answer_without_an_end_ends_in_a_sentence(
    start: bytes, part: bytes, longest: int, problem: str
) -> None:
    began = time.process_time()
    async with endless(start, part) as (url, sent):
        with calling(url, httpTimeout="60s") as calls, pytest.raises(ExtenderError, match=problem):
            await calls.post("filter", b"{}")
        assert sent[0] < longest + KERNEL
    assert time.process_time() - began < 5  # and not as long as the extender likes


async def test_an_answer_may_be_as_long_as_its_question_makes_it() -> None:
    long = "x" * (20 << 20)
    with serving({"filter": lambda question: question}) as extender, calling(extender.url) as calls:
        assert len(await calls.post("filter", json.dumps({"Nodes": long}).encode())) > len(long)


async def test_certificates_that_change_are_read_again_and_unusable_ones_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directories = [tmp_path / name for name in ("first", "second", "mounted")]
    for directory in directories:
        directory.mkdir()
    first, second, mounted = directories
    accepted, key = client_pair(second)
    stranger = client_pair(first)
    files = {"certFile": mounted / "tls.crt", "keyFile": mounted / "tls.key"}

    def mount(certificate: str, key: str) -> None:
        for file, source in zip(files.values(), (certificate, key), strict=True):
            file.unlink(missing_ok=True)
            file.symlink_to(source)

    with secured(tmp_path, accepted) as (extender, authority):
        mount(*stranger)
        tls = {"caFile": authority, **{name: str(file) for name, file in files.items()}}
        with calling(extender.url, tlsConfig=tls) as calls:
            with pytest.raises(ExtenderError):
                await calls.post("filter", b"{}")
            mount(accepted, key)
            assert await calls.post("filter", b"{}") == b"{}"
            mount(accepted, stranger[1])
            assert await calls.post("filter", b"{}") == b"{}"
            assert "cannot be read again" in caplog.text
            mount(*stranger)
            with pytest.raises(ExtenderError):
                await calls.post("filter", b"{}")
