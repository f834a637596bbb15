"""Header compression of HTTP/2 (HPACK, RFC 7541), as far as short requests need it.

Requests are sent as literals, so that neither side has to keep a dynamic table. Responses come as literals too, because
our settings grant the server no table (SETTINGS_HEADER_TABLE_SIZE 0). Of a response only the status and Retry-After are
decoded; both are digits, so Huffman's code is known here for digits alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from scheduler_runtime.kube.http2.frames import COMPRESSION_ERROR, ProtocolError

# Indices of names in the static table (RFC 7541, appendix A).
AUTHORITY, METHOD, PATH, ACCEPT_ENCODING, ACCEPT, AUTHORIZATION = 1, 2, 4, 16, 19, 23
CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, USER_AGENT = 28, 31, 53, 58
STATUS = range(8, 15)
"""Indices of the name ``:status``: servers refer to the first or the last."""
STATUS_BY_INDEX: dict[int | bytes, int] = {8: 200, 9: 204, 10: 206, 11: 304, 12: 400, 13: 404, 14: 500}
STATIC_TABLE_SIZE = 61
# Whole fields of the static table.
METHODS = {"GET": b"\x82", "POST": b"\x83"}
HTTPS = b"\x87"


def method(name: str) -> bytes:
    """Return the field ``:method``."""
    return METHODS.get(name) or field(METHOD, name.encode())


def field(index: int, value: bytes) -> bytes:
    """Return a field whose name stands in the static table at ``index`` (section 6.2.2: without indexing)."""
    length = len(value)  # as in ``_string``, for several fields of each request
    return _NAMES[index] + (_LENGTHS[length] if length < len(_LENGTHS) else _integer(length, 7, 0)) + value


def never_indexed(fields: Mapping[str, str]) -> bytes:
    """Return fields that no proxy on the way may store, such as credentials (section 6.2.3)."""
    parts = []
    for name, value in fields.items():
        lower_name, text = name.lower().encode(), value.encode()
        is_static = lower_name == b"authorization"
        head = _integer(AUTHORIZATION, 4, 0x10) if is_static else b"\x10" + _string(lower_name)
        parts.append(head + _string(text))
    return b"".join(parts)


def _string(value: bytes) -> bytes:
    """A string as a literal, without Huffman's code (section 5.2)."""
    length = len(value)
    return (_LENGTHS[length] if length < len(_LENGTHS) else _integer(length, 7, 0)) + value


def _integer(value: int, bits: int, flags: int) -> bytes:
    """An integer whose first ``bits`` share a byte with ``flags`` (section 5.1)."""
    most = (1 << bits) - 1
    if value < most:
        return bytes((flags | value,))
    out, value = bytearray((flags | most,)), value - most
    while value >= 0x80:
        out.append(0x80 | value & 0x7F)
        value >>= 7
    out.append(value)
    return bytes(out)


_NAMES = tuple(_integer(index, 4, 0) for index in range(STATIC_TABLE_SIZE + 1))
_LENGTHS = tuple(_integer(length, 7, 0) for length in range(256))


def parse_status(block: bytes) -> int:
    """Return the status of a response, which comes before all other fields. Raises ProtocolError."""
    # The usual case without decoding: a status in two bytes of Huffman's code, mostly 201.
    if len(block) >= 4 and block[0] in STATUS and block[1] == 0x82:
        return _decode_status(block[2:4], huffman=True)
    for name, value, huffman in _decode_fields(block):
        if name not in STATUS_BY_INDEX and name != b":status":
            break
        return STATUS_BY_INDEX[name] if value is None else _decode_status(value, huffman=huffman)
    raise ProtocolError("a response without the pseudo-header field :status")


def parse_retry_after(block: bytes) -> str:
    """Return Retry-After where it is a number of seconds, otherwise an empty string. Raises ProtocolError."""
    for name, value, huffman in _decode_fields(block):
        if value is not None and (name == RETRY_AFTER or name == b"retry-after"):
            return _decode_digits(value, huffman=huffman)
    return ""


@lru_cache(64)
def _decode_status(value: bytes, *, huffman: bool) -> int:
    digits = _decode_digits(value, huffman=huffman)
    if len(digits) != 3 or digits < "100":
        raise ProtocolError("the pseudo-header field :status is not a number of three digits")
    return int(digits)


def _decode_digits(value: bytes, *, huffman: bool) -> str:
    """A string of digits; empty if ``value`` has anything else."""
    if not huffman:
        text = value.decode("latin-1")
        return text if text.isascii() and text.isdigit() else ""
    # RFC 7541, appendix B: 0, 1 and 2 have codes of five bits, the other digits of six. The last byte is padded with
    # ones, by less than eight bits.
    bits, size, digits = int.from_bytes(value, "big"), len(value) * 8, ""
    while size >= 5:
        code = bits >> size - 5 & 0x1F
        if code <= 2:
            digits, size = digits + str(code), size - 5
        elif size >= 6 and 0x19 <= (code := bits >> size - 6 & 0x3F) <= 0x1F:
            digits, size = digits + str(code - 0x16), size - 6
        else:
            break
    return digits if size < 8 and bits & (1 << size) - 1 == (1 << size) - 1 else ""


def _decode_fields(block: bytes) -> Iterator[tuple[int | bytes, bytes | None, bool]]:
    """The fields: the name or its index in the static table, the value, and whether that is in Huffman's code.

    The value is None for a field that stands in the static table as a whole.
    """
    at = 0
    try:
        while at < len(block):
            first = block[at]
            if first & 0x80:  # section 6.1: an indexed field
                index, at = _decode_integer(block, at, 7)
                yield _static_index(index), None, False
                continue
            if first & 0xE0 == 0x20:  # section 6.3: a new size of the dynamic table
                size, at = _decode_integer(block, at, 5)
                if size:
                    raise _compression_error("a table that was not granted")
                continue
            index, at = _decode_integer(block, at, 6 if first & 0x40 else 4)
            name: int | bytes = _static_index(index) if index else b""
            if not index:
                name, _, at = _decode_string(block, at)
            value, huffman, at = _decode_string(block, at)
            yield name, value, huffman
    except IndexError as error:
        raise _compression_error("header fields that end too early") from error


def _static_index(index: int) -> int:
    """``index``, which must not be one of the dynamic table."""
    if not 0 < index <= STATIC_TABLE_SIZE:
        raise _compression_error("a field of a table that was not granted")
    return index


def _decode_string(block: bytes, at: int) -> tuple[bytes, bool, int]:
    """A string as it was sent, whether that is in Huffman's code, and the offset after it."""
    huffman = block[at] > 0x7F
    length, at = _decode_integer(block, at, 7)
    if at + length > len(block):
        raise IndexError
    return block[at : at + length], huffman, at + length


def _decode_integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    """An integer, and the offset after it."""
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
    raise _compression_error("a number that has no end")


def _compression_error(reason: str) -> ProtocolError:
    return ProtocolError(reason, COMPRESSION_ERROR)
