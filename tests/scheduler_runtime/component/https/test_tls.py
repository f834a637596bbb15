"""Certificates: made here, or from files that are read again."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509

from scheduler_runtime.component.https import (
    Access,
    AccessRules,
    CertificateError,
    Endpoints,
    TlsSettings,
    choose_certificate,
    connection,
    serve,
    server,
)
from scheduler_runtime.component.https.certificates import RENEW_SECONDS, GeneratedCertificate, openssl_name
from scheduler_runtime.component.https.self_signed import self_signed
from tests.scheduler_runtime.component.https.test_access import ApiServer
from tests.support.eventually import eventually
from tests.support.pages import get


def pair(directory: Path) -> TlsSettings:
    """Write a new certificate and its key."""
    certificate, key = self_signed("127.0.0.1", 1)
    (directory / "tls.crt").write_bytes(certificate)
    (directory / "tls.key").write_bytes(key)
    return TlsSettings(certificate_file=str(directory / "tls.crt"), key_file=str(directory / "tls.key"))


def served(port: int) -> bytes:
    """The certificate that is served now."""
    with socket.create_connection(("127.0.0.1", port), 5) as plain:
        context = ssl._create_unverified_context()  # noqa: S323 - what is looked at is the certificate itself
        with context.wrap_socket(plain) as secured:
            return secured.getpeercert(binary_form=True) or b""


def test_without_files_a_certificate_is_generated_for_this_machine() -> None:
    with serve(Endpoints(), "127.0.0.1", 0, certificate=choose_certificate(TlsSettings(), "127.0.0.7")) as port:
        assert get(port, "/livez", scheme="https") == (200, "ok")
        current = x509.load_der_x509_certificate(served(port))
    names = current.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert "localhost" in names.get_values_for_type(x509.DNSName)
    assert {"127.0.0.1", "127.0.0.7"} <= {str(address) for address in names.get_values_for_type(x509.IPAddress)}


def test_a_generated_certificate_is_renewed_long_before_it_ends() -> None:
    now = [0.0]
    own = GeneratedCertificate(TlsSettings(), "::", lambda: now[0])
    first = own.context()
    assert own.context() is first
    now[0] = RENEW_SECONDS + 1
    assert own.context() is not first


class SlowCertificate:
    """Its contexts come when they are ``released``."""

    def __init__(self) -> None:
        self.released = threading.Semaphore(0)
        self._certificate = GeneratedCertificate(TlsSettings(), "127.0.0.1")

    def context(self) -> ssl.SSLContext:
        self.released.acquire(timeout=30)
        return self._certificate.context()


def test_handshakes_wait_for_the_certificate() -> None:
    slow = SlowCertificate()
    with serve(Endpoints(), "127.0.0.1", 0, certificate=slow) as port, ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(served, port) for _ in range(4)]
        slow.released.release()
        assert len({handshake.result(20) for handshake in waiting}) == 1


def test_handshakes_that_wait_for_the_certificate_have_a_time_and_keep_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.3)
    slow = SlowCertificate()
    with serve(Endpoints(), "127.0.0.1", 0, certificate=slow) as port:
        for _ in range(2):
            with pytest.raises(OSError, match=r"\w") as ended:
                served(port)
            assert not isinstance(ended.value, TimeoutError)
        slow.released.release()


def test_a_certificate_that_is_read_slowly_again_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CERTIFICATE_SECONDS", 0.01)
    slow = SlowCertificate()
    slow.released.release()
    with serve(Endpoints(), "127.0.0.1", 0, certificate=slow) as port:
        for _ in range(3):
            assert get(port, "/livez", scheme="https") == (200, "ok")
        slow.released.release()


def test_a_certificate_that_could_not_be_generated_is_generated_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    own = GeneratedCertificate(TlsSettings(), "127.0.0.1", lambda: now[0])
    first = own.context()
    now[0] = RENEW_SECONDS + 1
    with monkeypatch.context() as broken:
        broken.setattr("scheduler_runtime.component.https.self_signed.self_signed", lambda *_: (b"", b""))
        with pytest.raises(CertificateError):
            own.context()
    assert own.context() is not first


def test_what_keeps_the_endpoints_from_being_served_is_logged_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CERTIFICATE_SECONDS", 0.01)
    caplog.set_level("INFO")

    problems: list[Exception] = [ImportError("no module named cryptography"), ValueError("not an address")]

    class Flawed:
        def context(self) -> ssl.SSLContext:
            if problems:
                raise problems.pop()
            return choose_certificate(TlsSettings(), "127.0.0.1").context()

    with serve(Endpoints(), "127.0.0.1", 0, certificate=Flawed()) as port:
        assert get(port, "/livez", scheme="https") == (200, "ok")
    failing, recovered = caplog.messages
    assert failing == "the endpoints cannot be served: no certificate: ValueError: not an address"
    assert recovered.startswith("over after")


def test_files_that_change_are_read_again_and_unusable_ones_change_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "CERTIFICATE_SECONDS", 0.01)
    with serve(Endpoints(), "127.0.0.1", 0, certificate=choose_certificate(pair(tmp_path), "127.0.0.1")) as port:
        first = served(port)
        (tmp_path / "tls.crt").write_text("half a certif")
        eventually(lambda: "the serving certificate cannot be read again" in caplog.text, 20)
        assert served(port) == first
        pair(tmp_path)
        second = eventually(lambda: (current := served(port)) != first and current, 20)
        assert second == ssl.PEM_cert_to_DER_cert((tmp_path / "tls.crt").read_text())


def test_a_directory_is_filled_once_under_upstreams_names(tmp_path: Path) -> None:
    choose_certificate(TlsSettings(directory=str(tmp_path / "new")), "127.0.0.1")
    first = (tmp_path / "new" / "kube-scheduler.crt").read_bytes()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert {file.name: file.stat().st_mode & 0o777 for file in (tmp_path / "new").iterdir()} == {
        "kube-scheduler.crt": 0o600,
        "kube-scheduler.key": 0o600,
    }
    choose_certificate(TlsSettings(directory=str(tmp_path / "new")), "127.0.0.1")
    assert (tmp_path / "new" / "kube-scheduler.crt").read_bytes() == first


@pytest.mark.parametrize("name", ["kube-scheduler.key", "kube-scheduler.crt"])
@pytest.mark.parametrize("kind", ["link", "dangling-link", "file", "directory"])
def test_nothing_is_written_over_or_through_what_stands_in_the_directory(kind: str, name: str, tmp_path: Path) -> None:
    directory, elsewhere = tmp_path / "certificates", tmp_path / "elsewhere"
    directory.mkdir()
    place = directory / name
    if kind.endswith("link"):
        place.symlink_to(elsewhere)
    if kind == "link":
        elsewhere.write_text("precious")
    elif kind == "file":
        place.write_text("precious")
        place.chmod(0o666)
    elif kind == "directory":
        place.mkdir()
    with pytest.raises(CertificateError, match=f"{name} is there without the other half of its pair; remove it"):
        choose_certificate(TlsSettings(directory=str(directory)), "127.0.0.1")
    assert [file.name for file in directory.iterdir()] == [name]
    assert elsewhere.exists() == (kind == "link")
    assert not place.is_file() or place.read_text() == "precious"


def test_a_pair_behind_links_is_read(tmp_path: Path) -> None:
    own = pair(tmp_path)
    directory = tmp_path / "certificates"
    directory.mkdir()
    (directory / "kube-scheduler.crt").symlink_to(own.certificate_file)
    (directory / "kube-scheduler.key").symlink_to(own.key_file)
    certificate = choose_certificate(TlsSettings(directory=str(directory)), "127.0.0.1")
    with serve(Endpoints(), "127.0.0.1", 0, certificate=certificate) as port:
        assert served(port) == ssl.PEM_cert_to_DER_cert(Path(own.certificate_file).read_text())


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    with pytest.raises(CertificateError, match=r"/none\.crt and /none\.key cannot be read: No such file or directory"):
        choose_certificate(TlsSettings(certificate_file="/none.crt", key_file="/none.key"), "127.0.0.1")
    both = pair(tmp_path)
    with pytest.raises(CertificateError, match="are no certificate and its key"):
        choose_certificate(TlsSettings(certificate_file=both.key_file, key_file=both.key_file), "127.0.0.1")


def test_a_client_without_tls_gets_an_explanation() -> None:
    with serve(Endpoints(), "127.0.0.1", 0, certificate=choose_certificate(TlsSettings(), "127.0.0.1")) as port:
        assert get(port, "/livez") == (400, "Client sent an HTTP request to an HTTPS server.\n")


def test_older_versions_of_tls_are_refused_when_a_newer_is_asked_for() -> None:
    context = choose_certificate(TlsSettings(least_version="VersionTLS13"), "127.0.0.1").context()
    assert context.minimum_version == ssl.TLSVersion.TLSv1_3


def test_suites_are_chosen_by_the_names_that_go_has_for_them() -> None:
    suite = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
    context = choose_certificate(TlsSettings(suites=(suite, "TLS_AES_128_GCM_SHA256")), "127.0.0.1").context()
    older = [cipher["name"] for cipher in context.get_ciphers() if cipher["protocol"] != "TLSv1.3"]
    assert older == ["ECDHE-ECDSA-AES256-GCM-SHA384"]


@pytest.mark.parametrize(
    ("suite", "expected"),
    [
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
        ("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_3DES_EDE_CBC_SHA", "DES-CBC3-SHA"),
    ],
)
def test_suites_have_other_names_in_openssl(suite: str, expected: str) -> None:
    assert openssl_name(suite) == expected


def test_a_token_and_a_client_certificate_open_what_is_closed(tmp_path: Path) -> None:
    openssl = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    client = tmp_path / "anna.pem"
    subprocess.run([*openssl, "-subj", "/O=system:masters/CN=root", "-keyout", client, "-out", tmp_path / "ca.pem"],
                   check=True, capture_output=True)  # fmt: skip
    client.write_text(client.read_text() + (tmp_path / "ca.pem").read_text())
    tls = choose_certificate(TlsSettings(client_ca_file=str(tmp_path / "ca.pem")), "127.0.0.1")
    with serve(Endpoints(), "127.0.0.1", 0, certificate=tls, access=Access(ApiServer(), AccessRules(()))) as port:
        assert get(port, "/livez", scheme="https")[0] == 403
        assert get(port, "/livez", {"Authorization": "Bearer root's"}, scheme="https") == (200, "ok")
        context = ssl._create_unverified_context()  # noqa: S323 - the client is what is verified here
        context.load_cert_chain(client)
        with socket.create_connection(("127.0.0.1", port), 5) as plain, context.wrap_socket(plain) as secured:
            secured.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
            assert secured.recv(100).startswith(b"HTTP/1.1 200")
