"""Bounds on what people write, in files, in the cluster and in documents made of it, and on messages about it.

Whatever is within the bounds is judged, and the cost of that is bounded with it. A message repeats only the beginning
of a long value, or one long value would stand in thousands of messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from scheduler_runtime.catalog.masking import masked_field, without_credentials

MAX_BYTES = 1024 * 1024
"""A ConfigMap holds no more, and the scheduler's document lives in one."""
MAX_DEPTH = 100
"""Mappings and lists around a value. Some versions of Python read a thousand levels at most; nobody needs forty."""
MAX_VALUES = 50_000
"""Mappings, lists and single values; aliases of YAML count as what they stand for."""
MAX_PROBLEMS = 100
"""Problems of one object that are told at a time."""
MAX_MESSAGE = 4096
"""Characters of a sentence about a problem; a status shows no more."""
MAX_QUOTED = 60
"""Characters of a value in a sentence."""
_MAX_WORDS = 20


def excess(value: Any) -> str:
    """Return how ``value`` exceeds the bounds, as the end of a sentence about it; empty when it is within them.

    Takes no longer than a value within the bounds does, however large or deep the given one is.
    """
    level: list[Any] = [value]
    values = size = depth = 0
    while level:
        if depth > MAX_DEPTH:
            return f"is nested more than {MAX_DEPTH} deep"
        values += len(level)
        below: list[Any] = []
        for inner in level:
            if isinstance(inner, str):
                size += _size(inner)
            elif isinstance(inner, Mapping):
                size += sum(map(_size, inner))
                below.extend(inner.values())
            elif isinstance(inner, list | tuple):
                below.extend(inner)
            if values + len(below) > MAX_VALUES:
                return f"has more than {MAX_VALUES:,} values"
            if size > MAX_BYTES:
                return f"has more than {MAX_BYTES:,} bytes of text"
        level, depth = below, depth + 1
    return ""


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def describe_excess(value: Any, root: str) -> str:
    """Return how ``value`` exceeds the bounds and which part of it is the largest; empty when it is within them.

    ``root`` is the path of the value.
    """
    if not (message := excess(value)):
        return ""
    steps, count = largest_part(value)
    place = root + "".join(f"[{step}]" if isinstance(step, int) else f".{cut(step, MAX_QUOTED)}" for step in steps)
    return f"{message}; write less of {place}, which has {count:,} of them"


def largest_part(value: Any) -> tuple[tuple[str | int, ...], int]:
    """Return the steps, four at most, to the part of ``value`` that most of its values are in; and their number."""
    steps: tuple[str | int, ...] = ()
    count = _count(value)
    while len(steps) < 4 and isinstance(value, Mapping | list) and value:
        parts = value if isinstance(value, Mapping) else dict(enumerate(value))
        counts = {step: _count(inner) for step, inner in parts.items()}
        largest = max(counts, key=counts.__getitem__)
        if counts[largest] * 2 < count:
            break
        steps, value, count = (*steps, largest), value[largest], counts[largest]
    return steps, count


def _count(value: Any) -> int:
    level, count = [value], 0
    while level:
        count += len(level)
        level = [
            inner
            for outer in level
            if isinstance(outer, Mapping | list | tuple)
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
        ]
    return count


def cut(text: str, longest: int = MAX_MESSAGE) -> str:
    """Return ``text`` in at most ``longest`` characters; the last is an ellipsis where something was cut off."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def describe_value(value: Any) -> str:
    """Return ``value`` as a message repeats it: booleans as YAML has them, and the beginning only of a long one."""
    if isinstance(value, bool):
        return str(value).lower()
    text = ""
    for piece in _pieces(value):
        text += piece
        if len(text) > MAX_QUOTED:
            return f"{text[: MAX_QUOTED - 3]}…"
    return text


def _pieces(value: Any) -> Iterator[str]:
    """Yield the representation of ``value`` bit by bit: whoever needs the beginning only takes no more."""
    if isinstance(value, str):
        shown = without_credentials(value) if "@" in value or "://" in value else value
        yield repr(shown[: MAX_QUOTED + 1])
    elif isinstance(value, Mapping):
        for number, (key, inner) in enumerate(value.items()):
            yield ", " if number else "{"
            yield f"{key[: MAX_QUOTED + 1]!r}: " if isinstance(key, str) else f"{key!r}: "
            yield from _pieces(masked_field(key, inner))
        yield "}" if value else "{}"
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield ", " if number else "["
            yield from _pieces(inner)
        yield "]" if value else "[]"
    else:
        yield repr(value)


def list_words(words: Iterable[Any]) -> str:
    """Return ``words`` separated by commas: at most twenty of them, each cut, and that there are more."""
    beginning = [cut(str(word), MAX_QUOTED) for word in islice(words, _MAX_WORDS + 1)]
    return ", ".join([*beginning[:_MAX_WORDS], *(["…"] if len(beginning) > _MAX_WORDS else [])])
