"""KubeSchedulerConfiguration v1 as models: fields, defaults, and the rules that need no plugin and no version.

Field names are upstream's, in snake_case; types, defaults and limits are those of k8s.io/kube-scheduler/config/v1 and
of upstream's validation. The same document is accepted as by kube-scheduler, to which ``tests/oracle`` compares it.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from scheduler_runtime.catalog.masking import without_credentials
from scheduler_runtime.catalog.syntax import Duration, DurationField, Location, is_extended_resource, refuse

API_VERSION = "kubescheduler.config.k8s.io/v1"
DEFAULT_SCHEDULER_NAME = "default-scheduler"

PositiveInt32 = Annotated[int, Field(ge=1, le=2**31 - 1)]
Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Percentage = Annotated[int, Field(ge=0, le=100)]


def _default_if_empty(default: str) -> AfterValidator:
    """Make a validator that gives a field that is left empty, or zero, its default."""

    def fill(value: str) -> str:
        if isinstance(value, Duration) and not value.nanoseconds:
            return Duration(default)
        return value or default

    return AfterValidator(fill)


def as_base64(value: Any) -> Any:
    """Return bytes that are a list of numbers, which Go's JSON reads too, as base64; anything else unchanged."""
    if not isinstance(value, list):
        return value
    if not all(type(number) in (int, type(None)) and 0 <= (number or 0) < 256 for number in value):
        return value
    return base64.b64encode(bytes(number or 0 for number in value)).decode()


Base64 = Annotated[str, BeforeValidator(as_base64)]


def as_float32(number: float) -> float:
    """Return what Go's float32 holds of ``number``; infinite when that is too large."""
    try:
        (rounded,) = struct.unpack("<f", struct.pack("<f", number))
    except OverflowError:
        return math.inf
    return float(rounded)


class _Section(BaseModel):
    """A mapping in the document. It refuses unknown fields and is never changed."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,  # a document builds all of them at once, which takes half the time
    )


class LeaderElection(_Section):
    """Leader election: the replicas of a scheduler agree on the one that schedules."""

    leader_elect: bool = True
    lease_duration: Annotated[DurationField, _default_if_empty("15s")] = Duration("15s")
    renew_deadline: Annotated[DurationField, _default_if_empty("10s")] = Duration("10s")
    retry_period: Annotated[DurationField, _default_if_empty("2s")] = Duration("2s")
    resource_lock: Annotated[str, _default_if_empty("leases")] = "leases"
    resource_name: Annotated[str, _default_if_empty("kube-scheduler")] = "kube-scheduler"
    resource_namespace: Annotated[str, _default_if_empty("kube-system")] = "kube-system"

    @property
    def lease_duration_seconds(self) -> float:
        """The time for which the others wait for a leader that does not renew the Lease."""
        return Duration(self.lease_duration).seconds

    @property
    def renew_deadline_seconds(self) -> float:
        """The time for which a leader goes on although the Lease cannot be renewed."""
        return Duration(self.renew_deadline).seconds

    @property
    def retry_period_seconds(self) -> float:
        """The time between two attempts to get or renew the Lease."""
        return Duration(self.retry_period).seconds

    @model_validator(mode="after")
    def _ordered(self) -> LeaderElection:
        if not self.leader_elect:  # upstream does not look at fields that nothing uses
            return self
        problems: list[tuple[Location, str]] = []
        for name, duration in (
            ("leaseDuration", self.lease_duration),
            ("renewDeadline", self.renew_deadline),
            ("retryPeriod", self.retry_period),
        ):
            if Duration(duration).seconds <= 0:
                problems.append(((name,), f"{duration} is too short; it must be more than 0s"))
        if self.lease_duration_seconds <= self.renew_deadline_seconds:
            message = f"{self.lease_duration} is not longer than renewDeadline, {self.renew_deadline}"
            problems.append((("leaseDuration",), message))
        if self.resource_lock != "leases":
            problems.append((("resourceLock",), f"{self.resource_lock!r} is gone; leases is the only lock"))
        refuse(problems)
        return self


class ClientConnection(_Section):
    """The connection to the API server. A qps or burst of 0 counts as upstream's default, 50 and 100."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: Annotated[int, Field(ge=0, le=2**31 - 1)] = 100

    @field_validator("qps")
    @classmethod
    def _fits_float32(cls, qps: float) -> float:
        if math.isinf(as_float32(qps)):
            refuse([((), f"{qps} is too large for a rate")])
        return qps


class PluginEntry(_Section):
    """A plugin to enable or to disable; ``*`` disables all default plugins.

    The weight counts where an enabled plugin scores; left out or 0 it is 1.
    """

    name: str = ""
    weight: Int32 | None = None


class PluginSet(_Section):
    """The plugins to enable and to disable at one extension point."""

    enabled: tuple[PluginEntry, ...] = ()
    disabled: tuple[PluginEntry, ...] = ()


class Plugins(_Section):
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
        """Return what the document has at ``point``, named as there: ``preFilter``."""
        plugin_set: PluginSet = getattr(self, _attribute_names()[point])
        return plugin_set

    def by_point(self) -> dict[str, PluginSet]:
        """Return what the document has at each point, multiPoint included."""
        return {point: getattr(self, name) for point, name in _attribute_names().items()}

    @property
    def named_points(self) -> tuple[str, ...]:
        """The points that the document names, multiPoint aside."""
        return tuple(
            point
            for point, name in _attribute_names().items()
            if name in self.model_fields_set and point != "multiPoint"
        )


@cache
def _attribute_names() -> dict[str, str]:
    """Return the attribute of each extension point."""
    return {field.alias or name: name for name, field in Plugins.model_fields.items()}


class PluginConfigEntry(_Section):
    """The arguments of one plugin, unchanged: :mod:`scheduler_runtime.config.arguments` checks them."""

    name: str = ""
    args: dict[str, Any] = {}


class Profile(_Section):
    """One scheduler: the pods that name it are placed by its plugins."""

    scheduler_name: str = ""
    percentage_of_nodes_to_score: Percentage | None = None
    plugins: Plugins = Plugins.model_construct()
    plugin_config: tuple[PluginConfigEntry, ...] = ()

    @field_validator("plugin_config")
    @classmethod
    def _distinct(cls, entries: tuple[PluginConfigEntry, ...]) -> tuple[PluginConfigEntry, ...]:
        names = [entry.name for entry in entries]
        refuse(
            ((index, "name"), f"{name!r} has pluginConfig entry {names.index(name)} already")
            for index, name in enumerate(names)
            if name in names[:index]
        )
        return entries


class ExtenderTLSConfig(_Section):
    """Certificates with which an extender is called. Data is base64, as in every Kubernetes document.

    Nothing here is trusted or used: a certificate is only recognised by its first line.
    """

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
        problems: list[tuple[Location, str]] = []
        data = {"certData": self.cert_data, "keyData": self.key_data, "caData": self.ca_data}
        decoded = {name: _decode(text) for name, text in data.items()}
        for name, content in decoded.items():
            if content is None:
                problems.append(((name,), "is not base64"))
        if self.insecure and (self.ca_data or self.ca_file):
            problems.append((("insecure",), "must be false when a CA is given: it would not be asked"))
        elif decoded["caData"] and b"-----BEGIN CERTIFICATE-----" not in decoded["caData"]:
            problems.append((("caData",), "holds no certificate in PEM form, base64 encoded"))
        refuse(problems)
        return self


def _decode(text: str) -> bytes | None:
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return None


class ManagedResource(_Section):
    """A resource that an extender looks after."""

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderConfig(_Section):
    """A scheduler extender: a service that the scheduler calls over HTTP."""

    url_prefix: Annotated[str, Field(alias="urlPrefix")] = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: Int64 = 0
    bind_verb: str = ""
    enable_https: Annotated[bool, Field(alias="enableHTTPS")] = False
    tls_config: Annotated[ExtenderTLSConfig | None, Field(alias="tlsConfig")] = None
    http_timeout: Annotated[DurationField, _default_if_empty("5s"), Field(alias="httpTimeout")] = Duration("5s")
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False

    @property
    def shown_url(self) -> str:
        """``urlPrefix`` for messages, without the credentials that may be in it."""
        return without_credentials(self.url_prefix)

    @model_validator(mode="after")
    def _weighed(self) -> ExtenderConfig:
        if self.prioritize_verb and self.weight <= 0:
            refuse([(("weight",), f"{self.weight} must be at least 1, because prioritizeVerb is given")])
        return self


class Document(_Section):
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
    extenders: tuple[ExtenderConfig, ...] = ()
    delay_cache_until_active: bool = False

    @field_validator("profiles")
    @classmethod
    def _named_apart(cls, profiles: tuple[Profile, ...]) -> tuple[Profile, ...]:
        if not profiles:
            refuse([((), "must not be empty")])
        problems: list[tuple[Location, str]] = []
        names = [profile.scheduler_name for profile in profiles]
        for index, name in enumerate(names):
            if not name:
                problems.append(((index, "schedulerName"), "is required"))
            elif name in names[:index]:
                message = f"{name!r} is the name of profiles[{names.index(name)}] too"
                problems.append(((index, "schedulerName"), message))
        refuse(problems)
        return profiles

    @model_validator(mode="after")
    def _consistent(self) -> Document:
        problems: list[tuple[Location, str]] = []
        first, last = self.pod_initial_backoff_seconds, self.pod_max_backoff_seconds
        if last < first:
            problems.append((("podMaxBackoffSeconds",), f"{last} is less than podInitialBackoffSeconds, {first}"))
        binders = [index for index, extender in enumerate(self.extenders) if extender.bind_verb]
        for index in binders[1:]:
            message = f"only one extender can bind, and extenders[{binders[0]}] does"
            problems.append((("extenders", index, "bindVerb"), message))
        managed: set[str] = set()
        for index, extender in enumerate(self.extenders):
            for position, resource in enumerate(extender.managed_resources):
                location: Location = ("extenders", index, "managedResources", position, "name")
                if not is_extended_resource(resource.name):
                    problems.append(
                        (location, f"{resource.name!r} is not an extended resource such as example.com/gpu")
                    )
                elif resource.name in managed:
                    problems.append((location, f"{resource.name!r} is managed twice"))
                managed.add(resource.name)
        refuse(problems)
        return self
