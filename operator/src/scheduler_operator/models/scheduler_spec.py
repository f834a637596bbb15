"""Process of a profile (``spec.scheduler``). Every field has a default, and absent means that default."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from scheduler_operator.models.fields import (
    ATOMIC,
    GoDuration,
    Int32,
    Int64,
    LabelKey,
    Model,
    ObjectName,
    Quantity,
    cel,
    rules,
)
from scheduler_operator.models.label_selector import Affinity, Labels, Toleration, TopologySpreadConstraint
from scheduler_operator.resources.names import OWN_ANNOTATIONS, OWN_LABELS

_LEASE = "self.?leaseDuration.orValue(duration('15s'))"
_RENEW = "self.?renewDeadline.orValue(duration('10s'))"
_RETRY = "self.?retryPeriod.orValue(duration('2s'))"


def _reserved(keys: tuple[str, ...]) -> dict[str, object]:
    names = ", ".join(f"'{key}'" for key in keys)
    return rules(cel(f"!self.exists(key, key in [{names}])", f"berth sets {' and '.join(keys)} itself: leave them out"))


class LeaderElection(Model):
    """Leader election among the replicas of a scheduler."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            cel(f"{_LEASE} > {_RENEW}", "leaseDuration (default 15s) must be longer than renewDeadline (default 10s)"),
            cel(
                f"{_RENEW}.getMilliseconds() * 5 > {_RETRY}.getMilliseconds() * 6",
                "renewDeadline (default 10s) must be longer than 1.2 times retryPeriod (default 2s)",
            ),
            cel(f"{_LEASE} >= duration('1s') && {_LEASE} <= duration('24h')", "leaseDuration must be from 1s to 24h"),
            cel(f"{_RETRY} >= duration('100ms')", "retryPeriod must be at least 100ms"),
        )
    )

    lease_duration: GoDuration | None = Field(
        None, description="Time after which another replica replaces a silent leader. Default: 15s."
    )
    renew_deadline: GoDuration | None = Field(
        None, description="How long a leader tries to renew before it gives up. Default: 10s."
    )
    retry_period: GoDuration | None = Field(None, description="Time between two attempts. Default: 2s.")


class ClientConnection(Model):
    """Limits for the scheduler's requests to the API server."""

    qps: float | None = Field(
        None, description="Requests per second; negative means unlimited; 0 means upstream's 50. Default: -1."
    )
    burst: Int32 | None = Field(None, description="Requests at once; 0 means upstream's 100. Default: 0.")


class Resources(Model):
    """Resource requests and limits of the scheduler's container."""

    requests: Annotated[dict[LabelKey, Quantity], Field(max_length=16)] | None = Field(
        None, description="Resources that are reserved for the container. Default: cpu 100m and memory 256Mi."
    )
    limits: Annotated[dict[LabelKey, Quantity], Field(max_length=16)] | None = Field(
        None, description="Maximum resources of the container. Default: no limit."
    )


class SchedulerSpec(Model):
    """The scheduler process of a profile."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            cel(
                "self.?podMaxBackoffSeconds.orValue(10) >= self.?podInitialBackoffSeconds.orValue(1)",
                "podMaxBackoffSeconds (default 10) must not be less than podInitialBackoffSeconds (default 1)",
            )
        )
    )

    replicas: Int32 | None = Field(
        None, ge=0, le=32, description="Number of processes; one of them schedules, the others stand by. Default: 2."
    )
    image: Annotated[str, Field(max_length=512)] | None = Field(
        None,
        description="The image to run. Default: the operator's own image, or with engine KubeScheduler "
        "registry.k8s.io/kube-scheduler of the Kubernetes version.",
    )
    progress_deadline_seconds: Int32 | None = Field(
        None,
        ge=1,
        le=86400,
        description="How many seconds new processes may take to become ready; after that, the last good configuration "
        "comes back. Default: 600.",
    )
    kubernetes_version: Annotated[str, Field(pattern=r"^v?1\.[0-9]+(\.[0-9]+)?$", max_length=16)] | None = Field(
        None,
        description="The Kubernetes version of behaviour and configuration, such as 1.36. Default: the API server's.",
    )
    leader_election: LeaderElection | None = Field(None, description="Leader election among the replicas.")
    pod_initial_backoff_seconds: Int64 | None = Field(
        None, ge=1, le=86400, description="Wait of a pod after its first failed attempt. Default: 1."
    )
    pod_max_backoff_seconds: Int64 | None = Field(
        None, ge=1, le=86400, description="Maximum wait of a pod between two attempts. Default: 10."
    )
    parallelism: Int32 | None = Field(
        None,
        ge=1,
        le=1024,
        description="Parallelism of the scheduling algorithms, where the engine has any. Default: 16.",
    )
    client_connection: ClientConnection | None = Field(
        None, description="Limits for the scheduler's requests to the API server."
    )
    feature_gates: Annotated[dict[Annotated[str, Field(max_length=128)], bool], Field(max_length=128)] | None = Field(
        None, description="Feature gates of kube-scheduler to turn on or off. Default: those of the Kubernetes version."
    )
    events: Literal["All", "Failures", "None"] | None = Field(
        None,
        description="Events that the scheduler posts, with engine Python: Failures leaves out events of placed pods "
        "and of the leader election. Default: All.",
    )
    log_level: Int32 | None = Field(None, ge=0, le=10, description="Verbosity of the log, from 0 to 10. Default: 2.")
    resources: Resources | None = Field(None, description="Requests and limits of the scheduler's container.")
    node_selector: Annotated[Labels, Field(max_length=64)] | None = Field(
        None, description="Labels of the nodes that the scheduler's own pods may run on."
    )
    tolerations: Annotated[list[Toleration], Field(max_length=64, json_schema_extra=ATOMIC)] | None = Field(
        None, description="Taints that the scheduler's own pods tolerate."
    )
    affinity: Affinity | None = Field(
        None, description="Affinity of the scheduler's own pods, as in spec.affinity of a pod."
    )
    topology_spread_constraints: (
        Annotated[list[TopologySpreadConstraint], Field(max_length=16, json_schema_extra=ATOMIC)] | None
    ) = Field(None, description="How the scheduler's own pods are spread.")
    priority_class_name: ObjectName | None = Field(
        None, description="Priority class of the scheduler's own pods. Default: none."
    )
    pod_labels: Annotated[Labels, Field(max_length=64, json_schema_extra=_reserved(OWN_LABELS))] | None = Field(
        None, description="Further labels of the scheduler's own pods."
    )
    pod_annotations: (
        Annotated[
            dict[LabelKey, Annotated[str, Field(max_length=4096)]],
            Field(max_length=64, json_schema_extra=_reserved(OWN_ANNOTATIONS)),
        ]
        | None
    ) = Field(None, description="Further annotations of the scheduler's own pods.")
