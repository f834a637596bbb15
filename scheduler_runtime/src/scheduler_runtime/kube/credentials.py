"""Where the API server is, and how to be believed there.

Reads a kubeconfig file or the files that a pod is given. What can change while the process
runs (a projected token, a token that an exec plugin hands out) is read again in time, and at
once when the API server refuses it.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import yaml

IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_SECONDS = 30.0
EXEC_TIMEOUT_SECONDS = 60.0
EXEC_MARGIN_SECONDS = 30.0
OFFERED = ("h2", "http/1.1")
"""What short requests may be sent by."""


class CredentialsError(Exception):
    """The credentials cannot be read; the message says which file or field, and what to do."""


class TokenSource(Protocol):
    """Gives the bearer token to use now."""

    def token(self) -> str:
        """Return the token; may read a file or run a program. Raises CredentialsError."""

    def invalidate(self) -> None:
        """The API server refused the token: fetch a new one next time."""


class FileToken:
    """A token read from a file, again whenever the file may have changed."""

    def __init__(
        self,
        path: Path,
        extract: Callable[[str], str] = str.strip,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._extract = extract
        self._clock = clock
        self._token = ""
        self._read_at = 0.0

    def token(self) -> str:
        if self._token and self._clock() - self._read_at < REREAD_SECONDS:
            return self._token
        try:
            self._token, self._read_at = self._read(), self._clock()
        except CredentialsError:
            if not self._token:
                raise
            # The file is being replaced: what we have is good until it is refused.
        return self._token

    def invalidate(self) -> None:
        self._token = ""

    def _read(self) -> str:
        try:
            token = self._extract(self._path.read_text())
        except OSError as error:
            raise CredentialsError(f"{self._path}: cannot read the token: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise CredentialsError(f"{self._path}: cannot read the token: the file is not text") from error
        if not token:
            raise CredentialsError(f"{self._path}: the token is empty")
        return token


class ExecToken:
    """A token handed out by a program, as the kubeconfig's ``exec`` section describes it."""

    def __init__(self, section: Mapping[str, Any], directory: Path, where: str) -> None:
        self._api_version = str(section.get("apiVersion", ""))
        if self._api_version not in ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"):
            raise CredentialsError(
                f"{where}.exec.apiVersion: {self._api_version!r} is not supported; "
                "use client.authentication.k8s.io/v1 or v1beta1"
            )
        command = str(section.get("command", ""))
        if not command:
            raise CredentialsError(f"{where}.exec.command: is missing; name the program that prints the credential")
        self._where = where
        self._command = [str(directory / command) if "/" in command else command, *map(str, section.get("args") or ())]
        self._environ = {str(item["name"]): str(item["value"]) for item in section.get("env") or ()}
        self._lock = threading.Lock()
        self._token = ""
        self._expires = float("inf")

    def token(self) -> str:
        with self._lock:
            if not self._token or time.time() > self._expires - EXEC_MARGIN_SECONDS:
                self._fetch()
            return self._token

    def invalidate(self) -> None:
        with self._lock:
            self._token = ""

    def _fetch(self) -> None:
        request = {"apiVersion": self._api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
        environ = {**os.environ, **self._environ, "KUBERNETES_EXEC_INFO": json.dumps(request)}
        try:
            answer = subprocess.run(
                self._command, env=environ, capture_output=True, text=True, timeout=EXEC_TIMEOUT_SECONDS, check=True
            )
            status = json.loads(answer.stdout)["status"]
            token = str(status.get("token") or "")
        except subprocess.CalledProcessError as error:
            said = (error.stderr.strip().splitlines() or ["nothing on stderr"])[-1]
            raise CredentialsError(
                f"{self._where}.exec: {self._command[0]} ended with {error.returncode}: {said}"
            ) from error
        except (OSError, subprocess.SubprocessError) as error:
            raise CredentialsError(f"{self._where}.exec: cannot run {self._command[0]}: {error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CredentialsError(f"{self._where}.exec: {self._command[0]} did not print an ExecCredential") from error
        if not token:
            raise CredentialsError(
                f"{self._where}.exec: {self._command[0]} gave no token; client certificates from exec are not supported"
            )
        self._token = token
        self._expires = _timestamp(status.get("expirationTimestamp"))


@dataclass(frozen=True, slots=True)
class Credentials:
    """Everything that is needed to open a connection to the API server and be known there."""

    server: str
    """The URL, without a slash at its end."""
    namespace: str = "default"
    tls: ssl.SSLContext | None = None
    """None for plain http."""
    http2_tls: ssl.SSLContext | None = None
    """As ``tls``, and offers the server to speak HTTP/2."""
    server_name: str | None = None
    """The name to expect in the server's certificate, where it is not the host's."""
    source: TokenSource | None = None
    is_slow: bool = False
    """The token may take a program to run: ask for it off the event loop."""
    origin: str = field(default="")
    """The file these credentials were read from, for messages."""

    def headers(self) -> dict[str, str]:
        """Return the headers that authenticate a request. Raises CredentialsError."""
        return {"Authorization": f"Bearer {self.source.token()}"} if self.source else {}

    def reject_token(self) -> None:
        """Note that the API server answered 401, so that the token is read again."""
        if self.source:
            self.source.invalidate()


def load(kubeconfig: str = "", environ: Mapping[str, str] = os.environ, in_cluster: Path = IN_CLUSTER) -> Credentials:
    """Read the credentials of ``kubeconfig``, else of $KUBECONFIG, else those of the pod we run in.

    Raises CredentialsError with a sentence that says what to do.
    """
    paths = [path for path in (kubeconfig or environ.get("KUBECONFIG", "")).split(os.pathsep) if path]
    if paths:
        return from_kubeconfig([Path(path) for path in paths])
    if environ.get("KUBERNETES_SERVICE_HOST") and (in_cluster / "token").exists():
        return from_pod(environ, in_cluster)
    raise CredentialsError(
        "no credentials: give --kubeconfig, set KUBECONFIG, or run in a pod whose ServiceAccount token is mounted"
    )


def from_pod(environ: Mapping[str, str], directory: Path = IN_CLUSTER) -> Credentials:
    """Use the ServiceAccount of the pod this process runs in."""
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    namespace, authority = directory / "namespace", {"certificate-authority": "ca.crt"}
    return Credentials(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        tls=_context(authority, directory, str(directory)),
        http2_tls=_context(authority, directory, str(directory), *OFFERED),
        source=FileToken(directory / "token"),
        origin=str(directory),
    )


def from_kubeconfig(paths: list[Path]) -> Credentials:
    """Use the current context of the kubeconfig files; the first file that names a thing wins."""
    documents = [(path, _document(path)) for path in paths if path.exists() or len(paths) == 1]
    if not documents:
        raise CredentialsError(f"{os.pathsep.join(map(str, paths))}: none of these kubeconfig files exists")
    context = _current_context(documents)
    cluster, cluster_path = _named(documents, "cluster", str(context.get("cluster", "")))
    name = str(context.get("user") or "")
    user, user_path = _named(documents, "user", name) if name else ({}, cluster_path)
    server = str(cluster.get("server", "")).rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise CredentialsError(f"{cluster_path}: server {server!r} of the cluster is not an http(s) URL")
    where = f"{user_path}: user {name!r}"
    _refuse_unsupported(user, where)
    is_secure = server.startswith("https://")
    tls, offering = _contexts(cluster, cluster_path, user, user_path, where) if is_secure else (None, None)
    return Credentials(
        server=server,
        namespace=str(context.get("namespace") or "default"),
        tls=tls,
        http2_tls=offering,
        server_name=cluster.get("tls-server-name"),
        source=_token_source(user, user_path, name, where),
        is_slow=bool(user.get("exec")),
        origin=str(user_path),
    )


def _current_context(documents: list[tuple[Path, dict[str, Any]]]) -> dict[str, Any]:
    for _, document in documents:
        if current := document.get("current-context"):
            return _named(documents, "context", str(current))[0]
    raise CredentialsError(f"{documents[0][0]}: current-context is not set; run `kubectl config use-context NAME`")


def _document(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise CredentialsError(f"{path}: cannot read the kubeconfig: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: not UTF-8, or a date that is none
        raise CredentialsError(f"{path}: the kubeconfig is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise CredentialsError(f"{path}: the kubeconfig is not a mapping")
    return document


def _named(documents: list[tuple[Path, dict[str, Any]]], kind: str, name: str) -> tuple[dict[str, Any], Path]:
    for path, document in documents:
        for entry in document.get(f"{kind}s") or ():
            if isinstance(entry, dict) and entry.get("name") == name:
                named = entry.get(kind) or {}
                if not isinstance(named, dict):
                    raise CredentialsError(f"{path}: {kind} {name!r} is not a mapping")
                return named, path
    raise CredentialsError(f"{documents[0][0]}: there is no {kind} {name!r} in the kubeconfig")


def _refuse_unsupported(user: Mapping[str, Any], where: str) -> None:
    for name in ("as", "as-uid", "as-groups", "as-user-extra", "auth-provider", "username", "password"):
        if user.get(name):
            raise CredentialsError(f"{where}: {name} is not supported; use a token, a client certificate or exec")


def _token_source(user: Mapping[str, Any], path: Path, name: str, where: str) -> TokenSource | None:
    if user.get("tokenFile"):
        return FileToken(path.parent / str(user["tokenFile"]))
    if user.get("token"):
        return FileToken(path, lambda text: _inline_token(text, name))
    if user.get("exec"):
        return ExecToken(user["exec"], path.parent, where)
    return None


def _inline_token(text: str, name: str) -> str:
    """Find the token of user ``name`` in a kubeconfig that may have been rewritten, or be half written."""
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return ""  # no token now, the next reading finds it
    match document:
        case {"users": [*users]}:
            pass
        case _:
            return ""
    for each in users:
        match each:
            case {"name": str(called), "user": {"token": token}} if called == name:
                return str(token or "")
    return ""


def _contexts(
    cluster: Mapping[str, Any], cluster_path: Path, user: Mapping[str, Any], user_path: Path, where: str
) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """One that offers no protocol, and one that offers those of short requests."""
    plain, offering = (_context(cluster, cluster_path.parent, str(cluster_path), *each) for each in ((), OFFERED))
    for each in (plain, offering):
        _add_client_certificate(each, user, user_path.parent, where)
    return plain, offering


def _context(cluster: Mapping[str, Any], directory: Path, where: str, *protocols: str) -> ssl.SSLContext:
    """``protocols`` are offered to the server, the best first."""
    authority = cluster.get("certificate-authority")
    data = cluster.get("certificate-authority-data")
    try:
        if data:
            context = ssl.create_default_context(cadata=_decoded(data, f"{where}: certificate-authority-data").decode())
        else:
            context = ssl.create_default_context(cafile=str(directory / str(authority)) if authority else None)
    except (OSError, UnicodeDecodeError) as error:
        raise CredentialsError(
            f"{where}: the certificate authority {authority or ''} cannot be used: {error}"
        ) from error
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def _add_client_certificate(context: ssl.SSLContext, user: Mapping[str, Any], directory: Path, where: str) -> None:
    """Load the user's certificate; inline data passes through a private file because OpenSSL wants one."""
    has_certificate = user.get("client-certificate") or user.get("client-certificate-data")
    if not has_certificate:
        return
    with tempfile.TemporaryDirectory(prefix="berth-") as scratch:
        files: list[Path] = []
        for kind in ("client-certificate", "client-key"):
            if user.get(f"{kind}-data"):
                file = Path(scratch) / kind
                file.touch(mode=0o600)
                file.write_bytes(_decoded(user[f"{kind}-data"], f"{where}: {kind}-data"))
            elif user.get(kind):
                file = directory / str(user[kind])
            else:
                raise CredentialsError(f"{where}: {kind} is missing beside the client certificate")
            files.append(file)
        try:
            context.load_cert_chain(files[0], files[1])
        except OSError as error:
            raise CredentialsError(f"{where}: the client certificate cannot be used: {error}") from error


def _decoded(data: object, where: str) -> bytes:
    try:
        return base64.b64decode(str(data), validate=True)
    except binascii.Error as error:
        raise CredentialsError(f"{where}: is not base64") from error


def _timestamp(text: object) -> float:
    """Read an RFC 3339 instant as seconds since the epoch; what is absent never comes."""
    try:
        return datetime.fromisoformat(str(text)).timestamp() if text else float("inf")
    except ValueError:
        return float("inf")
