"""The plugin contract: what a plugin is given, what it may answer, and what each answer causes.

A plugin decides over all nodes at once. Every array it sees or returns has one row per node, in the table's order;
the framework owns which rows are still in play, and ignores what is said about the others.
"""

from scheduler_runtime.api.answers import (
    ALLOW,
    CLEAR,
    MAX_SCORE,
    PARALLEL,
    QUEUE,
    SERIAL,
    SKIP,
    Answer,
    Consult,
    Consulted,
    Cycle,
    Event,
    Nomination,
    QueueEntry,
    Reject,
    Restrict,
    Scores,
    Verdicts,
    Victims,
    Wait,
)
from scheduler_runtime.api.class_checks import flaws_of
from scheduler_runtime.api.contract import Plugin, declaration_of, hooks_of
from scheduler_runtime.api.handle import Binds, Handle, NodesWhatIf, NodeWhatIf, Preemptions, WaitingPod
from scheduler_runtime.api.node_plugin import NodePlugin
from scheduler_runtime.api.normalizers import highest_is_best, keeps_equal, lowest_is_best, share_of_the_largest
from scheduler_runtime.catalog import Action, ClusterEvent, Declaration, PluginArgs, Rule, Watch
from scheduler_runtime.state.objects import Node, Pod, QuantityError, Requests, Taint, Toleration
from scheduler_runtime.state.table import Ints, LabelColumn, Mask, NodeTable

__all__ = [
    "ALLOW",
    "CLEAR",
    "MAX_SCORE",
    "PARALLEL",
    "QUEUE",
    "SERIAL",
    "SKIP",
    "Action",
    "Answer",
    "Binds",
    "ClusterEvent",
    "Consult",
    "Consulted",
    "Cycle",
    "Declaration",
    "Event",
    "Handle",
    "Ints",
    "LabelColumn",
    "Mask",
    "Node",
    "NodePlugin",
    "NodeTable",
    "NodeWhatIf",
    "NodesWhatIf",
    "Nomination",
    "Plugin",
    "PluginArgs",
    "Pod",
    "Preemptions",
    "QuantityError",
    "QueueEntry",
    "Reject",
    "Requests",
    "Restrict",
    "Rule",
    "Scores",
    "Taint",
    "Toleration",
    "Verdicts",
    "Victims",
    "Wait",
    "WaitingPod",
    "Watch",
    "declaration_of",
    "flaws_of",
    "highest_is_best",
    "hooks_of",
    "keeps_equal",
    "lowest_is_best",
    "share_of_the_largest",
]
