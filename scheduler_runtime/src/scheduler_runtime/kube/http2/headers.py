"""Header fields in HTTP/2 (HPACK, RFC 7541), as far as short requests need them.

What is sent is written out in full, so that nothing has to be kept alike on both sides. What comes back stands for
itself too, because no room is granted for a table; of it only the status and Retry-After are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from scheduler_runtime.kube.http2 import frames

AUTHORITY, METHOD, PATH, ACCEPT_ENCODING, ACCEPT, AUTHORIZATION = 1, 2, 4, 16, 19, 23
CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, USER_AGENT = 28, 31, 53, 58
"""Where the names stand in the table that both sides know."""
METHODS = {"GET": b"\x82", "POST": b"\x83"}
"""Whole fields of that table."""
HTTPS = b"\x87"
STATUS = range(8, 15)
"""Where the name of the status stands there: servers use the first or the last."""
KNOWN_STATUS: dict[int | bytes, int] = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}
TABLE_SIZE = 61


def method(name: str) -> bytes:
    """The field that says what is to be done."""
    return METHODS.get(name) or field(METHOD, name.encode())


def field(name: int, value: bytes) -> bytes:
    """A field whose name is known by its number."""
    return _NAMES[name] + _text(value)


def never_kept(fields: Mapping[str, str]) -> bytes:
    """Fields that nobody on the way may keep, such as who asks."""
    parts = []
    for name, value in fields.items():
        known, text = name.lower().encode(), value.encode()
        head = _number(AUTHORIZATION, 4, 0x10) if known == b"authorization" else b"\x10" + _text(known)
        parts.append(head + _text(text))
    return b"".join(parts)


def _text(value: bytes) -> bytes:
    length = len(value)
    return (_LENGTHS[length] if length < len(_LENGTHS) else _number(length, 7, 0)) + value


def _number(value: int, bits: int, flags: int) -> bytes:
    """A number whose first ``bits`` share a byte with ``flags``."""
    most = (1 << bits) - 1
    if value < most:
        return bytes((flags | value,))
    out, value = bytearray((flags | most,)), value - most
    while value >= 0x80:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    out.append(value)
    return bytes(out)


_NAMES = tuple(_number(name, 4, 0) for name in range(TABLE_SIZE + 1))
_LENGTHS = tuple(_number(length, 7, 0) for length in range(256))


def status(block: bytes) -> int:
    """The status of an answer; it comes before all other fields. Raises BreachError."""
    if len(block) >= 4 and block[0] in STATUS and block[1] == 0x82:  # in two bytes of Huffman's code: mostly 201
        return _status(block[2:4], huffman=True)
    for name, value, huffman in _fields(block):
        if name not in KNOWN_STATUS and name != b":status":
            break
        return KNOWN_STATUS[name] if value is None else _status(value, huffman=huffman)
    raise frames.ProtocolError("an answer without a status")


def retry_after(block: bytes) -> str:
    """What an answer says about when to ask again, in seconds; empty if it says nothing. Raises BreachError."""
    for name, value, huffman in _fields(block):
        if value is not None and (name == RETRY_AFTER or name == b"retry-after"):
            return _digits(value, huffman=huffman)
    return ""


@lru_cache(64)
def _status(value: bytes, *, huffman: bool) -> int:
    digits = _digits(value, huffman=huffman)
    if len(digits) != 3 or digits < "100":
        raise frames.ProtocolError("a status that is no number of three digits")
    return int(digits)


def _digits(value: bytes, *, huffman: bool) -> str:
    """A number; empty if ``value`` is none."""
    text = _unpacked(value) if huffman else value.decode("latin-1")
    return text if text.isascii() and text.isdigit() else ""


def _unpacked(value: bytes) -> str:
    """Digits from Huffman's code, in which three of them have five bits and the others six; empty if there is more."""
    bits, left, digits = int.from_bytes(value, "big"), len(value) * 8, ""
    while left >= 5:
        code = bits >> left - 5 & 0x1F
        if code <= 2:
            digits, left = digits + str(code), left - 5
        elif left >= 6 and 0x19 <= (code := bits >> left - 6 & 0x3F) <= 0x1F:
            digits, left = digits + str(code - 0x16), left - 6
        else:
            break
    return digits if left < 8 and bits & (1 << left) - 1 == (1 << left) - 1 else ""


def _fields(block: bytes) -> Iterator[tuple[int | bytes, bytes | None, bool]]:
    """Each field: its name or the name's number, its value, and whether that is in Huffman's code.

    The value is None where name and value stand in the table that both sides know.
    """
    at, name = 0, 0
    try:
        while at < len(block):
            first = block[at]
            if first & 0x80:
                number, at = _read(block, at, 7)
                yield _known(number), None, False
                continue
            if first & 0xE0 == 0x20:
                size, at = _read(block, at, 5)
                if size:
                    raise _unreadable("a table that was not granted")
                continue
            name, at = _read(block, at, 6 if first & 0x40 else 4)
            called: int | bytes = _known(name) if name else b""
            if not name:
                called, _, at = _string(block, at)
            value, huffman, at = _string(block, at)
            yield called, value, huffman
    except IndexError as error:
        raise _unreadable("header fields that end too early") from error


def _known(number: int) -> int:
    if not 0 < number <= TABLE_SIZE:
        raise _unreadable("a field of a table that was not granted")
    return number


def _string(block: bytes, at: int) -> tuple[bytes, bool, int]:
    huffman = block[at] > 0x7F
    length, at = _read(block, at, 7)
    if at + length > len(block):
        raise IndexError
    return block[at : at + length], huffman, at + length


def _read(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """A number, and where what follows it begins."""
    most = (1 << bits) - 1
    value = block[at] & most
    at += 1
    if value < most:
        return value, at
    for shift in range(0, 35, 7):
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise _unreadable("a number that has no end")


def _unreadable(why: str) -> frames.ProtocolError:
    return frames.ProtocolError(why, frames.COMPRESSION_ERROR)
