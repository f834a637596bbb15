"""Address and credentials of the API server, from a kubeconfig or the pod's ServiceAccount.

What can change while the process runs (a projected token, a token that an exec plugin returns) is read again in time,
and at once when the API server refuses it.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import yaml

from scheduler_runtime.kube import tls

IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
REREAD_SECONDS = 30.0
"""The age at which a token from a file is read again. The kubelet replaces projected tokens long before they expire."""
EXEC_TIMEOUT_SECONDS = 60.0
EXEC_MARGIN_SECONDS = 30.0
"""A token of an exec plugin is replaced this long before it expires, so that it does not expire on the way."""
HTTP2_PROTOCOLS = ("h2", "http/1.1")
"""Offered to the server in the TLS handshake (ALPN) for short requests, the best first."""


class CredentialsError(Exception):
    """The credentials cannot be read; the message names the file or field, and what to do."""


class TokenSource(Protocol):
    """Source of the bearer token to use now."""

    def token(self) -> str:
        """Return the token; may read a file or run a program. Raises CredentialsError."""

    def invalidate(self) -> None:
        """Fetch a new token next time: the API server refused this one."""


class FileToken:
    """A token read from a file, again whenever the file may have changed."""

    def __init__(
        self,
        path: Path,
        extract: Callable[[str], str] = str.strip,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``extract`` returns the token from the text of the file, empty if there is none."""
        self._path = path
        self._extract = extract
        self._clock = clock
        self._token = ""
        self._read_at = 0.0

    def token(self) -> str:
        if self._token and self._clock() - self._read_at < REREAD_SECONDS:
            return self._token
        try:
            token = self._extract(self._path.read_text())
            problem = "" if token else f"{self._path}: the token is empty"
        except OSError as error:
            token, problem = "", f"{self._path}: cannot read the token: {error.strerror}"
        except UnicodeDecodeError:
            token, problem = "", f"{self._path}: cannot read the token: the file is not text"
        if token:
            self._token, self._read_at = token, self._clock()
        elif not self._token:
            raise CredentialsError(problem)
        # Otherwise the file is being replaced: the token that we have is good until the API server refuses it.
        return self._token

    def invalidate(self) -> None:
        self._token = ""


class ExecToken:
    """A token that a credential plugin prints: a program, as the ``exec`` section of a kubeconfig describes it."""

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
        self._expires_at = float("inf")

    def token(self) -> str:
        # The lock is kept while the program runs: threads that need the token meanwhile wait for this run of it.
        with self._lock:
            if not self._token or time.time() > self._expires_at - EXEC_MARGIN_SECONDS:
                self._token, self._expires_at = self._run()
            return self._token

    def invalidate(self) -> None:
        with self._lock:
            self._token = ""

    def _run(self) -> tuple[str, float]:
        """Run the program; return its token and the time at which that expires. Raises CredentialsError."""
        request = {"apiVersion": self._api_version, "kind": "ExecCredential", "spec": {"interactive": False}}
        environ = {**os.environ, **self._environ, "KUBERNETES_EXEC_INFO": json.dumps(request)}
        program = f"{self._where}.exec: {self._command[0]}"
        try:
            result = subprocess.run(
                self._command, env=environ, capture_output=True, text=True, timeout=EXEC_TIMEOUT_SECONDS, check=True
            )
            status = json.loads(result.stdout)["status"]
            token, expiration = str(status.get("token") or ""), status.get("expirationTimestamp")
        except subprocess.CalledProcessError as error:
            last_line = (error.stderr.strip().splitlines() or ["nothing on stderr"])[-1]
            raise CredentialsError(f"{program} ended with {error.returncode}: {last_line}") from error
        except (OSError, subprocess.SubprocessError) as error:
            raise CredentialsError(f"{self._where}.exec: cannot run {self._command[0]}: {error}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CredentialsError(f"{program} did not print an ExecCredential") from error
        if not token:
            raise CredentialsError(f"{program} gave no token; client certificates from exec are not supported")
        try:
            return token, datetime.fromisoformat(str(expiration)).timestamp() if expiration else float("inf")
        except ValueError:
            return token, float("inf")  # as without one: the API server will refuse the token when it has expired


@dataclass(frozen=True, slots=True)
class Credentials:
    """Address of the API server, and what is needed to trust it and to be known there."""

    server: str
    """The URL, without a slash at its end."""
    namespace: str = "default"
    tls: ssl.SSLContext | None = None
    """None for plain http."""
    http2_tls: ssl.SSLContext | None = None
    """As ``tls``, and offers the server to speak HTTP/2. None for plain http, or to speak HTTP/1.1 only."""
    server_name: str | None = None
    """The name to expect in the server's certificate, where it is not the host's."""
    source: TokenSource | None = None
    is_slow: bool = False
    """True if ``headers`` may run a program: then it must not be called in an event loop."""
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
    """Return the credentials of ``kubeconfig``, else of $KUBECONFIG, else those of the pod this process runs in.

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
    """Return the credentials of the ServiceAccount of the pod this process runs in. Raises CredentialsError."""
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    namespace, authority = directory / "namespace", {"certificate-authority": "ca.crt"}
    return Credentials(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=namespace.read_text().strip() if namespace.exists() else "default",
        tls=_tls_context(authority, directory, str(directory)),
        http2_tls=_tls_context(authority, directory, str(directory), *HTTP2_PROTOCOLS),
        source=FileToken(directory / "token"),
        origin=str(directory),
    )


def from_kubeconfig(paths: list[Path]) -> Credentials:
    """Return the credentials of the current context. Raises CredentialsError.

    Several files are merged as kubectl does: the first one that names a context, cluster or user wins, and files of a
    list that do not exist are skipped.
    """
    documents = [(path, _read_kubeconfig(path)) for path in paths if path.exists() or len(paths) == 1]
    if not documents:
        raise CredentialsError(f"{os.pathsep.join(map(str, paths))}: none of these kubeconfig files exists")
    current = next((name for _, document in documents if (name := document.get("current-context"))), None)
    if not current:
        raise CredentialsError(f"{documents[0][0]}: current-context is not set; run `kubectl config use-context NAME`")
    chosen, _ = _find_entry(documents, "context", str(current))
    cluster, cluster_path = _find_entry(documents, "cluster", str(chosen.get("cluster", "")))
    name = str(chosen.get("user") or "")
    user, user_path = _find_entry(documents, "user", name) if name else ({}, cluster_path)
    server = str(cluster.get("server", "")).rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise CredentialsError(f"{cluster_path}: server {server!r} of the cluster is not an http(s) URL")
    where = f"{user_path}: user {name!r}"
    for setting in ("as", "as-uid", "as-groups", "as-user-extra", "auth-provider", "username", "password"):
        if user.get(setting):
            raise CredentialsError(f"{where}: {setting} is not supported; use a token, a client certificate or exec")
    http1_tls = http2_tls = None
    if server.startswith("https://"):
        http1_tls = _tls_context(cluster, cluster_path.parent, str(cluster_path))
        http2_tls = _tls_context(cluster, cluster_path.parent, str(cluster_path), *HTTP2_PROTOCOLS)
        for context in (http1_tls, http2_tls):
            _load_client_certificate(context, user, user_path.parent, where)
    source: TokenSource | None = None
    if user.get("tokenFile"):
        source = FileToken(user_path.parent / str(user["tokenFile"]))
    elif user.get("token"):
        source = FileToken(user_path, lambda text: _token_of_user(text, name))
    elif user.get("exec"):
        source = ExecToken(user["exec"], user_path.parent, where)
    return Credentials(
        server=server,
        namespace=str(chosen.get("namespace") or "default"),
        tls=http1_tls,
        http2_tls=http2_tls,
        server_name=cluster.get("tls-server-name"),
        source=source,
        is_slow=bool(user.get("exec")),
        origin=str(user_path),
    )


def _read_kubeconfig(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise CredentialsError(f"{path}: cannot read the kubeconfig: {error.strerror}") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: not UTF-8, or a date that is none
        raise CredentialsError(f"{path}: the kubeconfig is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(document, dict):
        raise CredentialsError(f"{path}: the kubeconfig is not a mapping")
    return document


def _find_entry(documents: list[tuple[Path, dict[str, Any]]], kind: str, name: str) -> tuple[dict[str, Any], Path]:
    """The context, cluster or user called ``name``, and the file it stands in. Raises CredentialsError."""
    for path, document in documents:
        for entry in document.get(f"{kind}s") or ():
            if isinstance(entry, dict) and entry.get("name") == name:
                value = entry.get(kind) or {}
                if not isinstance(value, dict):
                    raise CredentialsError(f"{path}: {kind} {name!r} is not a mapping")
                return value, path
    raise CredentialsError(f"{documents[0][0]}: there is no {kind} {name!r} in the kubeconfig")


def _token_of_user(text: str, name: str) -> str:
    """The token of user ``name`` in the text of a kubeconfig; empty if there is none.

    The file may have been rewritten since it was first read, or be half written: the next reading finds the token.
    """
    try:
        document = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return ""
    match document:
        case {"users": [*users]}:
            for user in users:
                match user:
                    case {"name": str(user_name), "user": {"token": token}} if user_name == name:
                        return str(token or "")
    return ""


def _tls_context(cluster: Mapping[str, Any], directory: Path, where: str, *protocols: str) -> ssl.SSLContext:
    """A context that trusts the cluster's certificate authority, and offers ``protocols``, the best first."""
    name = cluster.get("certificate-authority")
    file = directory / str(name) if name else None
    data = cluster.get("certificate-authority-data")
    authority = _decode_base64(data, f"{where}: certificate-authority-data") if data else file
    try:
        context = tls.client_context(authority, verifies=not cluster.get("insecure-skip-tls-verify"))
    except (OSError, UnicodeDecodeError) as error:
        raise CredentialsError(f"{where}: the certificate authority {name or ''} cannot be used: {error}") from error
    if protocols:
        context.set_alpn_protocols(protocols)
    return context


def _load_client_certificate(context: ssl.SSLContext, user: Mapping[str, Any], directory: Path, where: str) -> None:
    """Load the user's certificate, if there is one."""
    if not user.get("client-certificate") and not user.get("client-certificate-data"):
        return
    pems: list[tls.Pem] = []
    for kind in ("client-certificate", "client-key"):
        if user.get(f"{kind}-data"):
            pems.append(_decode_base64(user[f"{kind}-data"], f"{where}: {kind}-data"))
        elif user.get(kind):
            pems.append(directory / str(user[kind]))
        else:
            raise CredentialsError(f"{where}: {kind} is missing beside the client certificate")
    certificate, key = pems
    try:
        tls.load_certificate(context, certificate, key)
    except OSError as error:
        raise CredentialsError(f"{where}: the client certificate cannot be used: {error}") from error


def _decode_base64(data: object, where: str) -> bytes:
    try:
        return base64.b64decode(str(data), validate=True)
    except binascii.Error as error:
        raise CredentialsError(f"{where}: is not base64") from error
