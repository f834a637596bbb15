"""Credentials: their sources, what is read again, and the messages when they cannot be used."""

from __future__ import annotations

import base64
import json
import re
import ssl
import stat
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from scheduler_runtime.kube.credentials import Credentials, CredentialsError, FileToken, load


@pytest.fixture(scope="module")
def certificate() -> tuple[bytes, bytes]:
    """A self-signed certificate and its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), private


def kubeconfig(directory: Path, user: dict[str, Any], cluster: dict[str, Any] | None = None, name: str = "a") -> Path:
    path = directory / f"{name}.yaml"
    document = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "n"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


def authorization(credentials: Credentials) -> str:
    return credentials.headers().get("Authorization", "")


def test_the_flag_wins_over_the_environment_and_that_over_the_pod(tmp_path: Path) -> None:
    flag = kubeconfig(tmp_path, {"token": "flag"}, name="flag")
    variable = kubeconfig(tmp_path, {"token": "variable"}, name="variable")
    (tmp_path / "token").write_text("pod")
    (tmp_path / "namespace").write_text("berth-system")
    pod = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    environ = {"KUBECONFIG": str(variable), **pod}
    assert authorization(load(str(flag), environ)) == "Bearer flag"
    assert authorization(load("", environ)) == "Bearer variable"
    with pytest.raises(CredentialsError, match="certificate authority"):
        load("", pod, tmp_path)


def test_a_pod_uses_its_service_account(tmp_path: Path, certificate: tuple[bytes, bytes]) -> None:
    (tmp_path / "ca.crt").write_bytes(certificate[0])
    (tmp_path / "token").write_text("pod\n")
    (tmp_path / "namespace").write_text("berth-system\n")
    credentials = load("", {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}, tmp_path)
    assert (credentials.server, credentials.namespace) == ("https://[fd00::1]:443", "berth-system")
    assert authorization(credentials) == "Bearer pod"
    assert credentials.tls is not None
    assert len(credentials.tls.get_ca_certs()) == 1


def hello(context: ssl.SSLContext | None) -> bytes:
    """What a client says first."""
    sent = ssl.MemoryBIO()
    assert context is not None
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="api").do_handshake()
    return sent.read()


def test_http2_is_offered_where_it_may_be_spoken_and_nowhere_else(
    tmp_path: Path, certificate: tuple[bytes, bytes]
) -> None:
    (tmp_path / "ca.crt").write_bytes(certificate[0])
    (tmp_path / "token").write_text("pod")
    pod = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    for credentials in (load("", pod, tmp_path), load(str(kubeconfig(tmp_path, {"token": "t"})), {})):
        assert b"\x02h2\x08http/1.1" in hello(credentials.http2_tls)
        assert b"http/1.1" not in hello(credentials.tls)
    assert load(str(kubeconfig(tmp_path, {}, {"server": "http://here"})), {}).http2_tls is None


def test_nothing_at_all_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"give --kubeconfig, set KUBECONFIG, or run in a pod"):
        load("", {}, tmp_path)


def test_files_of_the_variable_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first = kubeconfig(tmp_path, {"token": "first"}, name="first")
    second = kubeconfig(tmp_path, {"token": "second"}, name="second")
    credentials = load("", {"KUBECONFIG": f"{tmp_path}/absent:{first}:{second}"})
    assert authorization(credentials) == "Bearer first"


def test_inline_certificates_work_and_leave_no_file(
    tmp_path: Path, certificate: tuple[bytes, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    pem, key = (base64.b64encode(part).decode() for part in certificate)
    user = {"client-certificate-data": pem, "client-key-data": key}
    credentials = load(str(kubeconfig(tmp_path, user, {"certificate-authority-data": pem, "tls-server-name": "api"})))
    assert credentials.server_name == "api"
    assert credentials.headers() == {}
    assert list(scratch.iterdir()) == []


def test_certificates_in_files_are_read_beside_the_kubeconfig(tmp_path: Path, certificate: tuple[bytes, bytes]) -> None:
    for name, content in zip(("c.crt", "c.key"), certificate, strict=True):
        (tmp_path / name).write_bytes(content)
    user = {"client-certificate": "c.crt", "client-key": "c.key"}
    assert load(str(kubeconfig(tmp_path, user, {"certificate-authority": "c.crt"}))).tls is not None


def test_skipping_verification_is_possible_and_only_on_request(tmp_path: Path) -> None:
    lax = load(str(kubeconfig(tmp_path, {}, {"insecure-skip-tls-verify": True}, "lax"))).tls
    strict = load(str(kubeconfig(tmp_path, {}, name="strict"))).tls
    assert lax is not None
    assert strict is not None
    assert (lax.verify_mode, strict.verify_mode) == (ssl.CERT_NONE, ssl.CERT_REQUIRED)


@pytest.mark.parametrize("inline", [True, False])
def test_a_replaced_token_is_read_after_a_while_and_at_once_when_refused(tmp_path: Path, inline: bool) -> None:
    now = [0.0]

    def write(token: str) -> Path:
        (tmp_path / "token").write_text(f"{token}\n")
        return kubeconfig(tmp_path, {"token": token} if inline else {"tokenFile": "token"})

    credentials = load(str(write("one")))
    assert isinstance(credentials.source, FileToken)
    credentials.source._clock = lambda: now[0]
    credentials.source.invalidate()
    assert authorization(credentials) == "Bearer one"
    write("two")
    assert authorization(credentials) == "Bearer one"
    now[0] += 31
    assert authorization(credentials) == "Bearer two"
    write("three")
    credentials.reject_token()
    assert authorization(credentials) == "Bearer three"


def test_a_token_file_that_is_being_replaced_does_no_harm(tmp_path: Path) -> None:
    now, file = [0.0], tmp_path / "token"
    file.write_text("good")
    source = FileToken(file, clock=lambda: now[0])
    assert source.token() == "good"
    file.unlink()
    now[0] += 31
    assert source.token() == "good"
    source.invalidate()
    with pytest.raises(CredentialsError, match="cannot read the token: No such file"):
        source.token()


def exec_user(directory: Path, printed: str, **more: Any) -> dict[str, Any]:
    program = directory / "plugin"
    program.write_text(f"#!{sys.executable}\nimport os, sys\n{printed}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin", **more}}


COUNT = """
from pathlib import Path
ran = Path(sys.argv[1]); ran.write_text(ran.read_text() + "x" if ran.exists() else "x")
"""


def test_an_exec_plugin_is_run_once_until_its_token_expires_or_is_refused(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    soon = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    status = {"token": "secret", "expirationTimestamp": soon}
    user = exec_user(tmp_path, COUNT + f"print({json.dumps(json.dumps({'status': status}))})", args=[str(ran)])
    credentials = load(str(kubeconfig(tmp_path, user)))
    assert credentials.is_slow
    assert [authorization(credentials) for _ in range(3)] == ["Bearer secret"] * 3
    assert ran.read_text() == "x"
    credentials.reject_token()
    authorization(credentials)
    assert ran.read_text() == "xx"


def test_an_exec_plugin_gets_its_environment_and_an_expired_token_is_fetched_again(tmp_path: Path) -> None:
    printed = """
import json
assert json.loads(os.environ["KUBERNETES_EXEC_INFO"])["kind"] == "ExecCredential"
from pathlib import Path
token = os.environ["WHO"] + str(os.getpid())
print(json.dumps({"status": {"token": token, "expirationTimestamp": "2020-01-01T00:00:00Z"}}))
"""
    user = exec_user(tmp_path, printed, env=[{"name": "WHO", "value": "me"}])
    credentials = load(str(kubeconfig(tmp_path, user)))
    first, second = authorization(credentials), authorization(credentials)
    assert first.startswith("Bearer me")
    assert first != second


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ('sys.exit("log in first")', "./plugin ended with 1: log in first"),
        ('print("hello")', "did not print an ExecCredential"),
        ('print(\'{"status": {"clientCertificateData": "x"}}\')', "gave no token"),
    ],
)
def test_an_exec_plugin_that_fails_is_named_with_its_last_line(tmp_path: Path, printed: str, message: str) -> None:
    credentials = load(str(kubeconfig(tmp_path, exec_user(tmp_path, printed))))
    with pytest.raises(CredentialsError, match=re.escape(message.removeprefix("./"))):
        credentials.headers()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"current-context": ""}, "current-context is not set"),
        ({"current-context": "there"}, "there is no context 'there'"),
        ({"clusters": []}, "there is no cluster 'c'"),
        ({"clusters": [{"name": "c", "cluster": {"server": "tcp://x"}}]}, "server 'tcp://x' of the cluster is not an"),
        ({"users": [{"name": "u", "user": {"as": "root"}}]}, "user 'u': as is not supported"),
        (
            {"users": [{"name": "u", "user": {"client-certificate-data": "!"}}]},
            "certificate-data: is not base64",
        ),
        ({"users": [{"name": "u", "user": {"client-certificate": "x"}}]}, "client-key is missing"),
        ({"users": [{"name": "u", "user": {"exec": {"apiVersion": "v0"}}}]}, "exec.apiVersion: 'v0' is not supported"),
    ],
)
def test_a_kubeconfig_that_is_no_use_is_named_with_what(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = kubeconfig(tmp_path, {"token": "t"})
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **change}))
    with pytest.raises(CredentialsError, match=re.escape(message)) as caught:
        load(str(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(("text", "message"), [("a: [", "is not YAML"), ("- a", "is not a mapping")])
def test_a_file_that_is_no_kubeconfig_is_an_error_of_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(CredentialsError, match=message) as caught:
        load(str(path))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="absent: cannot read the kubeconfig: No such file"):
        load(str(tmp_path / "absent"))


@pytest.mark.parametrize(
    "incomplete",
    [
        b"",
        b"users",
        b"users: [",
        b"users: {a: b}",
        b"users: [text]",
        b"users:\n- name: u\n  user: text",
        b"\xff\xfe",
        b"a: 2026-99-99",
    ],
)
def test_an_incomplete_kubeconfig_leaves_the_token_as_it_was(tmp_path: Path, incomplete: bytes) -> None:
    now = [0.0]
    path = kubeconfig(tmp_path, {"token": "old"})
    source = load(str(path)).source
    assert isinstance(source, FileToken)
    source._clock = lambda: now[0]
    assert source.token() == "old"
    now[0] += 10_000_000
    path.write_bytes(incomplete)
    assert source.token() == "old"
    source.invalidate()
    with pytest.raises(CredentialsError, match=r"a\.yaml: (the token is empty|cannot read the token)"):
        source.token()
    kubeconfig(tmp_path, {"token": "new"})
    assert source.token() == "new"


@pytest.mark.parametrize(
    "text", ["contexts", "when: 2026-99-99", "current-context: a\ncontexts: [{name: a, context: b}]"]
)
def test_a_kubeconfig_that_is_none_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(CredentialsError, match=f"^{path}: "):
        load(str(path))
