"""Where and how the endpoints are served, as the flags have it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from scheduler_runtime.kube import credentials
from scheduler_runtime.serving.https import Access, Endpoints, Reviews, Rules, Serving, certificate, serving


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """An address, and who may ask there."""

    address: str
    port: int
    """0 means that nothing is served."""
    tls: Serving = field(default_factory=Serving)
    rules: Rules = field(default_factory=Rules)
    authentication_kubeconfig: str = ""
    authorization_kubeconfig: str = ""
    user_agent: str = "berth-scheduler"


@contextlib.contextmanager
def listening(asked: Listening, endpoints: Endpoints) -> Iterator[int]:
    """Serve until the end of the ``with``; gives the port. Raises NotServedError, CertificateError or SuiteError."""
    if not asked.port:
        yield 0
        return
    reviews = Reviews(
        lambda: credentials.load(asked.authentication_kubeconfig),
        lambda: credentials.load(asked.authorization_kubeconfig),
        asked.user_agent,
    )
    tls, access = certificate(asked.tls, asked.address), Access(reviews, asked.rules)
    with serving(endpoints, asked.address, asked.port, tls=tls, access=access) as port:
        yield port
