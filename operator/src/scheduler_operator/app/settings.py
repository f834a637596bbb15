"""The command line of ``berth-operator``."""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from scheduler_operator.desired.release import Release
from scheduler_runtime.kube.leader_election import LeaseSettings, unique_identity

LEASE = "berth-operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How this process was started."""

    release: Release
    lease: LeaseSettings
    kubeconfig: str
    bind_address: str
    port: int
    workers: int
    resync_seconds: float
    verbosity: int

    @property
    def user_agent(self) -> str:
        return f"berth-operator/{version('berth-operator')}"


def parse(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the command line. Ends the process, with a usage message, when it is wrong."""
    parser = _parser(environment)
    given = parser.parse_args(arguments)
    try:
        lease = LeaseSettings(
            namespace=given.namespace,
            name=LEASE,
            identity=unique_identity(environment),
            lease_duration=given.lease_duration,
            renew_deadline=given.renew_deadline,
            retry_period=given.retry_period,
        )
    except ValueError as error:
        parser.error(str(error))
    return Settings(
        release=Release(
            namespace=given.namespace,
            scheduler_image=given.scheduler_image,
            image_pull_policy=given.image_pull_policy,
            allows_sources=given.allow_plugin_sources,
        ),
        lease=lease,
        kubeconfig=given.kubeconfig,
        bind_address=given.bind_address,
        port=given.port,
        workers=given.workers,
        resync_seconds=given.resync_seconds,
        verbosity=given.verbosity,
    )


def _parser(environment: Mapping[str, str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("berth-operator", description="Turn SchedulerProfiles into running schedulers.")
    add = parser.add_argument
    add("--namespace", default=environment.get("POD_NAMESPACE", "berth-system"), help="where generated objects go")
    add("--scheduler-image", required=True, help="image of the schedulers whose profile names none")
    add("--image-pull-policy", default="IfNotPresent", choices=("Always", "IfNotPresent", "Never"))
    add("--allow-plugin-sources", action="store_true", help="let schedulers run plugins whose code is in a ConfigMap")
    add("--kubeconfig", default="", help="default: $KUBECONFIG, or the ServiceAccount of the pod")
    add("--bind-address", default=environment.get("POD_IP", "0.0.0.0"), help="where to serve probes and metrics")  # noqa: S104
    add("--port", type=int, default=8080)
    add("--workers", type=int, default=4, help="how many profiles to work on at a time")
    add("--resync-seconds", type=float, default=300.0, help="how often to look at every profile unasked")
    add("--lease-duration", type=float, default=15.0, help="seconds the others wait for a silent leader")
    add("--renew-deadline", type=float, default=10.0, help="seconds a leader goes on without having renewed")
    add("--retry-period", type=float, default=2.0, help="seconds between two attempts to lead or to renew")
    add("-v", dest="verbosity", type=int, default=2, help="verbosity of the log; 4 and more is for debugging")
    add("--version", action="version", version=f"berth {version('berth-operator')}")
    return parser
