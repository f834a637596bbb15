"""HTTPS server in a thread of its own, so that a busy process still responds.

server ──► certificates     a TLS connection, by files that are read again on change or a generated certificate
   │
   ├─────► connection       requests and responses of one client, and how long it may take for them
   │
   ├─────► access           authentication and authorization: TokenReview and SubjectAccessReview
   │
   └─────► routes           health checks, and the pages: /metrics, /configz, /debug/…
"""

from scheduler_runtime.component.https.access import Access, AccessRules, Caller
from scheduler_runtime.component.https.certificates import (
    CertificateError,
    SuiteError,
    TlsSettings,
    choose_certificate,
)
from scheduler_runtime.component.https.routes import (
    JSON,
    PROMETHEUS,
    TEXT,
    Check,
    Checks,
    EndpointResponse,
    Endpoints,
    Page,
)
from scheduler_runtime.component.https.server import NotServedError, ServingSettings, serve, serve_configured
from scheduler_runtime.component.https.sni import NamedPair
from scheduler_runtime.component.https.zpages import ALPHA, BETA, ProcessInfo, ZPage, flagz, statusz

__all__ = [
    "ALPHA",
    "BETA",
    "JSON",
    "PROMETHEUS",
    "TEXT",
    "Access",
    "AccessRules",
    "Caller",
    "CertificateError",
    "Check",
    "Checks",
    "EndpointResponse",
    "Endpoints",
    "NamedPair",
    "NotServedError",
    "Page",
    "ProcessInfo",
    "ServingSettings",
    "SuiteError",
    "TlsSettings",
    "ZPage",
    "choose_certificate",
    "flagz",
    "serve",
    "serve_configured",
    "statusz",
]
