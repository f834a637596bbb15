"""Following the objects of the API server: what there is of a kind, and each change of it, once."""

from scheduler_runtime.kube.watch.kinds import Change, Kind, version_of
from scheduler_runtime.kube.watch.reflector import Reflector

__all__ = ["Change", "Kind", "Reflector", "version_of"]
