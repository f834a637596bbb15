"""Extenders (``spec.extenders``): services that are called over HTTP, in upstream's format."""

from typing import Annotated

from pydantic import ConfigDict, Field

from scheduler_operator.models.fields import GoDuration, Int64, Model, cel, list_map, rules
from scheduler_operator.resources.names import EXTENDER_FILES_PREFIX

SECRET_NAME = rf"^{EXTENDER_FILES_PREFIX}[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
FILES_TWICE_MESSAGE = "secretName names the certificate, its key and the CA: leave out the fields of files and data"

Verb = Annotated[str, Field(max_length=253)]
FilePath = Annotated[str, Field(max_length=4096)]
Base64 = Annotated[str, Field(max_length=65536, json_schema_extra={"format": "byte"})]


class ExtenderTLS(Model):
    """Certificates by which the scheduler and an extender trust each other."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            cel(
                "!has(self.secretName) || !(has(self.certFile) || has(self.keyFile) || has(self.caFile) || "
                "has(self.certData) || has(self.keyData))",
                FILES_TWICE_MESSAGE,
                fieldPath=".secretName",
            ),
        )
    )

    secret_name: Annotated[str, Field(max_length=253, pattern=SECRET_NAME)] | None = Field(
        None,
        description="A Secret in the operator's namespace, mounted into the scheduler's pods: its keys tls.crt and "
        "tls.key are the scheduler's certificate, ca.crt is the CA of the extender's unless caData or insecure is set.",
    )
    insecure: bool | None = Field(None, description="Accept any certificate of the extender. Default: false.")
    server_name: Annotated[str, Field(max_length=253)] | None = Field(
        None, description="The name in the extender's certificate. Default: the host of urlPrefix."
    )
    cert_file: FilePath | None = Field(None, description="File with the scheduler's certificate, in its container.")
    key_file: FilePath | None = Field(None, description="File with the scheduler's private key, in its container.")
    ca_file: FilePath | None = Field(
        None, description="File with the CA of the extender's certificate, in the scheduler's container."
    )
    cert_data: Base64 | None = Field(None, description="The scheduler's certificate, base64.")
    key_data: Base64 | None = Field(
        None,
        description="The scheduler's private key, base64. Everyone who reads the profile sees it: prefer secretName.",
    )
    ca_data: Base64 | None = Field(None, description="The CA of the extender's certificate, base64.")


class ManagedResource(Model):
    """A resource that an extender manages."""

    name: Annotated[str, Field(min_length=1, max_length=253)] = Field(
        description="An extended resource, such as example.com/gpu."
    )
    ignored_by_scheduler: bool | None = Field(
        None, description="Leave it out of NodeResourcesFit: only the extender checks it. Default: false."
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
        description="The extender's address; a slash and a verb are appended."
    )
    filter_verb: Verb | None = Field(None, description="The verb that filters nodes. Absent: it does not filter.")
    preempt_verb: Verb | None = Field(None, description="The verb that chooses victims. Absent: it does not preempt.")
    prioritize_verb: Verb | None = Field(None, description="The verb that scores nodes. Absent: it does not score.")
    weight: Int64 | None = Field(None, ge=0, description="Factor for its scores; needs prioritizeVerb.")
    bind_verb: Verb | None = Field(None, description="The verb that binds. At most one extender may have one.")
    enable_https: bool | None = Field(
        None,
        alias="enableHTTPS",
        description="Trust any certificate if tlsConfig has no CA; urlPrefix decides about TLS. Default: false.",
    )
    tls_config: ExtenderTLS | None = Field(None, description="Certificates and trust, for an https address.")
    http_timeout: (
        Annotated[
            GoDuration, Field(json_schema_extra=rules(cel("self <= duration('1h')", "httpTimeout must be at most 1h")))
        ]
        | None
    ) = Field(None, description="Maximum time for one call. Default: 5s.")
    node_cache_capable: bool | None = Field(
        None, description="The extender has a copy of the nodes: send it names instead of whole nodes. Default: false."
    )
    managed_resources: (
        Annotated[list[ManagedResource], Field(max_length=64, json_schema_extra=list_map("name"))] | None
    ) = Field(None, description="Call it only for pods that request one of these. Absent: for every pod.")
    ignorable: bool | None = Field(
        None, description="Continue without it if it does not answer. Default: false, pods wait until it does."
    )
