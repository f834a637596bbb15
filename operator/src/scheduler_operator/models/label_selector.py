"""Label selectors, tolerations and spread constraints, in Kubernetes' own format."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from scheduler_operator.models.fields import ATOMIC, AnyObject, Int32, Int64, LabelKey, LabelValue, Model, cel, rules

Labels = dict[LabelKey, LabelValue]


class LabelRequirement(Model):
    """One requirement on the labels of an object."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            cel(
                "(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",
                "In and NotIn need values; Exists and DoesNotExist take none",
            )
        )
    )

    key: LabelKey = Field(description="The label's key.")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(
        description="The comparison of the label's value with values."
    )
    values: Annotated[list[LabelValue], Field(max_length=256, json_schema_extra=ATOMIC)] | None = Field(
        None, description="The values that In and NotIn compare with."
    )


class LabelSelector(Model):
    """Labels that an object must have; all requirements must hold."""

    match_labels: Annotated[Labels, Field(max_length=64)] | None = Field(
        None, description="Labels the object must have with exactly these values."
    )
    match_expressions: Annotated[list[LabelRequirement], Field(max_length=64, json_schema_extra=ATOMIC)] | None = Field(
        None, description="Further requirements on the object's labels."
    )


class Toleration(Model):
    """A toleration, as in a pod."""

    key: LabelKey | None = Field(None, description="The taint's key; absent with operator Exists means every taint.")
    operator: Literal["Exists", "Equal", "Gt", "Lt"] | None = Field(
        None, description="How the taint's value is compared. Default: Equal."
    )
    value: LabelValue | None = Field(None, description="The taint's value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        None, description="The taint's effect; absent means every effect."
    )
    toleration_seconds: Int64 | None = Field(
        None, description="How long a NoExecute taint is tolerated. Default: without limit."
    )


class TopologySpreadConstraint(Model):
    """A topologySpreadConstraint, as in a pod."""

    max_skew: Int32 = Field(ge=1, description="Maximum difference of the numbers of pods in two domains.")
    topology_key: LabelKey = Field(description="The node label whose values are the domains.")
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = Field(
        description="What to do with a pod that would exceed maxSkew."
    )
    label_selector: LabelSelector | None = Field(None, description="The pods to count.")
    min_domains: Int32 | None = Field(None, ge=1, description="Minimum number of domains.")
    node_affinity_policy: Literal["Honor", "Ignore"] | None = Field(
        None, description="Whether nodes outside the pod's node affinity count as domains. Default: Honor."
    )
    node_taints_policy: Literal["Honor", "Ignore"] | None = Field(
        None, description="Whether nodes with untolerated taints count as domains. Default: Ignore."
    )
    match_label_keys: Annotated[list[LabelKey], Field(max_length=16, json_schema_extra=ATOMIC)] | None = Field(
        None, description="Keys of pod labels whose values must be equal for a pod to be counted."
    )


Affinity = AnyObject
