"""Spec of a SchedulerProfile, in upstream's format where upstream has one."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from scheduler_operator.models.extender import Extender
from scheduler_operator.models.fields import ATOMIC, DNS_LABEL, Int32, Model, cel, list_map, rules
from scheduler_operator.models.label_selector import LabelSelector
from scheduler_operator.models.override import Override
from scheduler_operator.models.plugins import PluginConfigEntry, Plugins
from scheduler_operator.models.scheduler_spec import SchedulerSpec
from scheduler_operator.resources.names import NAME_LENGTH

Engine = Literal["Python", "KubeScheduler", "ConfigMap"]
ONE_BINDER = cel(
    "self.filter(extender, extender.?bindVerb.orValue('') != '').size() <= 1", "only one extender may have a bindVerb"
)


class ProfileSpec(Model):
    """Specification of the scheduler."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            cel(
                "!(has(self.joins) && has(self.scheduler))",
                "a profile that joins another runs in its process: leave out scheduler",
                fieldPath=".scheduler",
            ),
            cel(
                "!(has(self.joins) && has(self.overrides))",
                "overrides change the document of a process: write them in the profile that is joined",
                fieldPath=".overrides",
            ),
        )
    )

    engine: Engine = Field(
        "Python",
        description="The scheduler: Python is berth's, KubeScheduler is upstream's; ConfigMap only renders the "
        "document, without a scheduler. A profile that joins another has the other's engine.",
    )
    paused: bool | None = Field(
        None, description="Stop reconciling this profile; its scheduler keeps running. Default: false."
    )
    replaces_default_scheduler: bool | None = Field(
        None,
        description="Must be true for a profile named default-scheduler: most clusters have a scheduler of that name.",
    )
    plugins: Plugins | None = Field(
        None, description="Changes to the default plugins, as in a KubeSchedulerConfiguration."
    )
    plugin_config: (
        Annotated[list[PluginConfigEntry], Field(max_length=64, json_schema_extra=list_map("name"))] | None
    ) = Field(None, description="Arguments of plugins.")
    percentage_of_nodes_to_score: Int32 | None = Field(
        None,
        ge=0,
        le=100,
        description="Share of the nodes to evaluate for a pod, in per cent. 0 or absent: every node with engine "
        "Python; fewer in a larger cluster with engine KubeScheduler.",
    )
    nodes: LabelSelector | None = Field(None, description="The only nodes that this profile uses. Default: every node.")
    extenders: Annotated[list[Extender], Field(max_length=16, json_schema_extra=ATOMIC | rules(ONE_BINDER))] | None = (
        Field(None, description="Services that are called over HTTP to filter and score nodes, to preempt or to bind.")
    )
    overrides: Annotated[list[Override], Field(max_length=64, json_schema_extra=ATOMIC)] | None = Field(
        None,
        description="RFC 6902 operations on the rendered document, applied last, for settings without a field.",
    )
    joins: Annotated[str, Field(min_length=1, max_length=NAME_LENGTH, pattern=DNS_LABEL)] | None = Field(
        None, description="The profile whose scheduler process also runs this one. Absent: a process of its own."
    )
    scheduler: SchedulerSpec | None = Field(None, description="The process that runs the profile.")
