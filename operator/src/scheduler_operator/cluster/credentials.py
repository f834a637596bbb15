"""Where the API server is, and how to be believed there: a kubeconfig, or the ServiceAccount of the pod.

Projected tokens are replaced while the process runs, so whatever was read is read again, at the latest after a
minute and at once when the API server refuses it.
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

REREAD_SECONDS = 60.0
IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class CredentialsError(Exception):
    """There are no credentials, or they cannot be read; the message says what to do."""


class Credentials:
    """A connection's configuration that keeps its token fresh. Safe to use from several threads."""

    def __init__(self, kubeconfig: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        """Read the credentials. Raises CredentialsError."""
        self._kubeconfig = kubeconfig
        self._clock = clock
        self._read_at = clock()
        self.configuration = _read(kubeconfig)
        self.configuration.refresh_api_key_hook = self._refresh  # type: ignore[assignment]

    @property
    def token(self) -> str:
        """The bearer token as it is now; empty where a certificate serves instead."""
        header = self.configuration.get_api_key_with_prefix("BearerToken") or ""
        return header.partition(" ")[2]

    @property
    def expires(self) -> datetime | None:
        """When the token ends, if it says so."""
        return expiry(self.token)

    def refused(self) -> None:
        """The API server did not accept the token: read it again before the next use."""
        self._read_at = self._clock() - REREAD_SECONDS

    def _refresh(self, configuration: Configuration) -> None:
        if self._clock() - self._read_at < REREAD_SECONDS:
            return
        try:
            configuration.api_key = _read(self._kubeconfig).api_key
        except CredentialsError:
            return  # the file is being replaced; what we have is good until it is refused
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
    """When a ServiceAccount token ends; None for a token that does not say."""
    payload = token.split(".")[1] if token.count(".") == 2 else ""
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return datetime.fromtimestamp(claims["exp"], UTC)
    except (binascii.Error, ValueError, KeyError, TypeError):
        return None
