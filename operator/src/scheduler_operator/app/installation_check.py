"""``helm test``: a profile that is made for the purpose, rendered by the operator, and deleted again.

This shows at once that the CRDs are there, that the policies let profiles pass, and that an operator leads, has its
rights and renders. No scheduler is started.
"""

import argparse
import asyncio
import secrets
import sys
from collections.abc import Sequence
from typing import Any, get_args

from scheduler_operator.cluster.api import ApiConnection, RequestError
from scheduler_operator.cluster.credentials import Credentials
from scheduler_operator.models import API_VERSION
from scheduler_operator.models.scheduler_profile import Engine
from scheduler_operator.resources import kinds
from scheduler_runtime.kube.credentials import CredentialsError

PROFILES = kinds.PROFILE.collection("")
POLL_SECONDS = 0.5


class FailedCheckError(Exception):
    """What is wrong with the installation."""


async def check(api: ApiConnection, engine: str, seconds: float) -> str:
    """Have a profile rendered; return what the operator says of it. Raises FailedCheckError and RequestError."""
    name = f"installation-check-{secrets.token_hex(4)}"
    # Without processes nothing is started, whatever the engine.
    spec = {"engine": engine} if engine == "ConfigMap" else {"engine": engine, "scheduler": {"replicas": 0}}
    manifest = {"apiVersion": API_VERSION, "kind": kinds.PROFILE.name, "metadata": {"name": name}, "spec": spec}
    await api.request("POST", PROFILES, manifest)
    try:
        async with asyncio.timeout(seconds):
            while True:
                status = (await api.request("GET", f"{PROFILES}/{name}")).get("status", {})
                conditions: dict[str, Any] = {
                    condition["type"]: condition for condition in status.get("conditions", [])
                }
                if stalled := conditions.get("Stalled"):
                    raise FailedCheckError(f"profile {name} is stalled: {stalled['message']}")
                if status.get("configHash"):
                    return str(conditions["Ready"]["message"])
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise FailedCheckError(
            f"no operator has rendered the profile {name} within {seconds:g} s; "
            "see whether its pods are ready, and their log"
        ) from None
    finally:
        await api.request("DELETE", f"{PROFILES}/{name}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the result; return 1 if something is wrong."""
    parser = argparse.ArgumentParser("python -m scheduler_operator.app.installation_check", description=__doc__)
    parser.add_argument("--engine", choices=get_args(Engine), default="ConfigMap", help="engine of the profile")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds to wait for the operator")
    parser.add_argument("--kubeconfig", default="", help="default: $KUBECONFIG, or the ServiceAccount of the pod")
    options = parser.parse_args(arguments)
    try:
        api = ApiConnection(Credentials(options.kubeconfig), "berth-installation-check")
        message = asyncio.run(check(api, options.engine, options.timeout))
    except (CredentialsError, RequestError, FailedCheckError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"The operator has rendered a profile: {message}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
