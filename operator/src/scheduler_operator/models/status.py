"""What the operator reports on the objects that people write."""

from typing import Annotated, Literal

from pydantic import Field

from scheduler_operator.models.fields import Int32, Int64, Model, PluginName, list_map

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
    config_map: Annotated[str, Field(max_length=253)] | None = Field(
        None, description="The ConfigMap, in the operator's namespace, that holds the rendered document."
    )
    config_hash: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="SHA-256 of the rendered document."
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
