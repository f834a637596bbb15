"""A file into its documents, as Kubernetes reads them, with the line on which everything stands.

    text ──► YAML events ──► values and places       (what begins with ``{`` is JSON, as it is to Kubernetes)

The work is bounded: large files, deep nesting and aliases that expand without end are refused, not tried.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from scheduler_runtime.config.problems import Problem, Problems, steps_of
from scheduler_runtime.config.yaml.composer import Composer, SourcePosition

MAX_BYTES = 1024 * 1024
"""A ConfigMap holds no more, and the scheduler's document lives in one."""
_ALLOW = re.compile(r"(?:^|\s)#\s*berth:\s*allow\s+([A-Za-z0-9, \t]+)")
_SPACE = " \t\n\v\f\r\x85\xa0"
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Source:
    """One document of a file."""

    value: Any
    """What it says, as JSON would: mappings, lists, text, numbers, booleans and None."""
    name: str = ""
    """The file it came from, for messages."""
    start_line: int = 1
    allowed_codes: frozenset[str] = frozenset()
    """The codes of findings that a comment ``# berth: allow CODE, CODE`` anywhere in it accepts."""
    place: SourcePosition | None = None

    def line(self, path: str) -> int | None:
        """The line of ``profiles[0].plugins``, or of the nearest thing above it that is there; None if unknown."""
        place = self._nearest(path)
        return place.line if place is not None else None

    def below(self, path: str) -> Source:
        """The places of what is at ``path``, as those of a document of its own. What it says goes unchanged."""
        place = self._nearest(path)
        return replace(self, place=place, start_line=place.line if place is not None else self.start_line)

    def _nearest(self, path: str) -> SourcePosition | None:
        place = self.place
        for step in steps_of(path):
            match place.below if place is not None else None, step:
                case Mapping() as fields, str() if step in fields:
                    place = fields[step]
                case Sequence() as items, int() if step < len(items):
                    place = items[step]
                case _:
                    break
        return place


def read_yaml(text: str | bytes, name: str = "") -> tuple[Source, ...] | Problems:
    """The documents of a file, at least one. What cannot be read is told with its line."""
    size = len(text)
    if size > MAX_BYTES:
        return _refused(f"is {size:,} bytes long; a document has at most {MAX_BYTES:,}, as a ConfigMap does")
    decoded = _decoded(text)
    if isinstance(decoded, Problems):
        return decoded
    if decoded.lstrip(_SPACE).startswith("{"):
        return _read_json(decoded, name)
    return _read_yaml(decoded, name)


def _refused(message: str) -> Problems:
    return Problems((Problem("", message),))


def _decoded(text: str | bytes) -> str | Problems:
    if isinstance(text, str):
        return _LONE.sub("\ufffd", text)
    encoding = "utf-16" if text[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        return text.decode(encoding)
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        return _refused(f"is not text: line {line}: the byte {text[error.start]:#04x} is not UTF-8")


def _read_yaml(text: str, name: str) -> tuple[Source, ...] | Problems:
    composer = Composer(text)
    found: list[Source] = []
    composed: list[tuple[int, Any, SourcePosition]] = []
    try:
        composed.extend(composer.documents())
    except yaml.YAMLError as error:
        where = " after its first document" if composed else ""
        return _refused(f"is not YAML{where}: {_one_line(error, text)}")
    if composer.problems:
        return Problems(tuple(composer.problems))
    lines = text.splitlines()
    for index, (start, value, place) in enumerate(composed):
        end = composed[index + 1][0] if index + 1 < len(composed) else len(lines)
        if value is None:
            continue
        said = lines[start if index else 0 : end]
        found.append(Source(value, name, start + 1, _allowed(said), place))
    return tuple(found) or _refused("is empty; there is no document in it")


def _one_line(error: yaml.YAMLError, text: str) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        return f"{where}{_reason(error, text)}"
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        return f"line {line}: the character {_character(error.character)} is not allowed"
    return " ".join(str(error).split())


def _reason(error: yaml.MarkedYAMLError, text: str) -> str:
    mark, start = error.problem_mark, error.context_mark
    if mark is not None and text[mark.index : mark.index + 1] == "\t":
        return "there is a tab; YAML is indented by spaces"
    opened = (
        f" (what is open there begins in line {start.line + 1})" if start and mark and start.line < mark.line else ""
    )
    return f"{error.problem or error.context or 'unreadable'}{opened}"


def _character(found: str | int | bytes) -> str:
    """A character as PyYAML names it, with libyaml by its number."""
    return f"U+{found if isinstance(found, int) else ord(found):04X}"


def _allowed(lines: Sequence[str]) -> frozenset[str]:
    return frozenset(
        code for line in lines for codes in _ALLOW.findall(line) for code in re.split(r"[,\s]+", codes)
    ) - {""}


def _read_json(text: str, name: str) -> tuple[Source, ...] | Problems:
    repeated: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                repeated.append(key)
            found[key] = value
        return found

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=_no_constant, parse_float=_float)
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else str(error)
        return _refused(f"begins with '{{' and is therefore read as JSON, which it is not: {where}")
    if repeated:
        return Problems(tuple(Problem("", f"the key {key} is there twice") for key in repeated))
    return (Source(_whole(value), name, 1, frozenset(), _place_in_json(text)),)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a number that a document can hold")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is larger than any number")
    return number


def _whole(value: Any) -> Any:
    """``value`` without halves of characters, which no encoding can write."""
    if isinstance(value, str):
        return _LONE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_whole(key): _whole(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    return value


def _place_in_json(text: str) -> SourcePosition | None:
    """Where things stand: JSON is YAML but for a few corners, in which the lines stay unknown."""
    try:
        composed: Iterator[tuple[int, Any, SourcePosition]] = Composer(text).documents()
        return next(composed)[2]
    except yaml.YAMLError:
        return None
