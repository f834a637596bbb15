"""Spec of a PluginConfig: arguments of a plugin for several profiles, and declarations of out-of-tree plugins."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from scheduler_operator.models.fields import ATOMIC, AnyObject, Model, ObjectName, PluginName, cel, list_map, rules

Hook = Literal[
    "preEnqueue",
    "queueSort",
    "preFilter",
    "addPod",
    "removePod",
    "filter",
    "filterRow",
    "postFilter",
    "preScore",
    "score",
    "scoreRow",
    "normalizeScore",
    "reserve",
    "unreserve",
    "permit",
    "preBindFlight",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
    "podGroupPostFilter",
    "hint",
    "signature",
]
"""What a plugin can do: the extension points in upstream's words, and berth's own hooks beside them."""

EventAction = Literal[
    "Add",
    "Delete",
    "Update",
    "UpdateNodeAllocatable",
    "UpdateNodeLabel",
    "UpdateNodeTaint",
    "UpdateNodeCondition",
    "UpdateNodeAnnotation",
    "UpdateNodeDeclaredFeature",
    "UpdatePodLabel",
    "UpdatePodScaleDown",
    "UpdatePodToleration",
    "UpdatePodSchedulingGatesEliminated",
    "UpdatePodGeneratedResourceClaim",
    "All",
]

RuleText = Annotated[str, Field(max_length=253)]
RuleTexts = Annotated[list[RuleText], Field(min_length=1, max_length=16, json_schema_extra=ATOMIC)]


class DeclaredRule(Model):
    """One permission, as a rule of a role."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            cel(
                "!('*' in self.apiGroups) && !('*' in self.resources) && !('*' in self.verbs)",
                "write out apiGroups, resources and verbs: the operator holds no wildcard that it could pass on",
            )
        )
    )

    api_groups: RuleTexts = Field(description='The API groups of the resources; "" is the core.')
    resources: RuleTexts = Field(description="The resources, in the plural.")
    verbs: RuleTexts = Field(description="What may be done with them.")
    resource_names: Annotated[list[RuleText], Field(max_length=64, json_schema_extra=ATOMIC)] | None = Field(
        None, description="The only objects for which it holds. Default: every object."
    )
    namespace: ObjectName | None = Field(
        None,
        description="The namespace in which it holds; only the operator's own is possible. Default: the whole cluster.",
    )


class DeclaredEvent(Model):
    """A change that may make a pod schedulable which the plugin rejected."""

    resource: Annotated[str, Field(min_length=1, max_length=253)] = Field(
        description="The kind that changes, such as Node, Pod or storage.k8s.io/CSINode; * for every kind."
    )
    actions: Annotated[
        list[EventAction],
        Field(min_length=1, max_length=16, json_schema_extra={"x-kubernetes-list-type": "set"}),
    ] = Field(description="What happens to it.")


class Declares(Model):
    """What a plugin says about itself: enough to check, expand and permit it without its code."""

    hooks: Annotated[
        list[Hook], Field(min_length=1, max_length=32, json_schema_extra={"x-kubernetes-list-type": "set"})
    ] = Field(description="What the plugin implements: its extension points and hooks.")
    args_schema: AnyObject | None = Field(
        None, description="The JSON schema of its arguments, of type object. Absent: the plugin takes no arguments."
    )
    rules: Annotated[list[DeclaredRule], Field(max_length=64, json_schema_extra=ATOMIC)] | None = Field(
        None, description="The permissions that it needs."
    )
    events: Annotated[list[DeclaredEvent], Field(max_length=64, json_schema_extra=list_map("resource"))] | None = Field(
        None, description="The changes that may make a pod schedulable which it rejected."
    )


class ConfigMapSource(Model):
    """Code in a ConfigMap of the operator's namespace."""

    name: ObjectName = Field(description="The ConfigMap's name.")
    key: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+\.py$")] = Field(
        description="The key that holds the code, a Python file's name."
    )
    sha256: Annotated[str, Field(max_length=64, pattern=r"^[0-9a-f]{64}$")] = Field(
        description="SHA-256 of the code: other code is not run."
    )


class PluginSource(Model):
    """Where the plugin's code is when the scheduler's image does not carry it."""

    config_map: ConfigMapSource = Field(description="A ConfigMap in the operator's namespace.")


class PluginConfigSpec(Model):
    """The arguments of one plugin, and what it declares when berth does not know it."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            cel(
                "!has(self.source) || has(self.declares)",
                "a plugin with a source needs declares, because the operator runs no plugin: "
                "berth plugins --declare FILE prints it",
                fieldPath=".declares",
            )
        )
    )

    plugin: PluginName = Field(description="The plugin whose arguments these are.")
    args: AnyObject | None = Field(None, description="The arguments, as the plugin documents them.")
    declares: Declares | None = Field(
        None, description="What the plugin declares; only for plugins that berth does not know by itself."
    )
    source: PluginSource | None = Field(
        None, description="Where the plugin's code is. Absent: the scheduler's image carries it."
    )
