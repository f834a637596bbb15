"""The objects that plugins watch, in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from scheduler_runtime.api import Watch
from scheduler_runtime.state.objects import KINDS, Node, Pod

_STRUCTS: Mapping[tuple[str, str], type[msgspec.Struct]] = {**KINDS, ("v1", "Node"): Node, ("v1", "Pod"): Pod}


class Objects:
    """Some objects, as the plugins of a process would get them: written as in YAML, or structs of ``wire``.

    ``testing.framework(…, services=…)`` and ``testing.check(…, objects=…)`` take one.
    """

    def __init__(self, *objects: Any) -> None:
        """Raises ValueError when an object does not say what it is."""
        self._objects = [_read(each) for each in objects]
        self._revision = 0

    def put(self, written: Any) -> None:
        """Add an object, or put it in the place of the one of its kind, namespace and name."""
        read = _read(written)
        self._objects = [*(each for each in self._objects if each[:3] != read[:3]), read]
        self._revision += 1

    def remove(self, written: Any) -> None:
        """Take away the object of this kind, namespace and name. Raises ValueError when there is none."""
        gone = _read(written)[:3]
        left = [each for each in self._objects if each[:3] != gone]
        if len(left) == len(self._objects):
            raise ValueError(f"there is no {gone[0][1]} {gone[1]}/{gone[2]} to remove")
        self._objects = left
        self._revision += 1

    def get(self, watch: Watch) -> Any:
        """The one object that ``watch`` names, or None."""
        return next(iter(self.list(watch)), None)

    def list(self, watch: Watch) -> Iterable[Any]:
        """The objects of ``watch``: pods, nodes and those of ``wire.KINDS`` as structs, any other as it is written."""
        return [content for *_, content in self._of(watch)]

    def find(self, watch: Watch, name: str, namespace: str = "") -> Any:
        """The object of ``watch`` that has this name, or None."""
        return next((content for *where, content in self._of(watch) if where == [namespace, name]), None)

    def revision(self, watch: Watch) -> int:
        """How often objects were put or removed."""
        return self._revision

    def _of(self, watch: Watch) -> Iterator[tuple[str, str, Any]]:
        for kind, namespace, name, content in self._objects:
            if (
                kind == (watch.api_version, watch.kind)
                and watch.namespace in ("", namespace)
                and watch.name in ("", name)
            ):
                yield namespace, name, content


def _read(written: Any) -> tuple[tuple[str, str], str, str, Any]:
    """Its kind, namespace and name, and what plugins get."""
    if not isinstance(written, Mapping):
        kinds = [kind for kind, struct in _STRUCTS.items() if type(written) is struct]
        if not kinds:
            raise ValueError(
                f"{type(written).__name__} is not among wire.KINDS, nor a pod or a node; "
                "write the object as a mapping, as in YAML"
            )
        return kinds[0], written.metadata.namespace, written.metadata.name, written
    missing = {"apiVersion", "kind", "metadata"} - written.keys()
    if missing:
        raise ValueError(f"an object lacks {', '.join(sorted(missing))}; write it as in YAML")
    kind, metadata = (written["apiVersion"], written["kind"]), written["metadata"]
    content = msgspec.convert(written, _STRUCTS[kind]) if kind in _STRUCTS else dict(written)
    return kind, metadata.get("namespace", ""), metadata.get("name", ""), content
