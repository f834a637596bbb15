"""Following the objects of the API server: what there is of a kind, and each change of it, once."""

from .kinds import NODES, Change, Kind, pods, version_of
from .reflector import Reflector

__all__ = ["NODES", "Change", "Kind", "Reflector", "pods", "version_of"]
