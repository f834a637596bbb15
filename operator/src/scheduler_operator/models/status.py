"""Status of both kinds, which the operator writes."""

from typing import Annotated, Literal

from pydantic import Field

from scheduler_operator.models.fields import ATOMIC, Int32, Int64, Model, PluginName, list_map

Reason = Literal[
    "Scheduling",
    "RollingOut",
    "Rendered",
    "Invalid",
    "PluginConfigMissing",
    "PluginUnknown",
    "PermissionMissing",
    "JoinTargetMissing",
    "JoinConflict",
    "NameTaken",
    "NotLoaded",
    "NoMemberAvailable",
    "RolledBack",
    "Paused",
]
"""Every reason that the Ready condition of a profile can have."""


class Condition(Model):
    """One aspect of an object's state."""

    type: Annotated[str, Field(max_length=316)] = Field(
        description="Ready always; Reconciling and Stalled only while they are true."
    )
    status: Literal["True", "False", "Unknown"] = Field(description="Whether the condition holds.")
    observed_generation: Int64 = Field(description="The generation of the object that this speaks of.")
    last_transition_time: Annotated[str, Field(json_schema_extra={"format": "date-time"})] = Field(
        description="When status last changed."
    )
    reason: Annotated[str, Field(max_length=128)] = Field(description="One word for why.")
    message: Annotated[str, Field(max_length=32768)] = Field(description="A sentence for why, and for what to do.")


Conditions = Annotated[list[Condition], Field(max_length=8, json_schema_extra=list_map("type"))]


class EffectivePlugin(Model):
    """A plugin that runs at an extension point."""

    name: PluginName = Field(description="The plugin's name.")
    weight: Int32 | None = Field(None, description="Its weight, where weights count.")


class ProfileWarning(Model):
    """One way in which the profile, although valid, may not do what its author meant."""

    code: Annotated[str, Field(max_length=128)] = Field(description="One word for it, the same in every version.")
    path: Annotated[str, Field(max_length=1024)] = Field(description="Where in the profile.")
    message: Annotated[str, Field(max_length=4096)] = Field(description="A sentence for it, and for what to write.")


class Member(Model):
    """A running scheduler process of the profile."""

    name: Annotated[str, Field(max_length=253)] = Field(description="The name of its pod.")
    leader: bool | None = Field(None, description="Whether it is the one that schedules.")
    config_hash: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="SHA-256 of the document that it runs by."
    )
    loaded_at: Annotated[str, Field(json_schema_extra={"format": "date-time"})] | None = Field(
        None, description="When it loaded that document."
    )
    error: Annotated[str, Field(max_length=4096)] | None = Field(
        None, description="Why it did not load the newest document."
    )


class ProfileStatus(Model):
    """What became of a SchedulerProfile."""

    observed_generation: Int64 | None = Field(None, description="The generation that this status speaks of.")
    conditions: Conditions | None = Field(None, description="Ready; Reconciling and Stalled only while they are true.")
    effective_plugins: (
        Annotated[
            dict[
                Annotated[str, Field(max_length=64)],
                Annotated[
                    list[EffectivePlugin], Field(max_length=256, json_schema_extra={"x-kubernetes-list-type": "atomic"})
                ],
            ],
            Field(max_length=32),
        ]
        | None
    ) = Field(None, description="The plugins that run at each extension point, in order, with their final weights.")
    plugins: Annotated[str, Field(max_length=1024)] | None = Field(
        None, description="How the plugins differ from the default ones, to be read in one line."
    )
    warnings: Annotated[list[ProfileWarning], Field(max_length=64, json_schema_extra=ATOMIC)] | None = Field(
        None, description="Ways in which the profile, although valid, may not do what its author meant."
    )
    warning_count: Int32 | None = Field(None, description="How many warnings there are.")
    config_map: Annotated[str, Field(max_length=253)] | None = Field(
        None, description="The ConfigMap, in the operator's namespace, that holds the rendered document."
    )
    config_hash: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="SHA-256 of the rendered document."
    )
    members: Annotated[list[Member], Field(max_length=64, json_schema_extra=list_map("name"))] | None = Field(
        None, description="The running scheduler processes, and what each runs by."
    )
    leader: Annotated[str, Field(max_length=253)] | None = Field(
        None, description="The pod of the process that schedules."
    )
    replicas: Int32 | None = Field(None, description="How many scheduler processes there are.")
    ready_replicas: Int32 | None = Field(None, description="How many of them are ready.")
    selector: Annotated[str, Field(max_length=1024)] | None = Field(
        None, description="The label selector of the scheduler's pods."
    )


class PluginConfigStatus(Model):
    """What became of a PluginConfig."""

    observed_generation: Int64 | None = Field(None, description="The generation that this status speaks of.")
    conditions: Conditions | None = Field(None, description="Ready; Stalled only while it is true.")
    used_by: (
        Annotated[
            list[Annotated[str, Field(max_length=253)]],
            Field(max_length=1024, json_schema_extra={"x-kubernetes-list-type": "set"}),
        ]
        | None
    ) = Field(None, description="The profiles that refer to it.")
