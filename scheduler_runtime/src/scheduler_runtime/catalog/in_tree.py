"""The declarations of the plugins of this build; their code is in ``scheduler_runtime.plugins``.

A declaration names the hooks of a plugin, the permissions and watches that it needs, and the events after which a pod
that it rejected is tried again: upstream's EventsToRegister.
"""

from __future__ import annotations

from scheduler_runtime.catalog.args import IN_TREE_ARGS, PodTopologySpreadArgs
from scheduler_runtime.catalog.declaration import Action, ClusterEvent, Declaration, PluginArgs, Rule, Watch

_NODE_OR_TAINT = ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_TAINT)
_TOLERATION = ClusterEvent("Pod", Action.UPDATE_POD_TOLERATION)
_HOOKS_OF_POD_COUNTERS = (
    *("pre_filter", "filter", "filter_row", "add_pod", "remove_pod"),
    *("pre_score", "score", "normalize_score", "hint"),
)

SERVICES = Watch("v1", "Service")
CONTROLLERS = Watch("v1", "ReplicationController")
REPLICA_SETS = Watch("apps/v1", "ReplicaSet")
STATEFUL_SETS = Watch("apps/v1", "StatefulSet")


def _selecting_objects(args: PluginArgs | None) -> tuple[Watch, ...]:
    """Return the objects whose selectors default constraints use; none in a profile without default constraints."""
    if isinstance(args, PodTopologySpreadArgs) and args.defaulting_type == "List" and not args.default_constraints:
        return ()
    return SERVICES, CONTROLLERS, REPLICA_SETS, STATEFUL_SETS


DECLARATIONS: tuple[Declaration, ...] = (
    Declaration(
        name="SchedulingGates",
        hooks=("pre_enqueue", "hint"),
        events=(ClusterEvent("Pod", Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),),
    ),
    Declaration(name="PrioritySort", hooks=("sort_key",)),
    Declaration(
        name="NodeUnschedulable",
        hooks=("filter", "filter_row", "hint", "signature"),
        events=(_NODE_OR_TAINT, _TOLERATION),
    ),
    Declaration(
        name="NodeName",
        hooks=("filter", "filter_row", "signature"),
        events=(ClusterEvent("Node", Action.ADD),),
    ),
    Declaration(
        name="TaintToleration",
        hooks=("filter", "filter_row", "pre_score", "score", "score_row", "normalize_score", "hint", "signature"),
        events=(_NODE_OR_TAINT, _TOLERATION),
    ),
    Declaration(
        name="NodeAffinity",
        hooks=(
            "pre_filter",
            "filter",
            "filter_row",
            "pre_score",
            "score",
            "score_row",
            "normalize_score",
            "hint",
            "signature",
        ),
        args=IN_TREE_ARGS["NodeAffinity"],
        events=(ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),),
    ),
    Declaration(
        name="NodePorts",
        hooks=("pre_filter", "filter", "filter_row", "hint", "signature"),
        events=(ClusterEvent("Pod", Action.DELETE), ClusterEvent("Node", Action.ADD)),
    ),
    Declaration(
        name="NodeResourcesFit",
        hooks=("pre_filter", "filter", "filter_row", "pre_score", "score", "score_row", "hint", "signature"),
        args=IN_TREE_ARGS["NodeResourcesFit"],
        events=(
            ClusterEvent("Pod", Action.DELETE | Action.UPDATE_POD_SCALE_DOWN),
            ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),
        ),
    ),
    Declaration(
        name="PodTopologySpread",
        hooks=_HOOKS_OF_POD_COUNTERS,
        args=IN_TREE_ARGS["PodTopologySpread"],
        watches=_selecting_objects,
        events=(
            ClusterEvent("Pod", Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION),
            ClusterEvent("Node", Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT),
        ),
    ),
    Declaration(
        name="InterPodAffinity",
        hooks=_HOOKS_OF_POD_COUNTERS,
        args=IN_TREE_ARGS["InterPodAffinity"],
        watches=(Watch("v1", "Namespace"),),
        events=(
            ClusterEvent("Pod", Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL),
            ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),
        ),
    ),
    Declaration(
        name="NodeResourcesBalancedAllocation",
        hooks=("pre_score", "score", "score_row", "signature"),
        args=IN_TREE_ARGS["NodeResourcesBalancedAllocation"],
    ),
    Declaration(
        name="DefaultPreemption",
        hooks=("pre_enqueue", "post_filter", "hint"),
        args=IN_TREE_ARGS["DefaultPreemption"],
        rules=(Rule(api_groups=("",), resources=("pods",), verbs=("delete",)),),
        watches=(Watch("policy/v1", "PodDisruptionBudget"),),
        events=(ClusterEvent("Pod", Action.DELETE),),
    ),
    Declaration(name="ImageLocality", hooks=("score", "signature")),
    Declaration(
        name="DefaultBinder",
        hooks=("bind",),
        rules=(Rule(api_groups=("",), resources=("pods/binding",), verbs=("create",)),),
    ),
    Declaration(
        name="NodeDeclaredFeatures",
        hooks=("pre_filter", "filter", "filter_row", "hint", "signature"),
        events=(
            ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_DECLARED_FEATURE),
            ClusterEvent("Pod", Action.UPDATE),
        ),
    ),
)
