"""Many short requests over one connection: HTTP/2, as a client of the API server needs it.

Bindings, events and conditions are small, and there are as many of them as pods. Sharing a connection, those of one
turn of the event loop are sent, encrypted and received together.
"""

from scheduler_runtime.kube.http2.exchange import Http2UnsupportedError, SendGuard, StreamRefusedError
from scheduler_runtime.kube.http2.headers import (
    ACCEPT,
    ACCEPT_ENCODING,
    AUTHORITY,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    HTTPS,
    PATH,
    USER_AGENT,
    field,
    method,
    never_kept,
)
from scheduler_runtime.kube.http2.shared_connection import SharedConnection

__all__ = [
    "ACCEPT",
    "ACCEPT_ENCODING",
    "AUTHORITY",
    "CONTENT_LENGTH",
    "CONTENT_TYPE",
    "HTTPS",
    "PATH",
    "USER_AGENT",
    "Http2UnsupportedError",
    "SendGuard",
    "SharedConnection",
    "StreamRefusedError",
    "field",
    "method",
    "never_kept",
]
