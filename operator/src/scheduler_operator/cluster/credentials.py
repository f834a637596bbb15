"""Address of the API server and credentials for it, from a kubeconfig or the ServiceAccount of the pod.

Projected tokens are replaced while the process runs. So the token is read again after a minute, and at once when the
API server refuses it.
"""

import base64
import binascii
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from kubernetes import config
from kubernetes.client import Configuration

from scheduler_runtime.kube.credentials import CredentialsError

REREAD_SECONDS = 60.0
IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Credentials:
    """The configuration of a connection, with a token that is kept fresh. Safe to use from several threads."""

    def __init__(self, kubeconfig: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        """Read the credentials. Raises CredentialsError."""
        self._kubeconfig = kubeconfig
        self._clock = clock
        self._read_at = clock()
        self.configuration = _read(kubeconfig)
        self.configuration.refresh_api_key_hook = self._refresh  # type: ignore[assignment]

    @property
    def token(self) -> str:
        """The current bearer token; empty where a certificate serves instead."""
        header = self.configuration.get_api_key_with_prefix("BearerToken") or ""
        return header.partition(" ")[2]

    @property
    def expires(self) -> datetime | None:
        """The end of the token's validity, if it has one."""
        return expiry(self.token)

    def reread_soon(self) -> None:
        """Read the token again before its next use: the API server refused it."""
        self._read_at = self._clock() - REREAD_SECONDS

    def _refresh(self, configuration: Configuration) -> None:
        if self._clock() - self._read_at < REREAD_SECONDS:
            return
        try:
            configuration.api_key = _read(self._kubeconfig).api_key
        except CredentialsError:
            return  # the file is being replaced; the token in hand is good until it is refused
        self._read_at = self._clock()


def _read(kubeconfig: str) -> Configuration:
    configuration = Configuration()
    try:
        if kubeconfig:
            config.load_kube_config(kubeconfig, client_configuration=configuration)  # type: ignore[no-untyped-call]
        elif IN_CLUSTER.is_dir():
            config.load_incluster_config(configuration, try_refresh_token=False)  # type: ignore[no-untyped-call]
        else:
            config.load_kube_config(client_configuration=configuration)  # type: ignore[no-untyped-call]  # $KUBECONFIG
    except (config.ConfigException, OSError, ValueError) as error:
        raise CredentialsError(
            f"no credentials for the API server: {error}; "
            "give --kubeconfig, set KUBECONFIG, or run in a pod that has a ServiceAccount"
        ) from error
    return configuration


def expiry(token: str) -> datetime | None:
    """Return the end of a ServiceAccount token's validity; None for a token that does not say."""
    payload = token.split(".")[1] if token.count(".") == 2 else ""
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return datetime.fromtimestamp(claims["exp"], UTC)
    except (binascii.Error, ValueError, KeyError, TypeError):
        return None
