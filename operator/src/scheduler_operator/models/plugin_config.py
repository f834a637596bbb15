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
                "write out apiGroups, resources and verbs: the operator has no wildcard permission that it could grant",
            )
        )
    )

    api_groups: RuleTexts = Field(description='The API groups of the resources; "" is the core group.')
    resources: RuleTexts = Field(description="The resources, in the plural.")
    verbs: RuleTexts = Field(description="The allowed verbs.")
    resource_names: Annotated[list[RuleText], Field(max_length=64, json_schema_extra=ATOMIC)] | None = Field(
        None, description="The only objects that the rule applies to. Default: every object."
    )
    namespace: ObjectName | None = Field(
        None,
        description="The namespace of the rule; only the operator's own is possible. Default: the whole cluster.",
    )


class DeclaredEvent(Model):
    """A change after which a pod that the plugin rejected is tried again."""

    resource: Annotated[str, Field(min_length=1, max_length=253)] = Field(
        description="The kind that changes, such as Node, Pod or storage.k8s.io/CSINode; * for every kind."
    )
    actions: Annotated[
        list[EventAction],
        Field(min_length=1, max_length=16, json_schema_extra={"x-kubernetes-list-type": "set"}),
    ] = Field(description="The kinds of change.")


class Declares(Model):
    """Declaration of a plugin: enough to check, expand and authorize it without its code."""

    hooks: Annotated[
        list[Hook], Field(min_length=1, max_length=32, json_schema_extra={"x-kubernetes-list-type": "set"})
    ] = Field(description="What the plugin implements: its extension points and hooks.")
    args_schema: AnyObject | None = Field(
        None, description="The JSON schema of its arguments, of type object. Absent: the plugin takes no arguments."
    )
    rules: Annotated[list[DeclaredRule], Field(max_length=64, json_schema_extra=ATOMIC)] | None = Field(
        None, description="The permissions of the plugin."
    )
    events: Annotated[list[DeclaredEvent], Field(max_length=64, json_schema_extra=list_map("resource"))] | None = Field(
        None, description="The changes after which a pod that it rejected is tried again."
    )


class ConfigMapSource(Model):
    """Code in a ConfigMap of the operator's namespace."""

    name: ObjectName = Field(description="The ConfigMap's name.")
    key: Annotated[str, Field(min_length=1, max_length=253, pattern=r"^[-._a-zA-Z0-9]+\.py$")] = Field(
        description="The key of the code, a Python file's name."
    )
    sha256: Annotated[str, Field(max_length=64, pattern=r"^[0-9a-f]{64}$")] = Field(
        description="SHA-256 of the code: other code does not run."
    )


class PluginSource(Model):
    """The place of the plugin's code, if it is not in the scheduler's image."""

    config_map: ConfigMapSource = Field(description="A ConfigMap in the operator's namespace.")


class PluginConfigSpec(Model):
    """The arguments of one plugin, and its declaration if berth does not know it."""

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
        None, description="The plugin's declaration; only for plugins that berth does not know."
    )
    source: PluginSource | None = Field(
        None, description="The place of the plugin's code. Absent: in the scheduler's image."
    )
