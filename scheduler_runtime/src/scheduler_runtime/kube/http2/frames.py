"""Frames, what HTTP/2 is cut into (RFC 9113, section 4 and 6)."""

from __future__ import annotations

import struct

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, END_HEADERS, PADDED, PRIORITY, ACK = 0x1, 0x4, 0x8, 0x20, 0x1
HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 1, 2, 3, 4, 5
NO_ERROR, PROTOCOL_ERROR, FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR = 0, 1, 3, 6
REFUSED_STREAM, CANCEL, COMPRESSION_ERROR, ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED = 7, 8, 9, 11, 13

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
LARGEST = 1 << 14
"""What a frame holds at most unless its receiver allows more."""
LARGEST_OF_ALL = (1 << 24) - 1
"""What its receiver may allow at most."""
WINDOW = (1 << 16) - 1
"""What may be sent before it was read, unless its receiver allows more."""
LONGEST_WINDOW = (1 << 31) - 1

HEAD = struct.Struct(">HBBBI")
"""A length in two parts, kind, flags, stream."""
_pack = HEAD.pack
_number = struct.Struct(">I")
_setting = struct.Struct(">HI")


class ProtocolError(Exception):
    """The other side does not keep the rules. ``code`` is how it is told."""

    def __init__(self, why: str, code: int = PROTOCOL_ERROR) -> None:
        super().__init__(why)
        self.code = code


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """One frame."""
    length = len(payload)
    return _pack(length >> 8, length & 0xFF, kind, flags, stream) + payload


def settings(values: dict[int, int]) -> bytes:
    """What this side asks of the other."""
    return frame(SETTINGS, 0, 0, b"".join(_setting.pack(*each) for each in values.items()))


def settings_of(payload: bytes) -> dict[int, int]:
    """What the other side asks. Raises ProtocolError when it may not."""
    if len(payload) % _setting.size:
        raise ProtocolError("settings of the wrong length", FRAME_SIZE_ERROR)
    asked = dict(_setting.iter_unpack(payload))
    if not LARGEST <= asked.get(MAX_FRAME_SIZE, LARGEST) <= LARGEST_OF_ALL:
        raise ProtocolError("settings that allow no frame, or frames larger than any may be")
    return asked


def window_update(stream: int, by: int) -> bytes:
    """Allow ``by`` more bytes."""
    return frame(WINDOW_UPDATE, 0, stream, _number.pack(by))


def reset(stream: int, code: int) -> bytes:
    """End a stream."""
    return frame(RST_STREAM, 0, stream, _number.pack(code))


def goaway(code: int) -> bytes:
    """Say why the connection ends."""
    return frame(GOAWAY, 0, 0, _number.pack(0) + _number.pack(code))


def number(payload: bytes, at: int = 0) -> int:
    """A number of four bytes, of which the first bit says nothing."""
    value: int = _number.unpack_from(payload, at)[0]
    return value & LONGEST_WINDOW


def bare(flags: int, payload: bytes) -> bytes:
    """A payload without padding and priority. Raises ProtocolError when it is shorter than it says."""
    if not flags & (PADDED | PRIORITY):
        return payload
    padding, start = 0, 0
    if flags & PADDED:
        padding, start = payload[0] if payload else 0, 1
    if flags & PRIORITY:
        start += 5
    if start + padding > len(payload):
        raise ProtocolError("padding longer than its frame")
    return payload[start : len(payload) - padding]
