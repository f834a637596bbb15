"""Permissions of a scheduler process beyond those that its plugins declare: of Berth's own, and of kube-scheduler.

Those of kube-scheduler follow from its sources: the informers that it starts with any plugins (scheduler.go,
eventhandlers.go and backend/queue in pkg/scheduler), those that its plugins add, and the requests of both. To add a
version, compare these with the version before. ``tests/integration/test_rights.py`` compares the result with the
requests of the real kube-scheduler of each version.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType

from scheduler_runtime.catalog.declaration import Rule
from scheduler_runtime.catalog.target import SUPPORTED_MINORS, Target, Version


def _read(group: str, *resources: str) -> Rule:
    """Return the permission that an informer needs."""
    return Rule((group,), resources, ("list", "watch"))


EVENT_RULES = (Rule(("events.k8s.io",), ("events",), ("create", "patch")),)
"""The permissions for events about pods, in any namespace; patch turns an event that repeats into a series."""

_ANY_SCHEDULER = (
    _read("", "nodes", "pods"),
    Rule(("",), ("pods/status",), ("patch",)),
    # Callers of the endpoints are authenticated and authorized by the API server.
    Rule(("authentication.k8s.io",), ("tokenreviews",), ("create",)),
    Rule(("authorization.k8s.io",), ("subjectaccessreviews",), ("create",)),
)

PYTHON_RULES = (
    *_ANY_SCHEDULER,
    # A pod is read by itself when its binding was not answered, and for an extender that wants all its fields.
    Rule(("",), ("pods",), ("get",)),
)
"""The permissions of Berth's own scheduler with any plugins, apart from events and its own objects."""


def source_rule(hashes: Iterable[str], namespace: str) -> Rule:
    """Return the right to run plugins whose code is in ConfigMaps of ``namespace`` and has one of these SHA-256.

    There are no objects of this resource: as with upstream's ``signers``, the names in a role are what is granted.
    """
    return Rule(("berth.dev",), ("pluginsources",), ("run",), tuple(hashes), namespace)


_PVC, _PV, _CLASSES = "persistentvolumeclaims", "persistentvolumes", "storageclasses"
_STORAGE, _DEVICES, _GROUPS = "storage.k8s.io", "resource.k8s.io", "scheduling.k8s.io"

_OF_PLUGINS: Mapping[str, tuple[Rule, ...]] = MappingProxyType(
    {
        "VolumeBinding": (
            _read("", _PVC, _PV),
            _read(_STORAGE, _CLASSES, "csidrivers", "csistoragecapacities"),
            Rule(("",), (_PVC, _PV), ("update",)),
        ),
        "VolumeRestrictions": (_read("", _PVC),),
        "VolumeZone": (_read("", _PVC, _PV), _read(_STORAGE, _CLASSES)),
        "NodeVolumeLimits": (
            _read("", _PVC, _PV),
            _read(_STORAGE, _CLASSES, "csidrivers", "volumeattachments"),
        ),
        "DynamicResources": (
            # A claim is read again after a conflict; the finalizer is written to it, the allocation to its status.
            Rule((_DEVICES,), ("resourceclaims",), ("get", "update")),
            Rule((_DEVICES,), ("resourceclaims/status",), ("patch", "update")),
            # An API server from 1.36 on asks for this too when an allocation is written to the status.
            Rule((_DEVICES,), ("resourceclaims/binding",), ("patch", "update")),
        ),
    }
)
"""By plugin of kube-scheduler, where Berth's own scheduler has no plugin of that name with the same needs."""


def kube_scheduler_rules(target: Target, plugins: Collection[str]) -> Iterator[Rule]:
    """Yield the permissions of kube-scheduler with ``plugins``, beyond what ``in_tree`` declares for some of these.

    Events are apart (``EVENT_RULES``), and so are the Lease and the role by which endpoints authenticate callers.
    """
    yield from _ANY_SCHEDULER
    yield _read("", "namespaces")
    yield _read(_STORAGE, "csinodes")
    yield _read(_DEVICES, "deviceclasses", "resourceclaims", "resourceslices")
    if target.enabled("DRADeviceTaintRules"):
        yield _read(_DEVICES, "devicetaintrules")
    if target.minor == "1.35":
        if "GangScheduling" in plugins:
            yield _read(_GROUPS, "workloads")
    elif target.enabled("GenericWorkload"):
        yield _read(_GROUPS, "podgroups")
        yield Rule((_GROUPS,), ("podgroups/status",), ("patch",))
    elif target.minor == "1.36" and not {"GangScheduling", "TopologyPlacementGenerator"}.isdisjoint(plugins):
        yield _read(_GROUPS, "podgroups")
    if target.enabled("CompositePodGroup"):
        yield _read(_GROUPS, "compositepodgroups")
    for plugin in plugins:
        yield from _OF_PLUGINS.get(plugin, ())
    if "DynamicResources" in plugins and target.enabled("DRAExtendedResource"):
        yield Rule((_DEVICES,), ("resourceclaims",), ("create", "delete"))


def all_kube_scheduler_rules() -> Iterator[Rule]:
    """Yield what any profile with engine KubeScheduler may need: every version, with every plugin and every gate."""
    gates = ("DRADeviceTaintRules", "DRAExtendedResource", "GenericWorkload", "CompositePodGroup")
    plugins = {*_OF_PLUGINS, "GangScheduling"}
    for minor in SUPPORTED_MINORS:
        yield from kube_scheduler_rules(Target(Version.parse(minor), dict.fromkeys(gates, True)), plugins)
