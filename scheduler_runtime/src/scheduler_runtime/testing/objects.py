"""The objects that plugins watch, held in memory instead of being read from an API server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from scheduler_runtime.api import Watch
from scheduler_runtime.state.objects import KINDS, Node, Pod

_STRUCTS: Mapping[tuple[str, str], type[msgspec.Struct]] = {**KINDS, ("v1", "Node"): Node, ("v1", "Pod"): Pod}


@dataclass(frozen=True, slots=True)
class _Object:
    """An object with what identifies it."""

    kind: tuple[str, str]
    """Its apiVersion and its kind."""
    namespace: str
    name: str
    content: Any
    """What plugins get: a struct for the kinds that have one, otherwise a mapping."""

    @property
    def key(self) -> tuple[tuple[str, str], str, str]:
        """The apiVersion and kind, the namespace and the name: no two objects have all of them in common."""
        return self.kind, self.namespace, self.name


class Objects:
    """The objects that plugins get when they ask their handle for what they watch.

    Each is written as in YAML or is a struct of ``state.objects``. ``testing.framework(…, objects=…)`` takes one such
    collection, and ``testing.check(…, objects=[…])`` makes one. A test changes it with :meth:`put` and :meth:`remove`.
    """

    def __init__(self, *objects: Any) -> None:
        """Raises ValueError when an object lacks its kind or its metadata."""
        self._objects = [_parse(manifest) for manifest in objects]
        self._revision = 0

    def put(self, manifest: Any) -> None:
        """Add an object, or replace the one of its kind, namespace and name.

        Raises ValueError when it lacks its kind or its metadata.
        """
        new = _parse(manifest)
        self._objects = [*(other for other in self._objects if other.key != new.key), new]
        self._revision += 1

    def remove(self, manifest: Any) -> None:
        """Remove the object of this kind, namespace and name. Raises ValueError when there is none."""
        key = _parse(manifest).key
        others = [other for other in self._objects if other.key != key]
        if len(others) == len(self._objects):
            (_, kind), namespace, name = key
            raise ValueError(f"there is no {kind} {namespace}/{name} to remove")
        self._objects = others
        self._revision += 1

    def get(self, watch: Watch) -> Any:
        """Return the first object of ``watch``, or None: for a watch that names one object."""
        return next(iter(self.list(watch)), None)

    def list(self, watch: Watch) -> Iterable[Any]:
        """Return the objects of ``watch``: pods, nodes and the kinds of ``state.objects.KINDS`` as structs, any other
        one as it is written."""
        return [match.content for match in self._matches(watch)]

    def find(self, watch: Watch, name: str, namespace: str = "") -> Any:
        """Return the object of ``watch`` that has this name and namespace, or None."""
        matches = self._matches(watch)
        return next((match.content for match in matches if (match.namespace, match.name) == (namespace, name)), None)

    def revision(self, watch: Watch) -> int:
        """Return the number of changes so far: plugins compute again what depends on objects when it is another."""
        return self._revision

    def _matches(self, watch: Watch) -> Iterator[_Object]:
        for candidate in self._objects:
            if (
                candidate.kind == (watch.api_version, watch.kind)
                and watch.namespace in ("", candidate.namespace)
                and watch.name in ("", candidate.name)
            ):
                yield candidate


def _parse(manifest: Any) -> _Object:
    if not isinstance(manifest, Mapping):
        kinds = [kind for kind, struct in _STRUCTS.items() if type(manifest) is struct]
        if not kinds:
            raise ValueError(
                f"{type(manifest).__name__} is neither a pod, a node nor one of state.objects.KINDS; "
                "write the object as a mapping, as in YAML"
            )
        return _Object(kinds[0], manifest.metadata.namespace, manifest.metadata.name, manifest)
    missing = {"apiVersion", "kind", "metadata"} - manifest.keys()
    if missing:
        raise ValueError(f"an object lacks {', '.join(sorted(missing))}; write it as in YAML")
    kind, metadata = (manifest["apiVersion"], manifest["kind"]), manifest["metadata"]
    # A scheduler decodes these kinds into structs, so a plugin must not see them as mappings in its tests.
    content = msgspec.convert(manifest, _STRUCTS[kind]) if kind in _STRUCTS else dict(manifest)
    return _Object(kind, metadata.get("namespace", ""), metadata.get("name", ""), content)
