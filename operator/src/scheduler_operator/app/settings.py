"""Command line of ``berth-operator``."""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from scheduler_operator.desired.limits import Limits
from scheduler_operator.desired.workload import Release
from scheduler_runtime.component.https import AccessRules, ServingSettings, TlsSettings
from scheduler_runtime.kube.leader_election import LeaseSettings, unique_identity


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of one operator process, from its command line and environment."""

    release: Release
    lease: LeaseSettings
    """Our Deployment has the name of our Lease."""
    kubeconfig: str
    serving: ServingSettings
    workers: int
    resync_seconds: float
    verbosity: int

    @property
    def user_agent(self) -> str:
        return self.serving.user_agent


def parse(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the command line; a wrong one ends the process with a usage message."""
    parser = argparse.ArgumentParser("berth-operator", description="Turn SchedulerProfiles into running schedulers.")
    add = parser.add_argument
    add(
        "--namespace",
        default=environment.get("POD_NAMESPACE", "berth-system"),
        help="namespace of generated objects",
    )
    add("--name", default="berth-operator", help="name of the operator's own Deployment and Lease")
    add("--scheduler-image", required=True, help="image of schedulers whose profile sets none")
    for flag, what, default in (
        ("--allowed-engines", "engines", "Python,ConfigMap"),
        ("--allowed-images", "images, beside --scheduler-image,", ""),
        ("--allowed-priority-classes", "priority classes", ""),
        ("--allowed-pod-labels", "keys of podLabels", ""),
        ("--allowed-pod-annotations", "keys of podAnnotations", ""),
    ):
        add(flag, type=_separate, default=_separate(default), help=f"{what} that profiles may have, comma-separated")
    add("--image-pull-policy", default="IfNotPresent", choices=("Always", "IfNotPresent", "Never"))
    add(
        "--image-pull-secrets",
        type=_separate,
        default=(),
        help="Secrets of the namespace with which schedulers' images are pulled, comma-separated",
    )
    add("--allow-plugin-sources", action="store_true", help="let schedulers run plugins whose code is in a ConfigMap")
    add(
        "--grant-system-roles",
        action="store_true",
        help="give schedulers with engine KubeScheduler the cluster's own roles for kube-scheduler, which have more "
        "permissions than their plugins need",
    )
    add("--kubeconfig", default="", help="default: $KUBECONFIG, or the ServiceAccount of the pod")
    add("--bind-address", default=environment.get("POD_IP", "0.0.0.0"), help="address of the endpoints")  # noqa: S104
    add("--secure-port", type=int, default=8443, help="port of the endpoints, which are HTTPS; 0: none")
    add("--tls-cert-file", default="", help="certificate of the endpoints; default: one that is made in memory")
    add("--tls-private-key-file", default="", help="its key")
    add(
        "--authorization-always-allow-paths",
        type=_separate,
        default=AccessRules().allowed_paths,
        help="paths that everybody may read without a token, comma-separated; a star at the end is any end",
    )
    add("--workers", type=int, default=4, help="number of profiles to reconcile at a time")
    add("--resync-seconds", type=float, default=300.0, help="interval for reconciling every profile without an event")
    add("--lease-duration", type=float, default=15.0, help="seconds before a silent leader is replaced")
    add("--renew-deadline", type=float, default=10.0, help="seconds until a leader stops without a renewal")
    add("--retry-period", type=float, default=2.0, help="seconds between two attempts to lead or to renew")
    add("--logging-format", default="text", choices=("text", "json"), help="format of the log, and of schedulers' logs")
    add("-v", dest="verbosity", type=int, default=2, help="verbosity of the log; 4 and higher are for debugging")
    add("--version", action="version", version=f"berth {version('berth-operator')}")
    options = parser.parse_args(arguments)
    if bool(options.tls_cert_file) != bool(options.tls_private_key_file):
        parser.error("--tls-cert-file and --tls-private-key-file belong together: give both or none")
    try:
        lease = LeaseSettings(
            namespace=options.namespace,
            name=options.name,
            identity=unique_identity(environment),
            lease_duration=options.lease_duration,
            renew_deadline=options.renew_deadline,
            retry_period=options.retry_period,
        )
    except ValueError as error:
        parser.error(str(error))
    return Settings(
        release=Release(
            namespace=options.namespace,
            scheduler_image=options.scheduler_image,
            image_pull_policy=options.image_pull_policy,
            image_pull_secrets=options.image_pull_secrets,
            allows_sources=options.allow_plugin_sources,
            grants_system_roles=options.grant_system_roles,
            limits=Limits(
                engines=options.allowed_engines,
                images=tuple(dict.fromkeys((options.scheduler_image, *options.allowed_images))),
                priority_classes=options.allowed_priority_classes,
                pod_labels=options.allowed_pod_labels,
                pod_annotations=options.allowed_pod_annotations,
            ),
            logs_json=options.logging_format == "json",
        ),
        lease=lease,
        kubeconfig=options.kubeconfig,
        serving=ServingSettings(
            address=options.bind_address,
            port=options.secure_port,
            tls=TlsSettings(certificate_file=options.tls_cert_file, key_file=options.tls_private_key_file),
            rules=AccessRules(allowed_paths=options.authorization_always_allow_paths),
            authentication_kubeconfig=options.kubeconfig,
            authorization_kubeconfig=options.kubeconfig,
            user_agent=f"berth-operator/{version('berth-operator')}",
        ),
        workers=options.workers,
        resync_seconds=options.resync_seconds,
        verbosity=options.verbosity,
    )


def _separate(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))
