"""List and watch: a copy of all objects of a kind, and each change of one of them, once."""

from scheduler_runtime.kube.watch.kinds import Change, Kind, version_of
from scheduler_runtime.kube.watch.reflector import Reflector

__all__ = ["Change", "Kind", "Reflector", "version_of"]
