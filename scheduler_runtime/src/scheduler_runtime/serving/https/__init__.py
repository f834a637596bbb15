"""What the process tells about itself over HTTPS, from threads of its own, so that a busy scheduler answers.

server ──► certificates     a TLS connection, by files that are read again or by a certificate made here
   │
   ├─────► access           who asks, and may they: TokenReview and SubjectAccessReview
   │
   └─────► answers          health, and the pages: /metrics, /configz, /debug/…
"""

from scheduler_runtime.serving.https.access import Access, Caller, Rules
from scheduler_runtime.serving.https.certificates import CertificateError, Serving, SuiteError, certificate
from scheduler_runtime.serving.https.health import Check, Checks
from scheduler_runtime.serving.https.reviews import Reviews
from scheduler_runtime.serving.https.routes import JSON, PROMETHEUS, TEXT, Answer, Endpoints, Page
from scheduler_runtime.serving.https.server import NotServedError, serving
from scheduler_runtime.serving.https.sni import NamedPair
from scheduler_runtime.serving.https.zpages import ALPHA, BETA, About, ZPage, flagz, statusz

__all__ = [
    "ALPHA",
    "BETA",
    "JSON",
    "PROMETHEUS",
    "TEXT",
    "About",
    "Access",
    "Answer",
    "Caller",
    "CertificateError",
    "Check",
    "Checks",
    "Endpoints",
    "NamedPair",
    "NotServedError",
    "Page",
    "Reviews",
    "Rules",
    "Serving",
    "SuiteError",
    "ZPage",
    "certificate",
    "flagz",
    "serving",
    "statusz",
]
