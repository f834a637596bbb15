"""The envelopes of lists and watches: pages, lines, and objects of which only the identity is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Part of an object from the API server. Fields that are not listed are skipped without being parsed."""


class ListMeta(Wire, frozen=True, gc=False):
    """Where a list was taken, and where its next page begins."""

    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class _ListHead(Wire, frozen=True, gc=False):
    metadata: ListMeta = ListMeta()


class Status(Wire, frozen=True, gc=False):
    """The API server's answer when it does not do what was asked."""

    code: int = 0
    reason: str = ""
    message: str = ""


T = TypeVar("T")


class Identity(Wire, frozen=True, gc=False):
    """Which object it is, and which version of it."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class ObjectIdentity(Wire, frozen=True, gc=False):
    """An object of which nothing else is read."""

    metadata: Identity

    @property
    def name(self) -> str:
        """Its name in its namespace."""
        return self.metadata.name

    @property
    def key(self) -> str:
        """Namespace and name, as of a pod."""
        return f"{self.metadata.namespace}/{self.metadata.name}"


class ObjectIdentityList(Wire, frozen=True, gc=False):
    """A page of objects of any kind, of which only is read which they are."""

    metadata: ListMeta = ListMeta()
    items: tuple[ObjectIdentity, ...] | None = None
    """The API server writes null for none."""


class Unreadable(ObjectIdentity, frozen=True, gc=False):
    """An object of which some field is not what it must be."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list, read item by item."""

    metadata: ListMeta
    items: list[T]


class _RawPage(Wire, frozen=True, gc=False):
    metadata: ListMeta = ListMeta()
    items: tuple[msgspec.Raw, ...] = ()


_decode_list_head = msgspec.json.Decoder(_ListHead).decode
_decode_status = msgspec.json.Decoder(Status).decode
_decode_page = msgspec.json.Decoder(_RawPage).decode
_decode_identified = msgspec.json.Decoder(ObjectIdentity).decode
decode_identified_list = msgspec.json.Decoder(ObjectIdentityList).decode


def read_items(raw: bytes, read: Callable[[msgspec.Raw], T]) -> Page[T]:
    """Read the items of a page one by one. Raises msgspec.MsgspecError, and what ``read`` raises."""
    page = _decode_page(raw)
    return Page(page.metadata, [read(item) for item in page.items])


def read_page(raw: bytes, read: Callable[[msgspec.Raw], T]) -> Page[T | Unreadable]:
    """Read what can be read of a page. Raises msgspec.MsgspecError when it is no page of objects with names."""
    return read_items(raw, lambda item: read_or_name(item, read))


def read_or_name(raw: msgspec.Raw, read: Callable[[msgspec.Raw], T]) -> T | Unreadable:
    """Read an object, or only which one it is. Raises msgspec.MsgspecError when not even that can be read."""
    try:
        return read(raw)
    except msgspec.ValidationError as error:
        return Unreadable(_decode_identified(raw).metadata, str(error))


class WatchEvent(Wire, frozen=True, gc=False):
    """One line of a watch: ``ADDED``, ``MODIFIED``, ``DELETED``, ``BOOKMARK`` or ``ERROR``."""

    type: str
    object: msgspec.Raw

    def bookmark(self) -> str:
        """The resource version that a ``BOOKMARK`` brings."""
        return _decode_identified(self.object).metadata.resource_version

    def error(self) -> Status:
        """Why the watch ends, when the type is ``ERROR``."""
        return _decode_status(self.object)


decode_event = msgspec.json.Decoder(WatchEvent).decode
"""One line of a watch. The object stays raw, because its type depends on the event's."""


def continue_token(raw: bytes) -> str:
    """What asks for the page after this one, empty when it is the last. Raises msgspec.MsgspecError."""
    return _decode_list_head(raw).metadata.continue_token
