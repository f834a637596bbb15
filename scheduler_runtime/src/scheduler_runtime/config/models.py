"""KubeSchedulerConfiguration v1 as models: fields, defaults and the rules that need no plugin and no version."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from scheduler_runtime.catalog.checks import Location, refuse
from scheduler_runtime.catalog.durations import Duration, DurationField
from scheduler_runtime.catalog.syntax import is_extended_resource
from scheduler_runtime.config.tls import as_base64, tls_problems

API_VERSION = "kubescheduler.config.k8s.io/v1"
DEFAULT_SCHEDULER_NAME = "default-scheduler"

PositiveInt32 = Annotated[int, Field(ge=1, le=2**31 - 1)]
Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Percentage = Annotated[int, Field(ge=0, le=100)]
Base64 = Annotated[str, BeforeValidator(as_base64)]


def _or(default: str) -> AfterValidator:
    """What is left empty, or zero, has the default."""
    return AfterValidator(
        lambda given: Duration(default) if isinstance(given, Duration) and not given.nanoseconds else given or default
    )


def as_float32(number: float) -> float:
    """What Go's float32 makes of ``number``; infinite when it is too large."""
    try:
        (held,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        return math.inf
    return float(held)


def _rate(number: float) -> float:
    if math.isinf(as_float32(number)):
        refuse([((), f"{number} is too large for a rate")])
    return number


class _Part(BaseModel):
    """A piece of the document. A field given as null counts as left out, as in every Kubernetes document."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,  # a document builds all of them at once, which takes half the time
    )


class LeaderElection(_Part):
    """How the replicas agree on the one that schedules."""

    leader_elect: bool = True
    lease_duration: Annotated[DurationField, _or("15s")] = Duration("15s")
    renew_deadline: Annotated[DurationField, _or("10s")] = Duration("10s")
    retry_period: Annotated[DurationField, _or("2s")] = Duration("2s")
    resource_lock: Annotated[str, _or("leases")] = "leases"
    resource_name: Annotated[str, _or("kube-scheduler")] = "kube-scheduler"
    resource_namespace: Annotated[str, _or("kube-system")] = "kube-system"

    @property
    def lease_duration_seconds(self) -> float:
        """How long the others wait for a leader that is silent."""
        return Duration(self.lease_duration).seconds

    @property
    def renew_deadline_seconds(self) -> float:
        """How long a leader goes on without having renewed."""
        return Duration(self.renew_deadline).seconds

    @property
    def retry_period_seconds(self) -> float:
        """How long between two attempts."""
        return Duration(self.retry_period).seconds

    @model_validator(mode="after")
    def _ordered(self) -> LeaderElection:
        if self.leader_elect:
            refuse(self._problems())
        return self

    def _problems(self) -> Iterator[tuple[Location, str]]:
        for name, written in (
            ("leaseDuration", self.lease_duration),
            ("renewDeadline", self.renew_deadline),
            ("retryPeriod", self.retry_period),
        ):
            if Duration(written).seconds <= 0:
                yield (name,), f"{written} is too short; it must be more than 0s"
        if self.lease_duration_seconds <= self.renew_deadline_seconds:
            yield ("leaseDuration",), f"{self.lease_duration} is not longer than renewDeadline, {self.renew_deadline}"
        if self.resource_lock != "leases":
            yield ("resourceLock",), f"{self.resource_lock!r} is gone; leases is the only lock"


class ClientConnection(_Part):
    """How to reach the API server. A qps or burst of 0 counts as upstream's default, 50 and 100."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: Annotated[float, AfterValidator(_rate)] = 50.0
    burst: Annotated[int, Field(ge=0, le=2**31 - 1)] = 100


class EnabledPlugin(_Part):
    """A plugin to enable. The weight counts at score; left out or 0 it is 1."""

    name: str = ""
    weight: Int32 | None = None


class DisabledPlugin(_Part):
    """A default plugin to leave out; ``*`` is all of them."""

    name: str = ""
    weight: Int32 | None = None


class PluginSet(_Part):
    """What to change at one extension point."""

    enabled: tuple[EnabledPlugin, ...] = ()
    disabled: tuple[DisabledPlugin, ...] = ()


class Plugins(_Part):
    """The extension points. ``multiPoint`` stands for every point that a plugin has."""

    pre_enqueue: PluginSet = PluginSet.model_construct()
    queue_sort: PluginSet = PluginSet.model_construct()
    pre_filter: PluginSet = PluginSet.model_construct()
    filter: PluginSet = PluginSet.model_construct()
    post_filter: PluginSet = PluginSet.model_construct()
    pre_score: PluginSet = PluginSet.model_construct()
    score: PluginSet = PluginSet.model_construct()
    reserve: PluginSet = PluginSet.model_construct()
    permit: PluginSet = PluginSet.model_construct()
    pre_bind: PluginSet = PluginSet.model_construct()
    bind: PluginSet = PluginSet.model_construct()
    post_bind: PluginSet = PluginSet.model_construct()
    multi_point: PluginSet = PluginSet.model_construct()
    placement_generate: PluginSet = PluginSet.model_construct()
    placement_score: PluginSet = PluginSet.model_construct()
    pod_group_post_filter: PluginSet = PluginSet.model_construct()

    def at(self, point: str) -> PluginSet:
        """What is written for ``point``, named as in the document."""
        found: PluginSet = getattr(self, _attributes()[point])
        return found

    @property
    def named_points(self) -> tuple[str, ...]:
        """The points that the document names, multiPoint aside."""
        return tuple(
            point for point, name in _attributes().items() if name in self.model_fields_set and point != "multiPoint"
        )


@cache
def _attributes() -> dict[str, str]:
    """The attribute of each point."""
    return {field.alias or name: name for name, field in Plugins.model_fields.items()}


class PluginConfigEntry(_Part):
    """The arguments of one plugin, as written. They are checked against the plugin's own model."""

    name: str = ""
    args: dict[str, Any] = {}


class Profile(_Part):
    """One scheduler: the pods that name it are placed by its plugins."""

    scheduler_name: str = ""
    percentage_of_nodes_to_score: Percentage | None = None
    plugins: Plugins = Plugins.model_construct()
    plugin_config: tuple[PluginConfigEntry, ...] = ()

    @field_validator("plugin_config")
    @classmethod
    def _once_each(cls, entries: tuple[PluginConfigEntry, ...]) -> tuple[PluginConfigEntry, ...]:
        refuse(repeated([entry.name for entry in entries], "pluginConfig"))
        return entries


class ExtenderTLSConfig(_Part):
    """How to trust an extender. Certificates and keys are base64, as in every Kubernetes document."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: Annotated[str, Field(alias="caFile")] = ""
    cert_data: Base64 = ""
    key_data: Base64 = ""
    ca_data: Annotated[Base64, Field(alias="caData")] = ""

    @model_validator(mode="after")
    def _usable(self) -> ExtenderTLSConfig:
        refuse(tls_problems(self.insecure, self.ca_data or self.ca_file, self._data()))
        return self

    def _data(self) -> dict[str, str]:
        return {"certData": self.cert_data, "keyData": self.key_data, "caData": self.ca_data}


class ManagedResource(_Part):
    """A resource that an extender looks after."""

    name: str = ""
    ignored_by_scheduler: bool = False


class Extender(_Part):
    """A scheduler extender: a service asked over HTTP."""

    url_prefix: Annotated[str, Field(alias="urlPrefix")] = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: Annotated[bool, Field(alias="enableHTTPS")] = False
    tls_config: Annotated[ExtenderTLSConfig | None, Field(alias="tlsConfig")] = None
    http_timeout: Annotated[DurationField, _or("5s"), Field(alias="httpTimeout")] = Duration("5s")
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False

    @model_validator(mode="after")
    def _weighed(self) -> Extender:
        if self.prioritize_verb and self.weight <= 0:
            refuse([(("weight",), f"{self.weight} must be at least 1, because prioritizeVerb is given")])
        return self


class Document(_Part):
    """A KubeSchedulerConfiguration."""

    api_version: Literal["kubescheduler.config.k8s.io/v1"]
    kind: Literal["KubeSchedulerConfiguration"]
    parallelism: PositiveInt32 = 16
    leader_election: LeaderElection = LeaderElection.model_construct()
    client_connection: ClientConnection = ClientConnection.model_construct()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: Percentage = 0
    pod_initial_backoff_seconds: Annotated[int, Field(ge=1, le=2**63 - 1)] = 1
    pod_max_backoff_seconds: Annotated[int, Field(ge=1, le=2**63 - 1)] = 10
    profiles: tuple[Profile, ...]
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False

    @field_validator("profiles")
    @classmethod
    def _named_apart(cls, profiles: tuple[Profile, ...]) -> tuple[Profile, ...]:
        if not profiles:
            refuse([((), "must not be empty")])
        refuse(_name_problems([profile.scheduler_name for profile in profiles]))
        return profiles

    @model_validator(mode="after")
    def _consistent(self) -> Document:
        refuse(self._problems())
        return self

    def _problems(self) -> Iterator[tuple[Location, str]]:
        first, last = self.pod_initial_backoff_seconds, self.pod_max_backoff_seconds
        if last < first:
            yield ("podMaxBackoffSeconds",), f"{last} is less than podInitialBackoffSeconds, {first}"
        yield from self._extender_problems()

    def _extender_problems(self) -> Iterator[tuple[Location, str]]:
        binders = [index for index, extender in enumerate(self.extenders) if extender.bind_verb]
        for index in binders[1:]:
            yield ("extenders", index, "bindVerb"), f"only one extender can bind, and extenders[{binders[0]}] does"
        managed: set[str] = set()
        for index, extender in enumerate(self.extenders):
            for position, resource in enumerate(extender.managed_resources):
                at: Location = ("extenders", index, "managedResources", position, "name")
                if not is_extended_resource(resource.name):
                    yield at, f"{resource.name!r} is not an extended resource such as example.com/gpu"
                elif resource.name in managed:
                    yield at, f"{resource.name!r} is managed twice"
                managed.add(resource.name)


def _name_problems(names: Sequence[str]) -> Iterator[tuple[Location, str]]:
    for index, name in enumerate(names):
        if not name:
            yield (index, "schedulerName"), "is required"
        elif name in names[:index]:
            yield (index, "schedulerName"), f"{name!r} is the name of profiles[{names.index(name)}] too"


def repeated(names: Sequence[str], kind: str) -> Iterator[tuple[Location, str]]:
    """A problem for each name that an earlier entry has."""
    for index, name in enumerate(names):
        if name in names[:index]:
            yield (index, "name"), f"{name!r} has {kind} entry {names.index(name)} already"
