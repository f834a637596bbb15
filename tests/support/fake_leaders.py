"""Leaders for profiles whose pods are on fake nodes, where nothing runs that could hold a Lease.

As a scheduler does, the first pod that runs takes the Lease of its profile, when nobody has it or its holder is gone.
"""

import contextlib
import http.client
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from devcluster.model.api import AdminApi, RefusedError
from scheduler_operator.resources import kinds

PAUSE_SECONDS = 0.3
LONG_SECONDS = 86400
"""Nobody has to renew: what is written again and again would be a change of what tests compare."""


@contextmanager
def fake_leaders(api: AdminApi, namespace: str) -> Iterator[threading.Event]:
    """Hold the Leases until the end of the ``with``, except while the event is set."""
    stop, are_away = threading.Event(), threading.Event()

    def lead() -> None:
        while not stop.wait(PAUSE_SECONDS):
            with contextlib.suppress(RefusedError, OSError, http.client.HTTPException):
                if not are_away.is_set():
                    _hold_leases(api, namespace)

    thread = threading.Thread(target=lead, name="fake leaders")
    thread.start()
    try:
        yield are_away
    finally:
        stop.set()
        thread.join()


def _hold_leases(api: AdminApi, namespace: str) -> None:
    leases = api.get(f"{kinds.LEASE.collection(namespace)}?labelSelector=berth.dev%2Fprofile")["items"]
    pods = api.get(f"{kinds.POD.collection(namespace)}?labelSelector=berth.dev%2Fprofile")["items"]
    for lease in leases:
        metadata, spec = lease["metadata"], lease.get("spec") or {}
        profile = metadata["labels"]["berth.dev/profile"]
        running = [pod["metadata"]["name"] for pod in pods if _runs_for(profile, pod)]
        holder = str(spec.get("holderIdentity") or "")
        if running and holder.partition("_")[0] not in running:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            record = {"holderIdentity": f"{running[0]}_fake", "acquireTime": now, "renewTime": now}
            change = {"spec": {**record, "leaseDurationSeconds": LONG_SECONDS}}
            api.merge(f"{kinds.LEASE.collection(namespace)}/{metadata['name']}", change)


def _runs_for(profile: str, pod: Mapping[str, Any]) -> bool:
    conditions = {item["type"]: item["status"] for item in pod.get("status", {}).get("conditions", ())}
    is_ready = pod["status"].get("phase") == "Running" and conditions.get("Ready") == "True"
    return (
        is_ready
        and pod["metadata"]["labels"].get("berth.dev/profile") == profile
        and "deletionTimestamp" not in pod["metadata"]
    )
