"""State of the cluster: pods and nodes as structs, the cache of who is where, and all nodes as columns of a table."""

from scheduler_runtime.state.cache import Cache, PlacedPod
from scheduler_runtime.state.nominations import Nominations
from scheduler_runtime.state.objects import Node, Pod
from scheduler_runtime.state.table import NodeTable, Table

__all__ = ["Cache", "Node", "NodeTable", "Nominations", "PlacedPod", "Pod", "Table"]
