"""What can be followed: where it is listed and watched, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from scheduler_runtime.kube.watch.envelopes import ListMeta, ObjectIdentity, WatchEvent


class Metadata(Protocol):
    """What identifies an object: ``uid`` is this life of it, under a name that may come again."""

    @property
    def uid(self) -> str: ...

    @property
    def resource_version(self) -> str: ...


class Object(Protocol):
    """Anything that the API server stores."""

    @property
    def metadata(self) -> Metadata: ...


T = TypeVar("T", bound=Object)
T_co = TypeVar("T_co", bound=Object, covariant=True)


class ObjectList(Protocol[T_co]):
    """One page of a list."""

    @property
    def metadata(self) -> ListMeta: ...

    @property
    def items(self) -> Sequence[T_co]: ...


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """An object appeared (``old`` is None), changed, or went away (``new`` is None)."""

    old: T | None
    new: T | None


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """What to list and watch, and how to read it. The readers raise msgspec.MsgspecError."""

    path: str
    key: Callable[[T | ObjectIdentity], str]
    read_list: Callable[[bytes], ObjectList[T]]
    read_item: Callable[[WatchEvent], T]
    params: Mapping[str, str] = field(default_factory=dict)


def version_of(item: Object) -> int:
    """When ``item`` was written, as a number that grows."""
    return number(item.metadata.resource_version)


def number(version: str) -> int:
    """Versions of one kind are numbers that grow; anything else compares as the oldest."""
    return int(version) if version.isdecimal() else 0
