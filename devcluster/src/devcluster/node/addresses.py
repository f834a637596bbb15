"""An address for each pod, out of the 16 million that every Linux answers on without asking anybody.

Pods share the host's network, so two replicas that listen on the same port of every address clash. A program that
listens on its pod's own address (``status.podIP`` by fieldRef) does not. The address follows from the pod's uid, so
that it survives a restart of the agent and pods of other clusters on this machine have others.
"""

import hashlib
from collections.abc import Container


def pod_address(uid: str, taken: Container[str]) -> str:
    """An address in 127.1.0.0 to 127.254.255.255 that is not in ``taken``."""
    attempt = 0
    while True:
        digest = hashlib.sha256(f"{uid}/{attempt}".encode()).digest()
        address = f"127.{digest[0] % 254 + 1}.{digest[1]}.{digest[2] % 254 + 1}"
        if address not in taken:
            return address
        attempt += 1
