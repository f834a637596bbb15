"""Declarations of plugins: hooks, arguments, permissions, watches and events, as data.

The operator, the config loader and the framework all read them. None of them needs the plugin's code for that:
permissions, watches and validation follow from the declaration alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntFlag
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

HOOK_POINTS: Mapping[str, str] = MappingProxyType(
    {
        "pre_enqueue": "preEnqueue",
        "sort_key": "queueSort",
        "pre_filter": "preFilter",
        "add_pod": "preFilter",
        "remove_pod": "preFilter",
        "filter": "filter",
        "filter_row": "filter",
        "post_filter": "postFilter",
        "pre_score": "preScore",
        "score": "score",
        "score_row": "score",
        "normalize_score": "score",
        "reserve": "reserve",
        "unreserve": "reserve",
        "permit": "permit",
        "pre_bind_flight": "preBind",
        "pre_bind": "preBind",
        "bind": "bind",
        "post_bind": "postBind",
    }
)
"""The extension point, as a KubeSchedulerConfiguration names it, that enables each hook."""

UNPOINTED_HOOKS = ("hint", "signature")
"""Hooks that run for every enabled plugin that has them, at whichever point it is enabled."""


class Action(IntFlag):
    """A change of an object: upstream's action types (kube-scheduler/framework ActionType), combined with ``|``."""

    ADD = 1
    DELETE = 2
    UPDATE_NODE_ALLOCATABLE = 4
    """The resources that a node offers to pods changed."""
    UPDATE_NODE_LABEL = 8
    UPDATE_NODE_TAINT = 16
    """A node's taints or its ``spec.unschedulable`` changed."""
    UPDATE_NODE_CONDITION = 32
    UPDATE_NODE_ANNOTATION = 64
    UPDATE_NODE_DECLARED_FEATURE = 128
    UPDATE_POD_LABEL = 256
    UPDATE_POD_SCALE_DOWN = 512
    """Some request of a pod became smaller."""
    UPDATE_POD_TOLERATION = 1024
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 2048
    """The last scheduling gate of a pod was removed."""
    UPDATE_POD_GENERATED_RESOURCE_CLAIM = 4096
    UPDATE = 8188
    """Any change of an object of any kind."""
    ALL = 8191

    def parts(self) -> list[Action]:
        """Return the fewest named actions that together are this one: UPDATE in the place of each kind of update."""
        parts, rest = list[Action](), self
        for action in sorted(Action.__members__.values(), key=lambda action: action.value.bit_count(), reverse=True):
            if action in rest:
                parts.append(action)
                rest &= ~action
        return sorted(parts, key=lambda part: part.value & -part.value)

    @property
    def word(self) -> str:
        """The name of a single action in documents, such as ``UpdateNodeLabel``."""
        return "".join(word.capitalize() for word in str(self.name).split("_"))


@dataclass(frozen=True, slots=True)
class ClusterEvent:
    """A kind of change that may make a pod schedulable which the plugin rejected.

    ``resource`` is ``Pod``, ``Node``, ``storage.k8s.io/CSINode`` and so on, or ``*`` for every kind.
    """

    resource: str
    actions: Action

    def covers(self, resource: str, action: Action) -> bool:
        """Return True if this registration is about ``action`` on ``resource``.

        A change for which there is no action of its own is reported as ``UPDATE``, and concerns only those who
        registered for all updates.
        """
        common = self.actions & action
        matches = common == action if action == Action.UPDATE else bool(common)
        return matches and self.resource in (resource, "*")


@dataclass(frozen=True, slots=True)
class Rule:
    """One RBAC rule. With an empty ``namespace`` it holds in the whole cluster."""

    api_groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    resource_names: tuple[str, ...] = ()
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Watch:
    """Objects that the plugin reads through its handle; the permission to watch them follows from it."""

    api_version: str
    kind: str
    namespace: str = ""
    name: str = ""

    @property
    def group(self) -> str:
        """The API group, empty for the core one."""
        return self.api_version.rpartition("/")[0]

    @property
    def resource(self) -> str:
        """The plural name of the kind's resource, by the rule that Kubernetes' own kinds follow."""
        name = self.kind.lower()
        if name.endswith("y"):
            return f"{name[:-1]}ies"
        return name if name == "endpoints" else f"{name}es" if name.endswith("s") else f"{name}s"

    @property
    def event_resource(self) -> str:
        """The name of the kind in a ``ClusterEvent``: ``Service``, ``apps/ReplicaSet``."""
        return f"{self.group}/{self.kind}" if self.group else self.kind

    @property
    def rule(self) -> Rule:
        """The permission to list and watch the objects; a single one is never read."""
        names = (self.name,) if self.name else ()
        return Rule((self.group,), (self.resource,), ("list", "watch"), names, self.namespace)


class PluginArgs(BaseModel):
    """The arguments of a plugin as a person writes them: camelCase, unknown fields refused, never changed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)


Rules = tuple[Rule, ...] | Callable[[PluginArgs | None], tuple[Rule, ...]]
Watches = tuple[Watch, ...] | Callable[[PluginArgs | None], tuple[Watch, ...]]
"""Fixed, or a function of the arguments. For ``None`` it returns what the most demanding arguments need."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """Everything that is known about a plugin without running it.

    Raises ValueError for a hook that does not exist.
    """

    name: str
    hooks: tuple[str, ...]
    args: type[PluginArgs] | None = None
    rules: Rules = ()
    """Permissions beyond those that follow from ``watches``."""
    watches: Watches = ()
    events: tuple[ClusterEvent, ...] = ()
    group_points: tuple[str, ...] = ()
    """Extension points for groups of pods, which only plugins of a kube-scheduler have: no hook runs there."""
    python_only: bool = False
    """True for a plugin that is known to be a class in Python, which no kube-scheduler can have."""

    def __post_init__(self) -> None:
        for hook in self.hooks:
            if hook not in HOOK_POINTS and hook not in UNPOINTED_HOOKS:
                hooks = ", ".join((*HOOK_POINTS, *UNPOINTED_HOOKS))
                raise ValueError(f"{self.name}: {hook} is not a hook; the hooks are {hooks}")

    @property
    def points(self) -> frozenset[str]:
        """The extension points at which the plugin can be enabled."""
        return frozenset((*(HOOK_POINTS[hook] for hook in self.hooks if hook in HOOK_POINTS), *self.group_points))

    def rules_for(self, args: PluginArgs | None = None) -> tuple[Rule, ...]:
        """Return the permissions that the plugin needs with these ``args``, those of its watches included.

        Without ``args`` they are enough for any arguments.
        """
        rules = self.rules(args) if callable(self.rules) else self.rules
        return (*rules, *(watch.rule for watch in self.watches_for(args)))

    def watches_for(self, args: PluginArgs | None = None) -> tuple[Watch, ...]:
        """Return the objects that the plugin reads with these ``args``; without ``args`` those it may read with any."""
        return self.watches(args) if callable(self.watches) else self.watches
