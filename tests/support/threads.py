"""Servers of the standard library in threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseServer

POLL_SECONDS = 0.01
"""How often a server looks whether it is to end: each test waits for that once."""


@contextmanager
def in_a_thread(server: BaseServer) -> Iterator[None]:
    """Let ``server`` answer until the end of the ``with``, then close it."""
    thread = threading.Thread(target=server.serve_forever, args=(POLL_SECONDS,))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
