"""Kinds of objects to list and watch, and the envelopes in which the API server sends them.

A Kind says where its objects are, how they are decoded and named. Envelopes are pages, watch events, and objects of
which only the identity is decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import msgspec


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of structs for parts of API objects. Fields that are not declared are skipped without being parsed."""


class ListMeta(Wire, frozen=True, gc=False):
    """Metadata of a list: its version, and where its next page begins."""

    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _ListHead(Wire, frozen=True, gc=False):
    metadata: ListMeta = ListMeta()


class Status(Wire, frozen=True, gc=False):
    """Body of a refusal by the API server."""

    code: int = 0
    reason: str = ""
    message: str = ""


Item = TypeVar("Item")


class Identity(Wire, frozen=True, gc=False):
    """Metadata that identifies an object and its version."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class ObjectIdentity(Wire, frozen=True, gc=False):
    """An object of which only the identity is decoded."""

    metadata: Identity

    @property
    def name(self) -> str:
        """Name of the object in its namespace."""
        return self.metadata.name

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class ObjectIdentityList(Wire, frozen=True, gc=False):
    """A page of objects of any kind, of which only identities are decoded."""

    metadata: ListMeta = ListMeta()
    items: tuple[ObjectIdentity, ...] = ()


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Item]):
    """One page of a list, decoded item by item."""

    metadata: ListMeta
    items: list[Item]
    unidentified: list[str] = field(default_factory=list)
    """For each item that cannot be decoded and of which not even the name can be found, the problem."""


class _RawPage(Wire, frozen=True, gc=False):
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] = ()


_decode_list_head = msgspec.json.Decoder(_ListHead).decode
_decode_status = msgspec.json.Decoder(Status).decode
_decode_page = msgspec.json.Decoder(_RawPage).decode
decode_identified = msgspec.json.Decoder(ObjectIdentity).decode
decode_identified_list = msgspec.json.Decoder(ObjectIdentityList).decode


def read_items(raw: bytes, read: Callable[[msgspec.Raw], Item]) -> ListPage[Item]:
    """Return a page whose items ``read`` decodes. Raises msgspec.MsgspecError, and what ``read`` raises."""
    page = _decode_page(raw)
    return ListPage(page.metadata, [read(item) for item in page.items])


class WatchEvent(Wire, frozen=True, gc=False):
    """One line of a watch, of type ``ADDED``, ``MODIFIED``, ``DELETED``, ``BOOKMARK`` or ``ERROR``.

    The object stays raw, because its struct depends on the type.
    """

    type: str
    object: msgspec.Raw

    def bookmark(self) -> str:
        """Return the resource version of a ``BOOKMARK``."""
        return decode_identified(self.object).metadata.resource_version

    def error(self) -> Status:
        """Return the reason for which the watch ends, of an ``ERROR``."""
        return _decode_status(self.object)


decode_event = msgspec.json.Decoder(WatchEvent).decode


def decode_list_metadata(raw: bytes) -> ListMeta:
    """Return the metadata of a list, whose items are skipped. Raises msgspec.MsgspecError, and RecursionError."""
    return _decode_list_head(raw).metadata


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
    """One kind of objects to list and watch. What the readers raise, of any type, concerns the one object or list."""

    path: str
    """The collection, such as ``/api/v1/pods``."""
    key: Callable[[T | ObjectIdentity], str]
    """The name under which an object is cached."""
    read_list: Callable[[bytes], ObjectList[T]]
    read_item: Callable[[bytes | msgspec.Raw], T]
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
