"""The state of all nodes as columns. Updated in place for the rows that change; read-only for plugins."""

from scheduler_runtime.state.table.affinity_terms import HeldTerm, PodTerm, PodTerms, TermKind, Terms, terms_of
from scheduler_runtime.state.table.columns import Ints, LabelColumn, Mask, wrapped
from scheduler_runtime.state.table.images import Image
from scheduler_runtime.state.table.node_table import NodeTable
from scheduler_runtime.state.table.pod_counts import MatchCounts, PodSelection
from scheduler_runtime.state.table.pod_selectors import (
    PodSelector,
    Requirement,
    Requirements,
    SelectorError,
    hold,
    requirements_of,
)
from scheduler_runtime.state.table.ports import EVERY_ADDRESS, HostPort, host_ports
from scheduler_runtime.state.table.table import Table, offered_by

__all__ = [
    "EVERY_ADDRESS",
    "HeldTerm",
    "HostPort",
    "Image",
    "Ints",
    "LabelColumn",
    "Mask",
    "MatchCounts",
    "NodeTable",
    "PodSelection",
    "PodSelector",
    "PodTerm",
    "PodTerms",
    "Requirement",
    "Requirements",
    "SelectorError",
    "Table",
    "TermKind",
    "Terms",
    "hold",
    "host_ports",
    "offered_by",
    "requirements_of",
    "terms_of",
    "wrapped",
]
