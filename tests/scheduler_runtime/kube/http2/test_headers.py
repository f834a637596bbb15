"""Header fields of answers, judged by what the library hpack writes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st

from scheduler_runtime.kube.http2 import frames, headers

OTHERS = [("audit-id", "0f3c"), ("content-type", "application/json"), ("date", "Mon, 02 Jan 2006 15:04:05 GMT")]


def encode(*fields: tuple[str, str], huffman: bool = True) -> bytes:
    encoder = Encoder()
    encoder.header_table_size = 0  # which is told at the beginning of the first fields
    return encoder.encode(fields, huffman=huffman)


@pytest.mark.parametrize("huffman", [True, False])
def test_every_status_is_read(huffman: bool) -> None:
    for status in range(100, 600):
        block = encode((":status", str(status)), *OTHERS, huffman=huffman)
        assert block[0] == 0x20
        assert headers.parse_status(block) == headers.parse_status(block[1:]) == status


@pytest.mark.parametrize("huffman", [True, False])
@pytest.mark.parametrize("name", range(8, 15))
def test_a_status_may_refer_to_any_index_of_its_name(name: int, huffman: bool) -> None:
    _, used, *rest = encode((":status", "201"), *OTHERS, huffman=huffman)
    assert used & 0x3F == 8
    assert headers.parse_status(bytes((name, *rest))) == 201


@given(st.integers(0, 99_999), st.booleans(), st.integers(0, 3))
def test_every_retry_after_is_read(seconds: int, huffman: bool, at: int) -> None:
    fields = [*OTHERS[:at], ("retry-after", str(seconds)), *OTHERS[at:]]
    block = encode((":status", "429"), *fields, huffman=huffman)
    assert headers.parse_retry_after(block) == str(seconds)


@given(st.text("0123456789abcdefghijklmnopqrstuvwxyz ,:-~", max_size=12), st.booleans())
def test_what_is_no_number_of_seconds_says_nothing(text: str, huffman: bool) -> None:
    block = encode((":status", "503"), ("retry-after", text), huffman=huffman)
    assert headers.parse_retry_after(block) == (text if text.isdigit() else "")


def test_a_number_in_huffmans_code_is_padded_by_less_than_a_byte() -> None:
    name = headers.field(headers.RETRY_AFTER, b"")[:-1]
    assert headers.parse_retry_after(name + b"\x81\x07") == "0"
    assert headers.parse_retry_after(name + b"\x82\x07\xff") == ""


def test_a_field_may_have_its_name_spelled_out() -> None:
    spelled = b"\x00\x07:status\x03503" + b"\x10\x0bretry-after\x0217"
    assert (headers.parse_status(spelled), headers.parse_retry_after(spelled)) == (503, "17")


@given(st.integers(1, 61), st.binary(max_size=20_000))
def test_a_field_is_decoded_as_it_was_encoded(name: int, value: bytes) -> None:
    decoder = Decoder(max_header_list_size=1 << 16)
    assert [field[1] for field in decoder.decode(headers.field(name, value), raw=True)] == [value]


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (b"\x08", "too early"),
        (b"\x08\x82", "too early"),
        (b"\x08\x82\x10", "too early"),
        (b"\x08\x05201", "too early"),
        (b"\x08\xff\xff\xff\xff\xff\xff\x01", "no end"),
        (b"\xbe", "not granted"),
        (b"\xff\x80\x01", "not granted"),
        (b"\x80", "not granted"),
        (b"\x7f\x00\x01a", "not granted"),
        (b"\x21\x88", "not granted"),
    ],
)
def test_fields_that_cannot_be_read_are_a_breach(block: bytes, why: str) -> None:
    with pytest.raises(frames.ProtocolError, match=why) as caught:
        headers.parse_status(block)
    assert caught.value.code == frames.COMPRESSION_ERROR


@pytest.mark.parametrize("block", [b"", b"\x20", b"\x82", b"\x5f\x01a", b"\x08\x0220", b"\x08\x03abc", b"\x08\x03099"])
def test_an_answer_without_a_status_is_a_breach(block: bytes) -> None:
    with pytest.raises(frames.ProtocolError, match="status"):
        headers.parse_status(block)


@pytest.mark.parametrize("read", [headers.parse_status, headers.parse_retry_after])
@given(block=st.binary(max_size=60))
def test_whatever_comes_is_read_or_is_a_breach(read: Callable[[bytes], object], block: bytes) -> None:
    with contextlib.suppress(frames.ProtocolError):
        assert read(block) is not None
