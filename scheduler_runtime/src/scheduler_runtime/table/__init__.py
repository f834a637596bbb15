"""The state of all nodes as columns. Updated in place for the rows that change; read-only for plugins."""

from .columns import Ints, LabelColumn, Mask
from .table import Table, offered_by
from .view import NodeTable

__all__ = ["Ints", "LabelColumn", "Mask", "NodeTable", "Table", "offered_by"]
