"""Description of a kind of objects: its path, its parameters, and how its objects are decoded and named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import msgspec

from scheduler_runtime.kube.watch.envelopes import ListMeta, ObjectIdentity


class Metadata(Protocol):
    """The metadata that a watch needs. ``uid`` differs for two objects that had the same name one after the other."""

    @property
    def uid(self) -> str: ...

    @property
    def resource_version(self) -> str: ...


class Object(Protocol):
    """Any object that the API server stores."""

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
    """One change of an object: it appears (``old`` is None), changes, or goes away (``new`` is None)."""

    old: T | None
    new: T | None


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """One kind of objects to list and watch. The readers raise msgspec.MsgspecError."""

    path: str
    """The collection, such as ``/api/v1/pods``."""
    key: Callable[[T | ObjectIdentity], str]
    """The name under which an object is cached."""
    read_list: Callable[[bytes], ObjectList[T]]
    read_item: Callable[[msgspec.Raw], T]
    params: Mapping[str, str] = field(default_factory=dict)
    """Parameters of every request, such as selectors."""


def version_of(item: Object) -> int:
    """Return the resource version of ``item`` as a number, which grows with each write."""
    return number(item.metadata.resource_version)


def number(version: str) -> int:
    """Return a resource version as a number; anything else compares as the oldest.

    The API server's versions are revisions of etcd, and so comparable within a kind. Those of an aggregated API server
    need not be; then nothing is concluded from them.
    """
    return int(version) if version.isdecimal() else 0
