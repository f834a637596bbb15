"""Extenders (``spec.extenders``): services that are called over HTTP, in upstream's format."""

from typing import Annotated

from pydantic import ConfigDict, Field

from scheduler_operator.models.fields import GoDuration, Int64, Model, cel, list_map, rules

Verb = Annotated[str, Field(max_length=253)]
FilePath = Annotated[str, Field(max_length=4096)]
Base64 = Annotated[str, Field(max_length=65536, json_schema_extra={"format": "byte"})]


class ExtenderTLS(Model):
    """Certificates by which the scheduler and an extender trust each other."""

    insecure: bool | None = Field(None, description="Accept any certificate of the extender. Default: false.")
    server_name: Annotated[str, Field(max_length=253)] | None = Field(
        None, description="The name in the extender's certificate. Default: the host of urlPrefix."
    )
    cert_file: FilePath | None = Field(None, description="File with the scheduler's certificate, in its container.")
    key_file: FilePath | None = Field(None, description="File with the scheduler's private key, in its container.")
    ca_file: FilePath | None = Field(None, description="File with the authority that signed the extender's.")
    cert_data: Base64 | None = Field(None, description="The scheduler's certificate, base64.")
    key_data: Base64 | None = Field(
        None, description="The scheduler's private key, base64. Whoever can read the profile reads it: prefer keyFile."
    )
    ca_data: Base64 | None = Field(None, description="The authority that signed the extender's certificate, base64.")


class ManagedResource(Model):
    """A resource that an extender looks after."""

    name: Annotated[str, Field(min_length=1, max_length=253)] = Field(
        description="An extended resource, such as example.com/gpu."
    )
    ignored_by_scheduler: bool | None = Field(
        None, description="Leave it out of NodeResourcesFit: the extender alone judges it. Default: false."
    )


class Extender(Model):
    """A service that filters or scores nodes, preempts or binds."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            cel(
                "self.?prioritizeVerb.orValue('') == '' || self.?weight.orValue(0) > 0",
                "an extender with a prioritizeVerb needs a weight of at least 1",
                fieldPath=".prioritizeVerb",
            ),
        )
    )

    url_prefix: Annotated[str, Field(min_length=1, max_length=2048)] = Field(
        description="Where the extender is; verbs are added after a slash."
    )
    filter_verb: Verb | None = Field(None, description="The verb that filters nodes. Absent: it does not filter.")
    preempt_verb: Verb | None = Field(None, description="The verb that chooses victims. Absent: it does not preempt.")
    prioritize_verb: Verb | None = Field(None, description="The verb that scores nodes. Absent: it does not score.")
    weight: Int64 | None = Field(None, ge=0, description="What its scores are multiplied by; needs prioritizeVerb.")
    bind_verb: Verb | None = Field(None, description="The verb that binds. At most one extender may have one.")
    enable_https: bool | None = Field(
        None,
        alias="enableHTTPS",
        description="Trust any certificate when tlsConfig has no CA; urlPrefix decides on TLS. Default: false.",
    )
    tls_config: ExtenderTLS | None = Field(None, description="Certificates and trust, for an https address.")
    http_timeout: GoDuration | None = Field(None, description="How long one call may take. Default: 5s.")
    node_cache_capable: bool | None = Field(
        None, description="The extender knows the nodes itself: send it names instead of whole nodes. Default: false."
    )
    managed_resources: (
        Annotated[list[ManagedResource], Field(max_length=64, json_schema_extra=list_map("name"))] | None
    ) = Field(None, description="Ask it only about pods that request one of these. Absent: about every pod.")
    ignorable: bool | None = Field(
        None, description="Go on without it when it does not answer. Default: false, pods wait until it does."
    )
