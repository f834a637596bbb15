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
    "NoLeader",
    "PluginsFailing",
    "ExtendersFailing",
    "RolledBack",
    "Paused",
]
"""Every reason that the Ready condition of a profile can have."""


class Condition(Model):
    """One aspect of an object's state."""

    type: Annotated[str, Field(max_length=316)] = Field(
        description="Ready always; Redundant where several processes are wanted; others only while they are true."
    )
    status: Literal["True", "False", "Unknown"] = Field(description="Whether the condition is true.")
    observed_generation: Int64 = Field(description="The generation of the object that this describes.")
    last_transition_time: Annotated[str, Field(json_schema_extra={"format": "date-time"})] = Field(
        description="When status last changed."
    )
    reason: Annotated[str, Field(max_length=128)] = Field(description="The reason, in one word.")
    message: Annotated[str, Field(max_length=32768)] = Field(description="The reason in a sentence, and what to do.")


Conditions = Annotated[list[Condition], Field(max_length=8, json_schema_extra=list_map("type"))]


class EffectivePlugin(Model):
    """A plugin that runs at an extension point."""

    name: PluginName = Field(description="The plugin's name.")
    weight: Int32 | None = Field(None, description="Its weight, at points with weights.")


class ProfileWarning(Model):
    """A finding: the profile is valid, but may not have the intended effect."""

    code: Annotated[str, Field(max_length=128)] = Field(
        description="The code of the finding, the same in every version."
    )
    path: Annotated[str, Field(max_length=1024)] = Field(description="The path in the profile.")
    message: Annotated[str, Field(max_length=4096)] = Field(description="A description, and what to write instead.")


class Member(Model):
    """A running scheduler process of the profile."""

    name: Annotated[str, Field(max_length=253)] = Field(description="The name of its pod.")
    leader: bool | None = Field(None, description="Whether it is the leader, which schedules.")
    config_hash: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="SHA-256 of the document that it uses."
    )
    loaded_at: Annotated[str, Field(json_schema_extra={"format": "date-time"})] | None = Field(
        None, description="When it loaded that document."
    )
    error: Annotated[str, Field(max_length=4096)] | None = Field(
        None, description="Why it did not load the newest document."
    )


class ProfileStatus(Model):
    """Status of a SchedulerProfile."""

    observed_generation: Int64 | None = Field(None, description="The generation that this status describes.")
    conditions: Conditions | None = Field(
        None,
        description="Ready; Redundant; Reconciling, Stalled, PluginsFailing, ExtendersFailing while they are true.",
    )
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
        None, description="Differences of the plugins from the defaults, in one line."
    )
    warnings: Annotated[list[ProfileWarning], Field(max_length=64, json_schema_extra=ATOMIC)] | None = Field(
        None, description="Findings: the profile is valid, but may not have the intended effect. Without notes."
    )
    warning_count: Int32 | None = Field(None, description="Number of warnings.")
    config_map: Annotated[str, Field(max_length=253)] | None = Field(
        None, description="The ConfigMap, in the operator's namespace, that holds the rendered document."
    )
    config_hash: Annotated[str, Field(max_length=64)] | None = Field(
        None, description="SHA-256 of the rendered document."
    )
    members: Annotated[list[Member], Field(max_length=64, json_schema_extra=list_map("name"))] | None = Field(
        None, description="The running scheduler processes, and the document that each uses."
    )
    leader: Annotated[str, Field(max_length=253)] | None = Field(
        None, description="The pod of the process that schedules."
    )
    replicas: Int32 | None = Field(None, description="Number of scheduler processes.")
    ready_replicas: Int32 | None = Field(None, description="Number of ready scheduler processes.")
    selector: Annotated[str, Field(max_length=1024)] | None = Field(
        None, description="The label selector of the scheduler's pods."
    )


class PluginConfigStatus(Model):
    """Status of a PluginConfig."""

    observed_generation: Int64 | None = Field(None, description="The generation that this status describes.")
    conditions: Conditions | None = Field(None, description="Ready; Stalled only while it is true.")
    used_by: (
        Annotated[
            list[Annotated[str, Field(max_length=253)]],
            Field(max_length=1024, json_schema_extra={"x-kubernetes-list-type": "set"}),
        ]
        | None
    ) = Field(None, description="The profiles that refer to it.")
