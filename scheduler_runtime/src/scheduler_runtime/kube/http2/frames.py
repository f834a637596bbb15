"""HTTP/2 frames: constants, serialization and parsing (RFC 9113, sections 4 and 6)."""

from __future__ import annotations

import struct

# Frame types, section 6.
DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
TYPE_NAMES = {
    DATA: "DATA",
    HEADERS: "HEADERS",
    2: "PRIORITY",
    RST_STREAM: "RST_STREAM",
    SETTINGS: "SETTINGS",
    PUSH_PROMISE: "PUSH_PROMISE",
    PING: "PING",
    GOAWAY: "GOAWAY",
    WINDOW_UPDATE: "WINDOW_UPDATE",
    CONTINUATION: "CONTINUATION",
}
# Flags; END_STREAM and ACK share a bit, as no type has both.
END_STREAM, END_HEADERS, PADDED, PRIORITY, ACK = 0x1, 0x4, 0x8, 0x20, 0x1
# Settings, section 6.5.2.
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 1, 2, 3, 4, 5
# Error codes, section 7.
NO_ERROR, PROTOCOL_ERROR, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR = 0, 1, 3, 6
REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED = 7, 8, 9, 11, 13

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DEFAULT_FRAME_SIZE = 1 << 14
"""The largest payload of a frame, unless its receiver allows more by a setting."""
LARGEST_FRAME_SIZE = (1 << 24) - 1
"""The largest payload that a receiver may allow."""
DEFAULT_WINDOW = (1 << 16) - 1
"""Bytes of bodies that may be sent before the receiver allows more."""
LARGEST_WINDOW = (1 << 31) - 1
STREAM_ID_MASK = (1 << 31) - 1
"""Clears the reserved bit before a stream identifier, and before other numbers of 31 bits."""

HEAD = struct.Struct(">HBBBI")
"""Length in two parts, type, flags, stream."""
_pack = HEAD.pack
_uint32 = struct.Struct(">I")
_setting = struct.Struct(">HI")


class ProtocolError(Exception):
    """The server breaks a rule of HTTP/2. ``code`` is the error code to send it."""

    def __init__(self, reason: str, code: int = PROTOCOL_ERROR) -> None:
        super().__init__(reason)
        self.code = code


def frame(kind: int, flags: int, stream_id: int, payload: bytes) -> bytes:
    """Return one frame."""
    length = len(payload)
    return _pack(length >> 8, length & 0xFF, kind, flags, stream_id) + payload


def describe(kind: int, stream_id: int) -> str:
    """Return a frame's type and stream, for messages."""
    return f"{TYPE_NAMES.get(kind, f'frame of type {kind}')} on stream {stream_id}"


def settings(values: dict[int, int]) -> bytes:
    """Return a SETTINGS frame."""
    return frame(SETTINGS, 0, 0, b"".join(_setting.pack(*setting) for setting in values.items()))


def parse_settings(payload: bytes) -> dict[int, int]:
    """Return the values of a SETTINGS frame. Raises ProtocolError for a wrong length or frame size."""
    if len(payload) % _setting.size:
        raise ProtocolError(f"SETTINGS on stream 0 has a length of {len(payload)} bytes", FRAME_SIZE_ERROR)
    values = dict(_setting.iter_unpack(payload))
    size = values.get(MAX_FRAME_SIZE, DEFAULT_FRAME_SIZE)
    if not DEFAULT_FRAME_SIZE <= size <= LARGEST_FRAME_SIZE:
        raise ProtocolError(f"SETTINGS_MAX_FRAME_SIZE is {size}, outside 2^14 to 2^24-1")
    return values


def window_update(stream_id: int, increment: int) -> bytes:
    """Return a frame that allows the server to send ``increment`` more bytes."""
    return frame(WINDOW_UPDATE, 0, stream_id, _uint32.pack(increment))


def rst_stream(stream_id: int, code: int) -> bytes:
    """Return a frame that ends a stream early."""
    return frame(RST_STREAM, 0, stream_id, _uint32.pack(code))


def goaway(code: int) -> bytes:
    """Return a frame that names the reason for which the connection is closed."""
    return frame(GOAWAY, 0, 0, _uint32.pack(0) + _uint32.pack(code))


def uint31(payload: bytes, offset: int = 0) -> int:
    """Return a number of four bytes, whose first bit is reserved and has to be ignored."""
    value: int = _uint32.unpack_from(payload, offset)[0]
    return value & STREAM_ID_MASK


def strip_padding(flags: int, payload: bytes) -> bytes:
    """Return the payload without the padding and the priority that ``flags`` announce.

    Raises ProtocolError when the padding exceeds the frame.
    """
    padding, start = 0, 0
    if flags & PADDED:
        padding, start = payload[0] if payload else 0, 1
    if flags & PRIORITY:
        start += 5
    if start + padding > len(payload):
        raise ProtocolError("the padding of a frame exceeds its payload")
    return payload[start : len(payload) - padding]
