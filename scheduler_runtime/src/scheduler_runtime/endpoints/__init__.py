"""What the process tells about itself over HTTPS, from threads of its own, so that a busy scheduler answers.

server ──► certificates     a TLS connection, by files that are read again or by a certificate made here
   │
   ├─────► access           who asks, and may they: TokenReview and SubjectAccessReview
   │
   └─────► answers          health, and the pages: /metrics, /configz, /debug/…
"""

from .access import Access, Caller, Rules
from .answers import JSON, PROMETHEUS, TEXT, Answer, Endpoints, Page
from .by_name import NamedPair
from .certificates import CertificateError, Serving, SuiteError, certificate
from .health import Check, Checks
from .reviews import Reviews
from .server import NotServedError, serving
from .zpages import ALPHA, BETA, About, ZPage, flagz, statusz

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
