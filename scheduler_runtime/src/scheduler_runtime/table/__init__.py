"""The state of all nodes as columns. Updated in place for the rows that change; read-only for plugins."""

from .census import Census, Population
from .columns import Ints, LabelColumn, Mask, wrapped
from .images import Image
from .pod_selectors import PodSelector, Requirement, Requirements, SelectorError, hold, requirements_of
from .ports import EVERY_ADDRESS, HostPort, host_ports
from .table import Table, offered_by
from .terms import HeldTerm, PodTerm, PodTerms, TermKind, Terms, terms_of
from .view import NodeTable

__all__ = [
    "EVERY_ADDRESS",
    "Census",
    "HeldTerm",
    "HostPort",
    "Image",
    "Ints",
    "LabelColumn",
    "Mask",
    "NodeTable",
    "PodSelector",
    "PodTerm",
    "PodTerms",
    "Population",
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
