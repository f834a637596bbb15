"""All nodes as columns of a table, updated in place for the rows that change, and read-only for plugins."""

from scheduler_runtime.state.objects.quantity import INT64, wrap_int64
from scheduler_runtime.state.table.affinity_terms import (
    AffinityTerm,
    AffinityTerms,
    ExistingTerms,
    TermKind,
    WeightedPods,
    terms_of,
)
from scheduler_runtime.state.table.columns import (
    EVERY_ADDRESS,
    HostPort,
    Ints,
    LabelColumn,
    Mask,
    host_ports,
)
from scheduler_runtime.state.table.images import Image
from scheduler_runtime.state.table.pod_counts import MatchCounts, PodSelection
from scheduler_runtime.state.table.pod_selectors import (
    NO_LABELS,
    NO_REQUIREMENTS,
    LabelIndex,
    PodSelector,
    Requirement,
    Requirements,
    SelectorError,
    all_of,
    read_requirements,
)
from scheduler_runtime.state.table.table import NodeTable, Table, allocatable_of

__all__ = [
    "EVERY_ADDRESS",
    "INT64",
    "NO_LABELS",
    "NO_REQUIREMENTS",
    "AffinityTerm",
    "AffinityTerms",
    "ExistingTerms",
    "HostPort",
    "Image",
    "Ints",
    "LabelColumn",
    "LabelIndex",
    "Mask",
    "MatchCounts",
    "NodeTable",
    "PodSelection",
    "PodSelector",
    "Requirement",
    "Requirements",
    "SelectorError",
    "Table",
    "TermKind",
    "WeightedPods",
    "all_of",
    "allocatable_of",
    "host_ports",
    "read_requirements",
    "terms_of",
    "wrap_int64",
]
