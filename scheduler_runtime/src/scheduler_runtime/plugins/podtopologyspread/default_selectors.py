"""Which pods belong together when they do not say so: those of the same Services and of the same owner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from scheduler_runtime.api import Handle, Watch
from scheduler_runtime.catalog.in_tree import CONTROLLERS, REPLICA_SETS, SERVICES, STATEFUL_SETS
from scheduler_runtime.plugins.podtopologyspread.constraints import in_namespace, matching_labels
from scheduler_runtime.state.lru import LruCache
from scheduler_runtime.state.objects import OwnerReference, Pod, Service
from scheduler_runtime.state.table import PodSelector, Requirement, Requirements, SelectorError, requirements_of
from scheduler_runtime.state.table.pod_selectors import NO_LABELS

_OWNERS = {(watch.api_version, watch.kind): watch for watch in (CONTROLLERS, REPLICA_SETS, STATEFUL_SETS)}
_Label = tuple[str, str]
_Selector = Mapping[str, str]


class DefaultSelectors:
    """For each pod, what selects the pods that belong with it: its Services and its controller put together."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._services = ServiceIndex(())
        self._revision = -1
        self._put_together: LruCache[Any, tuple[Any, PodSelector | None]] = LruCache(4096)

    def selector(self, pod: Pod) -> PodSelector | None:
        """None when nothing selects ``pod``, or only what selects every pod."""
        revision = self._handle.revision(SERVICES)
        if revision != self._revision:
            self._services, self._revision = ServiceIndex(self._handle.list(SERVICES)), revision
        services = self._services.selecting(pod)
        reference = controller_of(pod)
        if not services and reference is None:
            return None
        watch, owner = self._owner(pod, reference)
        return self._together(pod.metadata.namespace, services, watch, owner)

    def _owner(self, pod: Pod, reference: OwnerReference | None) -> tuple[Watch | None, Any]:
        watch = _OWNERS.get((reference.api_version, reference.kind)) if reference else None
        if watch is None or reference is None:
            return None, None
        return watch, self._handle.find(watch, reference.name, pod.metadata.namespace)

    def _together(
        self, namespace: str, services: tuple[_Selector, ...], watch: Watch | None, owner: Any
    ) -> PodSelector | None:
        """As :func:`put_together`, from memory while the objects are the same ones."""
        key = (namespace, *map(id, services), id(owner))
        known = self._put_together.get(key)
        if known is not None:
            return known[1]
        requirements = put_together(services, watch, owner)
        selector = in_namespace(namespace, requirements) if requirements else None
        # Kept with the objects themselves: as long as they live, nothing else has their ids.
        self._put_together.put(key, ((services, owner), selector))
        return selector


class ServiceIndex:
    """Services by namespace and by one label that the pods they select must have."""

    def __init__(self, services: Iterable[Service]) -> None:
        self._namespaces: dict[str, dict[_Label, list[_Selector]]] = {}
        for service in services:
            selector = service.spec.selector
            if selector:  # None selects no pod, and an empty one tells nothing about the pods it selects.
                labels = self._namespaces.setdefault(service.metadata.namespace, {})
                labels.setdefault(next(iter(selector.items())), []).append(selector)

    def selecting(self, pod: Pod) -> tuple[_Selector, ...]:
        """The selectors of the Services that select ``pod``."""
        index = self._namespaces.get(pod.metadata.namespace)
        own = pod.metadata.labels
        if index is None or own is None:
            return ()
        found: list[_Selector] = []
        for label in own.items():
            candidates = index.get(label)
            if candidates:
                found += (selector for selector in candidates if selector.items() <= own.items())
        return tuple(found)


def put_together(services: Iterable[_Selector], watch: Watch | None, owner: Any) -> Requirements:
    """What Services and an owner that was found under ``watch`` ask for, all at once."""
    labels: dict[str, str] = {}
    for selector in services:
        labels.update(selector)
    asked: Requirements = ()
    if watch is CONTROLLERS and owner is not None:
        labels.update(owner.spec.selector or NO_LABELS)
    elif owner is not None:
        asked = tuple(_asked_by(owner))
    return tuple(dict.fromkeys((*matching_labels(sorted(labels.items())), *asked)))


def _asked_by(owner: Any) -> Iterator[Requirement]:
    try:
        yield from requirements_of(owner.spec.selector) or ()
    except SelectorError:
        return  # As upstream: an owner whose selector cannot be read adds nothing.


def controller_of(pod: Pod) -> OwnerReference | None:
    """The owner that controls ``pod``."""
    for reference in pod.metadata.owner_references:
        if reference.controller:
            return reference
    return None
