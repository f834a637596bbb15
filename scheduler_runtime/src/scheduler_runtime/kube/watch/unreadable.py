"""Objects that no decoder reads: found, named and set aside one by one, however they are broken or deep.

The API server stores ``managedFields`` nested some ten thousand levels deep, and a decoder gives up at a depth that the
interpreter decides. A false server or a proxy may send anything. So what follows here never recurses: it counts
brackets, in time proportional to the text. It is slower than decoding and is used only after decoding has failed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator

import msgspec

from scheduler_runtime.kube.watch.kinds import (
    Identity,
    ListMeta,
    ListPage,
    ObjectIdentity,
    ObjectList,
    T,
    WatchEvent,
    decode_event,
    decode_list_metadata,
)

LONGEST_PROBLEM = 300
"""As many characters of what is wrong with an object are repeated."""
TOKENS = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+"|([{\[])|([}\]])|(")')
"""Strings, opening brackets, closing brackets, and the beginning of a string whose end has not come."""
_BRACKETS = re.compile(rb'(?s)(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+(?:([{\[]++)|([}\]]++))')
"""The next brackets of one direction, after whatever is before them: so many at once are few steps of this program."""
_SCALAR = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+"|[^\s,:"{}\[\]]++')
_SPACE = re.compile(rb"\s*+")
# Within a string a quote has a backslash before it, so this is a key and no part of a value.
_MANAGED_FIELDS = re.compile(rb'(?<!\\)"managedFields"\s*+:\s*+(?=\[)')


class Unreadable(ObjectIdentity, frozen=True, gc=False):
    """An object that cannot be decoded, for the reason in ``problem``."""

    problem: str = ""


class UnidentifiedError(Exception):
    """An object that cannot be decoded, and whose name cannot be found either. The version may be empty as well."""

    def __init__(self, problem: str, resource_version: str) -> None:
        super().__init__(problem)
        self.resource_version = resource_version


def read_or_identify(raw: bytes | msgspec.Raw, read: Callable[[bytes | msgspec.Raw], T]) -> T | Unreadable:
    """Return the object that ``read`` decodes, or its identity if it cannot be decoded, for whatever reason.

    An object that is too deep is read without its ``managedFields``, which nobody here needs. Raises UnidentifiedError
    when not even the object's name can be found.
    """
    try:
        try:
            return read(raw)
        except RecursionError:
            return read(without_managed_fields(raw))
    except Exception as error:  # noqa: BLE001 - whatever a decoder raises concerns this object alone
        return _identify(raw, error)


def read_page(
    raw: bytes, read_list: Callable[[bytes], ObjectList[T]], read: Callable[[bytes | msgspec.Raw], T]
) -> ObjectList[T | Unreadable]:
    """Return a list, with an ``Unreadable`` for each item that cannot be decoded.

    ``read_list`` decodes a list at once, which is the quick way, and ``read`` one item. Items that cannot even be named
    are counted in the page. Raises msgspec.DecodeError when the text is no complete list.
    """
    with contextlib.suppress(Exception):
        try:
            return read_list(raw)
        except RecursionError:
            return read_list(without_managed_fields(raw))
    fields = dict(_members(raw))
    page: ListPage[T | Unreadable] = ListPage(_metadata_in(fields), [])
    for _, item in _members(fields.get(b'"items"', b"null")):
        try:
            page.items.append(read_or_identify(item, read))
        except UnidentifiedError as error:
            page.unidentified.append(str(error))
    return page


def read_list_metadata(raw: bytes) -> ListMeta:
    """Return the metadata of a list, whatever its items are. Raises msgspec.DecodeError."""
    try:
        return decode_list_metadata(raw)
    except Exception:  # noqa: BLE001 - an item is in the way
        return _metadata_in(dict(_members(raw)))


def read_event(line: bytes) -> WatchEvent:
    """Return the event in a line of a watch, also if its object is too deep. Raises msgspec.DecodeError."""
    try:
        try:
            return decode_event(line)
        except RecursionError:
            return decode_event(without_managed_fields(line))
    except Exception:  # noqa: BLE001 - the line may be whole although its object is not
        fields = dict(_members(line))
        if not fields.keys() >= {b'"type"', b'"object"'}:
            raise msgspec.DecodeError("a watch event has a type and an object") from None
        return WatchEvent(msgspec.json.decode(fields[b'"type"'], type=str), msgspec.Raw(fields[b'"object"']))


def without_managed_fields(raw: bytes | msgspec.Raw) -> bytes:
    """Return an object, or a list of them, with all ``managedFields`` empty. Raises msgspec.DecodeError if cut."""
    text, parts, at = bytes(raw), list[bytes](), 0
    while key := _MANAGED_FIELDS.search(text, at):
        parts.append(text[at : key.end()])
        parts.append(b"[]")
        at = _end_of_value(text, key.end())
    return b"".join((*parts, text[at:]))


def describe(error: Exception) -> str:
    """Return why an object is set aside, in a text that is not long."""
    text = str(error) if isinstance(error, msgspec.MsgspecError) else f"{type(error).__name__}: {error}"
    return text if len(text) <= LONGEST_PROBLEM else f"{text[:LONGEST_PROBLEM]}…"


def _identify(raw: bytes | msgspec.Raw, error: Exception) -> Unreadable:
    """Return the identity of an object that cannot be decoded because of ``error``. Raises UnidentifiedError."""
    metadata = _leading_members(_leading_members(bytes(raw)).get(b'"metadata"', b""))
    values = [_text(metadata.get(b'"%s"' % field.encode_name.encode(), b"")) for field in _IDENTITY]
    identity = Identity(*values)
    if not identity.name:
        raise UnidentifiedError(describe(error), identity.resource_version)
    return Unreadable(identity, describe(error))


_IDENTITY = msgspec.structs.fields(Identity)


def _metadata_in(fields: dict[bytes, bytes]) -> ListMeta:
    try:
        return msgspec.json.decode(fields.get(b'"metadata"', b"{}"), type=ListMeta)
    except (RecursionError, ValueError) as error:
        raise msgspec.DecodeError(f"the metadata of a list cannot be read: {describe(error)}") from error


def _text(literal: bytes) -> str:
    """A string; empty if it is none. Bytes that are no text are replaced: a name in doubt is better than none."""
    try:
        return msgspec.json.decode(literal, type=str)
    except ValueError:
        return literal.strip(b'"').decode(errors="replace") if literal.startswith(b'"') else ""


def _leading_members(text: bytes) -> dict[bytes, bytes]:
    """The members of an object as far as they are whole."""
    members = dict[bytes, bytes]()
    with contextlib.suppress(msgspec.DecodeError):
        members.update(_members(text))
    return members


def _members(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the key, as it is written, and the value of each member of an object or, without a key, of an array.

    Nothing is yielded for ``null``. Raises msgspec.DecodeError where the text is cut or no JSON.
    """
    at = _after_space(text, 0)
    opening = text[at : at + 1]
    if opening not in (b"{", b"["):
        if text[at : at + 4] == b"null":
            return
        raise msgspec.DecodeError(f"an object or an array is expected at byte {at}")
    closing = b"}" if opening == b"{" else b"]"
    at = _after_space(text, at + 1)
    if text[at : at + 1] == closing:
        return
    while True:
        key = b""
        if opening == b"{":
            start, at = at, _end_of_value(text, at)
            key, at = text[start:at], _after_space(text, at)
            if text[at : at + 1] != b":" or not key.startswith(b'"'):
                raise msgspec.DecodeError(f"a key is expected before byte {at}")
            at = _after_space(text, at + 1)
        start, at = at, _end_of_value(text, at)
        yield key, text[start:at]
        at = _after_space(text, at)
        if text[at : at + 1] == closing:
            return
        if text[at : at + 1] != b",":
            raise msgspec.DecodeError(f"a comma or the end is expected at byte {at}")
        at = _after_space(text, at + 1)


def _after_space(text: bytes, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _end_of_value(text: bytes, at: int) -> int:
    """Return where the value that begins at ``at`` ends, by counting brackets."""
    if scalar := _SCALAR.match(text, at):
        return scalar.end()
    depth, end = 0, at
    if text[at : at + 1] in (b"{", b"["):
        while brackets := _BRACKETS.match(text, end):  # not a search, which would begin anew at each byte
            end = brackets.end()
            if brackets.lastindex == 1:
                depth += end - brackets.start(1)
            elif depth > end - brackets.start(2):
                depth -= end - brackets.start(2)
            else:
                return brackets.start(2) + depth
    raise msgspec.DecodeError(f"the value at byte {at} is cut, or there is none")
