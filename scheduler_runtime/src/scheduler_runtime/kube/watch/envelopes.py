"""Envelopes of lists and watches: pages, watch events, and objects of which only the identity is decoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

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


T = TypeVar("T")


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
    items: tuple[ObjectIdentity, ...] | None = None
    """None for an empty page: the API server may write null."""


class Unreadable(ObjectIdentity, frozen=True, gc=False):
    """An object that cannot be decoded, because a field has another type than it must."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class ListPage(Generic[T]):
    """One page of a list, decoded item by item."""

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


def read_items(raw: bytes, read: Callable[[msgspec.Raw], T]) -> ListPage[T]:
    """Return a page whose items ``read`` decodes. Raises msgspec.MsgspecError, and what ``read`` raises."""
    page = _decode_page(raw)
    return ListPage(page.metadata, [read(item) for item in page.items])


def read_page(raw: bytes, read: Callable[[msgspec.Raw], T]) -> ListPage[T | Unreadable]:
    """Return a page, with an ``Unreadable`` for each item that cannot be decoded.

    Raises msgspec.MsgspecError when it is no page of objects with names.
    """

    def read_or_identify(item: msgspec.Raw) -> T | Unreadable:
        try:
            return read(item)
        except msgspec.ValidationError as error:
            return identify_unreadable(item, error)

    return read_items(raw, read_or_identify)


def identify_unreadable(raw: msgspec.Raw, error: msgspec.ValidationError) -> Unreadable:
    """Return the identity of an object that cannot be decoded because of ``error``.

    Raises msgspec.MsgspecError when not even that can be decoded.
    """
    return Unreadable(_decode_identified(raw).metadata, str(error))


class WatchEvent(Wire, frozen=True, gc=False):
    """One line of a watch, of type ``ADDED``, ``MODIFIED``, ``DELETED``, ``BOOKMARK`` or ``ERROR``.

    The object stays raw, because its struct depends on the type.
    """

    type: str
    object: msgspec.Raw

    def bookmark(self) -> str:
        """Return the resource version of a ``BOOKMARK``."""
        return _decode_identified(self.object).metadata.resource_version

    def error(self) -> Status:
        """Return the reason for which the watch ends, of an ``ERROR``."""
        return _decode_status(self.object)


decode_event = msgspec.json.Decoder(WatchEvent).decode


def continue_token(raw: bytes) -> str:
    """Return the token that requests the page after this one; empty for the last. Raises msgspec.MsgspecError."""
    return _decode_list_head(raw).metadata.continue_token
