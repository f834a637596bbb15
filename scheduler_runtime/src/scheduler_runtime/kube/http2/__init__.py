"""HTTP/2 as a client of the API server needs it: many short requests over one connection.

Bindings, events and conditions are small, and there are as many of them as pods. On a shared connection the requests of
one turn of the event loop are encrypted, sent and received together. Server push, priorities and header compression of
requests are left out; RFC 9113 allows that.
"""

from scheduler_runtime.kube.http2.connection import Http2UnsupportedError, SendGuard, StreamRefusedError
from scheduler_runtime.kube.http2.shared_connection import SharedConnection

__all__ = ["Http2UnsupportedError", "SendGuard", "SharedConnection", "StreamRefusedError"]
