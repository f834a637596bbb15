"""YAML and JSON as Kubernetes reads them, with the line of every value.

    text ──► YAML events ──► values and positions       (what begins with ``{`` is JSON, as it is to Kubernetes)

:func:`read_yaml` is the one function of this package. It uses PyYAML's scanner and parser, but not its constructor,
because Kubernetes makes something else of the parsed events:

* Kubernetes turns YAML into JSON by a mixture of YAML 1.1 and 1.2: ``y`` and ``off`` are booleans, dates are text, and
  a number that is whole is an integer however it is written (``scalars``).
* A key that is there twice is refused; PyYAML keeps the last one.
* A message needs the line of what it is about, also of a value inside a list or behind an alias (``composer``).
* The work is bounded: large files, deep nesting and aliases that expand without end are refused, not tried.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from scheduler_runtime.catalog.bounds import MAX_BYTES, MAX_PROBLEMS, excess
from scheduler_runtime.config.problems import Problem, Problems, steps_of
from scheduler_runtime.config.yaml.composer import Composer, SourcePosition

__all__ = ["Source", "SourcePosition", "read_yaml"]

_ALLOW = re.compile(r"(?:^|\s)#\s*berth:\s*allow\s+([A-Za-z0-9, \t]+)")
_SPACE = " \t\n\v\f\r\x85\xa0"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Source:
    """One document of a file."""

    value: Any
    """The document as JSON would have it: mappings, lists, text, numbers, booleans and None."""
    name: str = ""
    """The file that the document came from, for messages."""
    start_line: int = 1
    allowed_codes: frozenset[str] = frozenset()
    """The codes of findings that a comment ``# berth: allow CODE, CODE`` anywhere in the document accepts."""
    position: SourcePosition | None = None

    def line(self, path: str) -> int | None:
        """Return the line of ``profiles[0].plugins``, or of the nearest value above that exists; None if unknown."""
        position = self._nearest(path)
        return position.line if position is not None else None

    def below(self, path: str) -> Source:
        """Return the positions below ``path`` as those of a document of its own. The value stays that of the whole."""
        position = self._nearest(path)
        start_line = position.line if position is not None else self.start_line
        return replace(self, position=position, start_line=start_line)

    def _nearest(self, path: str) -> SourcePosition | None:
        position = self.position
        for step in steps_of(path):
            match position.below if position is not None else None, step:
                case Mapping() as fields, str() if step in fields:
                    position = fields[step]
                case Sequence() as items, int() if step < len(items):
                    position = items[step]
                case _:
                    break
        return position


def read_yaml(text: str | bytes, name: str = "") -> tuple[Source, ...] | Problems:
    """Return the documents of a file, at least one, or everything that keeps it from being read, with lines.

    ``name`` is only for messages. Empty documents are left out; a file with nothing else is refused.
    """
    if len(text) > MAX_BYTES:
        return _refuse(f"is {len(text):,} bytes long; a document has at most {MAX_BYTES:,}, as a ConfigMap does")
    if isinstance(text, str):
        decoded = _LONE_SURROGATE.sub("\ufffd", text)
    else:
        try:
            decoded = text.decode("utf-16" if text[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start) + 1
            return _refuse(f"is not text: line {line}: the byte {text[error.start]:#04x} is not UTF-8")
    if decoded.lstrip(_SPACE).startswith("{"):
        return _read_json(decoded, name)
    return _read_documents(decoded, name)


def _refuse(message: str) -> Problems:
    return Problems((Problem("", message),))


def _read_documents(text: str, name: str) -> tuple[Source, ...] | Problems:
    composer = Composer(text)
    composed: list[tuple[int, Any, SourcePosition]] = []
    try:
        composed.extend(composer.documents())
    except yaml.YAMLError as error:
        where = " after its first document" if composed else ""
        return _refuse(f"is not YAML{where}: {_describe_error(error, text)}")
    if composer.problems:
        return Problems(tuple(composer.problems))
    lines = text.splitlines()
    sources: list[Source] = []
    for index, (start, value, position) in enumerate(composed):
        if value is None:
            continue
        # Comments before the first document belong to it, those after a document's start to that document.
        end = composed[index + 1][0] if index + 1 < len(composed) else len(lines)
        comments = [codes for line in lines[start if index else 0 : end] for codes in _ALLOW.findall(line)]
        allowed = frozenset(code for codes in comments for code in re.split(r"[,\s]+", codes)) - {""}
        sources.append(Source(value, name, start + 1, allowed, position))
    return tuple(sources) or _refuse("is empty; there is no document in it")


def _describe_error(error: yaml.YAMLError, text: str) -> str:
    """Return an error of PyYAML in one line, with the number of the line in ``text``."""
    if isinstance(error, yaml.reader.ReaderError):
        line = text.count("\n", 0, error.position) + 1
        character: Any = error.character  # a string from PyYAML itself, a number with libyaml
        number = character if isinstance(character, int) else ord(character)
        return f"line {line}: the character U+{number:04X} is not allowed"
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    problem, context = error.problem_mark, error.context_mark
    mark = problem or context
    where = f"line {mark.line + 1}: " if mark else ""
    if problem is not None and text[problem.index : problem.index + 1] == "\t":
        return f"{where}there is a tab; YAML is indented by spaces"
    opened = ""
    if context and problem and context.line < problem.line:
        opened = f" (what is open there begins in line {context.line + 1})"
    return f"{where}{error.problem or error.context or 'unreadable'}{opened}"


def _read_json(text: str, name: str) -> tuple[Source, ...] | Problems:
    repeated: list[str] = []

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for key, value in pairs:
            if key in fields:
                repeated.append(key)
            fields[key] = value
        return fields

    def refuse_constant(word: str) -> Any:
        raise ValueError(f"{word} is not a number that a document can hold")

    def parse_float(digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            raise ValueError(f"{digits} is larger than any number")
        return number

    try:
        value = json.loads(text, object_pairs_hook=unique, parse_constant=refuse_constant, parse_float=parse_float)
    except (ValueError, RecursionError) as error:
        where = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else str(error)
        return _refuse(f"begins with '{{' and is therefore read as JSON, which it is not: {where}")
    if repeated:
        return Problems(tuple(Problem("", f"the key {key} is there twice") for key in repeated[:MAX_PROBLEMS]))
    if too_much := excess(value):
        return _refuse(too_much)
    try:
        # JSON is YAML but for a few corners, in which the lines stay unknown.
        _, _, position = next(Composer(text).documents())
    except yaml.YAMLError:
        position = None
    return (Source(_replace_lone_surrogates(value), name, 1, frozenset(), position),)


def _replace_lone_surrogates(value: Any) -> Any:
    """Return ``value`` without halves of characters: JSON can escape them, and no encoding can write them."""
    if isinstance(value, str):
        return _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_replace_lone_surrogates(key): _replace_lone_surrogates(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_replace_lone_surrogates(inner) for inner in value]
    return value
