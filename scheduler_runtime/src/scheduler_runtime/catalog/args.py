"""The arguments of the in-tree plugins: fields, defaults and rules of KubeSchedulerConfiguration v1.

The rules are those of upstream's apis/config/validation. Some depend on the version and its feature gates: these find
the target in the validation context, and are not applied without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

from scheduler_runtime.catalog.declaration import PluginArgs
from scheduler_runtime.catalog.syntax import (
    Duration,
    DurationField,
    Location,
    check_qualified_name,
    field_problem,
    is_qualified_name,
    label_problem,
    refuse,
)
from scheduler_runtime.catalog.target import Target

Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
QualifiedName = Annotated[str, AfterValidator(check_qualified_name)]


def target_of(info: ValidationInfo) -> Target | None:
    """Return the kube-scheduler for which the arguments are checked; None when that is not known yet."""
    target = (info.context or {}).get("target")
    return target if isinstance(target, Target) else None


class _Deferred(PluginArgs):
    """Arguments whose checks pydantic builds at their first use: that takes long, and most commands use few of them."""

    model_config = ConfigDict(defer_build=True)


class ResourceSpec(_Deferred):
    """A resource and its weight. Weight 0 counts as the default, 1."""

    name: str = ""
    weight: Annotated[int, AfterValidator(lambda weight: weight or 1), Field(ge=1, le=100)] = 1


_CPU_AND_MEMORY = (ResourceSpec.model_construct(name="cpu"), ResourceSpec.model_construct(name="memory"))


class UtilizationShapePoint(_Deferred):
    """At this utilization, in percent, a resource scores this much, from 0 to 10."""

    utilization: Annotated[int, Field(ge=0, le=100)] = 0
    score: Annotated[int, Field(ge=0, le=10)] = 0


def _check_that_it_increases(shape: tuple[UtilizationShapePoint, ...]) -> tuple[UtilizationShapePoint, ...]:
    """Refuse a point that is not to the right of the one before. As upstream, only the first such point is reported."""
    for index in range(1, len(shape)):
        before, here = shape[index - 1].utilization, shape[index].utilization
        if here <= before:
            message = f"{here} is not greater than {before} before it; utilization values must increase"
            refuse([((index, "utilization"), message)])
    return shape


Shape = Annotated[tuple[UtilizationShapePoint, ...], AfterValidator(_check_that_it_increases)]


class RequestedToCapacityRatioParam(_Deferred):
    """The function from utilization to score."""

    shape: Shape

    @field_validator("shape")
    @classmethod
    def _not_empty(cls, shape: tuple[UtilizationShapePoint, ...]) -> tuple[UtilizationShapePoint, ...]:
        """Refuse a function without points, which VolumeBinding may have and NodeResourcesFit may not."""
        if not shape:
            refuse([((), "must not be empty")])
        return shape


class ScoringStrategy(_Deferred):
    """The way in which NodeResourcesFit scores, and the resources that count."""

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"]
    resources: tuple[ResourceSpec, ...] = _CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None

    @field_validator("resources")
    @classmethod
    def _default_resources(cls, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
        """Read an empty list as the default one."""
        return resources or _CPU_AND_MEMORY

    @model_validator(mode="after")
    def _ratio_with_its_type(self, info: ValidationInfo) -> ScoringStrategy:
        """Require requestedToCapacityRatio for the type of that name, and refuse it for the others."""
        target = target_of(info)
        ratio = self.type == "RequestedToCapacityRatio"
        at: Location = ("requestedToCapacityRatio",)
        if ratio and self.requested_to_capacity_ratio is None:
            refuse([(at, "is required when type is RequestedToCapacityRatio")])
        unused = self.requested_to_capacity_ratio is not None and not ratio
        if unused and (target is None or target.version.at_least("1.36")):  # 1.35 ignores it
            refuse([(at, f"must be left out when type is {self.type}")])
        return self


class NodeResourcesFitArgs(_Deferred):
    """Arguments of NodeResourcesFit."""

    ignored_resources: tuple[QualifiedName, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy.model_construct(type="LeastAllocated")

    @field_validator("ignored_resource_groups")
    @classmethod
    def _groups_are_prefixes(cls, groups: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse a whole resource name, such as example.com/gpu: a group is the part before the slash."""
        refuse(
            ((index,), f"{group!r} is not a resource group: the part before the '/', such as example.com")
            for index, group in enumerate(groups)
            if "/" in group or not is_qualified_name(group)
        )
        return groups


class NodeResourcesBalancedAllocationArgs(_Deferred):
    """Arguments of NodeResourcesBalancedAllocation."""

    resources: tuple[ResourceSpec, ...] = _CPU_AND_MEMORY

    @field_validator("resources")
    @classmethod
    def _distinct_and_unweighted(cls, resources: tuple[ResourceSpec, ...]) -> tuple[ResourceSpec, ...]:
        """Refuse names that are there twice and weights other than 1; read an empty list as the default one."""
        problems: list[tuple[Location, str]] = []
        names = [resource.name for resource in resources]
        for index, resource in enumerate(resources):
            if resource.name in names[:index]:
                problems.append(((index, "name"), f"{resource.name!r} is named twice"))
            if resource.weight != 1:
                problems.append(((index, "weight"), f"{resource.weight} must be 1: balance knows no weights"))
        refuse(problems)
        return resources or _CPU_AND_MEMORY


class NodeSelectorRequirement(_Deferred):
    """One condition on a label, or on the field metadata.name."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(_Deferred):
    """Conditions that must all hold. A term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()

    def problems(self) -> Iterator[tuple[Location, str]]:
        """Yield the problems of the conditions, each with its place in the term."""
        yield from _all_problems("matchExpressions", self.match_expressions, label_problem)
        yield from _all_problems("matchFields", self.match_fields, field_problem)


def _all_problems(
    name: str,
    requirements: Sequence[NodeSelectorRequirement],
    check: Callable[[str, str, Sequence[str]], tuple[Location, str] | None],
) -> Iterator[tuple[Location, str]]:
    """Yield the problem that ``check`` returns for each of the ``requirements`` in the field ``name``."""
    for index, requirement in enumerate(requirements):
        problem = check(requirement.key, requirement.operator, requirement.values)
        if problem is not None:
            location, message = problem
            yield (name, index, *location), message


class NodeSelector(_Deferred):
    """Terms of which one must match."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()

    @model_validator(mode="after")
    def _well_formed(self) -> NodeSelector:
        """Refuse conditions that the API server would refuse in a pod."""
        refuse(
            (("nodeSelectorTerms", index, *at), message)
            for index, term in enumerate(self.node_selector_terms)
            for at, message in term.problems()
        )
        return self


class PreferredSchedulingTerm(_Deferred):
    """A term and the points a matching node gets. With weight 0 nobody looks at the term."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm.model_construct()

    @model_validator(mode="after")
    def _well_formed(self) -> PreferredSchedulingTerm:
        """Refuse conditions as in a required term. Upstream passes a term of weight 0 over before it looks at them."""
        if self.weight:
            refuse((("preference", *at), message) for at, message in self.preference.problems())
        return self


class NodeAffinity(_Deferred):
    """Node affinity as in a pod's spec."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class NodeAffinityArgs(_Deferred):
    """Arguments of NodeAffinity."""

    added_affinity: NodeAffinity | None = None


class DefaultPreemptionArgs(_Deferred):
    """Arguments of DefaultPreemption."""

    min_candidate_nodes_percentage: Annotated[int, Field(ge=0, le=100)] = 10
    min_candidate_nodes_absolute: Annotated[int, Field(ge=0, le=2**31 - 1)] = 100

    @model_validator(mode="after")
    def _some_candidates(self) -> DefaultPreemptionArgs:
        """Refuse both minimums at 0, with which preemption would never try a node."""
        if self.min_candidate_nodes_percentage == 0 and self.min_candidate_nodes_absolute == 0:
            refuse(
                [(("minCandidateNodesPercentage",), "0 leaves no candidate while minCandidateNodesAbsolute is 0 too")]
            )
        return self


class InterPodAffinityArgs(_Deferred):
    """Arguments of InterPodAffinity."""

    hard_pod_affinity_weight: Annotated[int, Field(ge=0, le=100)] = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class TopologySpreadConstraint(_Deferred):
    """A default constraint. Its selector is deduced for each pod."""

    max_skew: Annotated[int, Field(ge=1, le=2**31 - 1)]
    topology_key: QualifiedName
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()
    label_selector: Any = None

    @field_validator("label_selector")
    @classmethod
    def _deduced(cls, selector: Any) -> None:
        """Refuse a selector: a default constraint gets that of the services and controllers of each pod."""
        if selector is not None:
            refuse([((), "must be left out: each pod's own labels select the pods to count")])


class PodTopologySpreadArgs(_Deferred):
    """Arguments of PodTopologySpread."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: Annotated[
        Literal["System", "List"], BeforeValidator(lambda kind: "System" if kind == "" else kind)
    ] = "System"

    @model_validator(mode="after")
    def _consistent(self) -> PodTopologySpreadArgs:
        """Refuse constraints beside the System's own, and two for the same topologyKey and whenUnsatisfiable."""
        problems: list[tuple[Location, str]] = []
        if self.defaulting_type == "System" and self.default_constraints:
            problems.append((("defaultingType",), "System excludes defaultConstraints; use List to give your own"))
        pairs: set[tuple[str, str]] = set()
        for index, constraint in enumerate(self.default_constraints):
            pair = (constraint.topology_key, constraint.when_unsatisfiable)
            if pair in pairs:
                message = f"{{{pair[0]}, {pair[1]}}} is constrained twice"
                problems.append((("defaultConstraints", index), message))
            pairs.add(pair)
        refuse(problems)
        return self


class VolumeBindingArgs(_Deferred):
    """Arguments of VolumeBinding. The shape exists while the feature gate StorageCapacityScoring is on."""

    bind_timeout_seconds: Annotated[int, Field(ge=0, le=2**63 - 1)] = 600
    shape: Shape | None = None

    @field_validator("shape")
    @classmethod
    def _gated(cls, shape: tuple[UtilizationShapePoint, ...] | None, info: ValidationInfo) -> Any:
        """Refuse a shape while its feature gate is off. Without a target, nothing is known about gates."""
        target = target_of(info)
        if shape is not None and target is not None and not target.enabled("StorageCapacityScoring"):
            refuse([((), f"needs the feature gate StorageCapacityScoring, which is off; {target} takes no shape")])
        return shape


class DynamicResourcesArgs(_Deferred):
    """Arguments of DynamicResources. Each exists while its feature gates are on."""

    filter_timeout: DurationField | None = None
    binding_timeout: DurationField | None = None

    @field_validator("filter_timeout", "binding_timeout")
    @classmethod
    def _gated(cls, timeout: Duration | None, info: ValidationInfo) -> Duration | None:
        """Refuse a time-out while one of its feature gates is off, and one that is too short."""
        if timeout is None:
            return None
        gates, shortest = _TIMEOUTS[str(info.field_name)]
        target = target_of(info)
        off = [gate for gate in gates if target is not None and not target.enabled(gate)]
        if off:
            refuse([((), f"needs the feature gate {' and '.join(off)}, which is off")])
        if timeout.seconds < shortest:
            refuse([((), f"{timeout} is too short; it must be at least {shortest}s")])
        return timeout


_TIMEOUTS = {
    "filter_timeout": (("DRASchedulerFilterTimeout",), 0),
    "binding_timeout": (("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"), 1),
}
"""The gates of each time-out, all of which have to be on, and its least number of seconds."""
_GATED_DEFAULTS: Mapping[str, tuple[tuple[str, ...], Any]] = {
    "filter_timeout": (_TIMEOUTS["filter_timeout"][0], Duration("10s")),
    "binding_timeout": (_TIMEOUTS["binding_timeout"][0], Duration("10m0s")),
    "shape": (
        ("StorageCapacityScoring",),
        (
            UtilizationShapePoint.model_construct(utilization=0, score=10),
            UtilizationShapePoint.model_construct(utilization=100, score=0),
        ),
    ),
}
"""The gates of each field with a default of its own, all of which have to be on, and that default."""


def with_gated_defaults(args: Mapping[str, PluginArgs], target: Target) -> dict[str, PluginArgs]:
    """Return ``args``, by plugin, with the defaults that exist only while a feature gate of ``target`` is on.

    Models cannot have these defaults, because a model does not know the target when it is built without checks.
    """
    enabled = {name: value for name, (gates, value) in _GATED_DEFAULTS.items() if all(map(target.enabled, gates))}
    complete = dict(args)
    for plugin, own in args.items():
        fields = type(own).model_fields
        missing = {name: value for name, value in enabled.items() if name in fields and not getattr(own, name)}
        if missing:
            complete[plugin] = own.model_copy(update=missing)
    return complete


IN_TREE_ARGS: Mapping[str, type[PluginArgs]] = MappingProxyType(
    {
        "DefaultPreemption": DefaultPreemptionArgs,
        "DynamicResources": DynamicResourcesArgs,
        "InterPodAffinity": InterPodAffinityArgs,
        "NodeAffinity": NodeAffinityArgs,
        "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
        "NodeResourcesFit": NodeResourcesFitArgs,
        "PodTopologySpread": PodTopologySpreadArgs,
        "VolumeBinding": VolumeBindingArgs,
    }
)
"""Every in-tree plugin that takes arguments. The others take none."""
