"""How the kit shows things: not all of what is long, and with the place in the author's own code."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from traceback import extract_tb
from types import CodeType

from scheduler_runtime.api import NodePlugin, Plugin, hooks_of

_OURS = (Plugin, NodePlugin, object)
_API = "scheduler_runtime.api."
_CAUSES = 5
"""So many exceptions of a chain are told."""


def shortened(text: str, most: int = 200) -> str:
    """``text``, or its beginning and how much more there is."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} characters more)"


def brief(value: object) -> str:
    """``value`` as it would be written, or the beginning of that."""
    return shortened(repr(value), 100)


def told(error: BaseException, kind: type[Plugin]) -> str:
    """An exception of a hook and those it was raised from, each with the line of the plugin that brought it up."""
    return ", from ".join(_told(each, kind) for each in _chain(error))


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and following not in seen and len(seen) < _CAUSES:
        yield following
        seen.append(following)
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)


def _told(error: BaseException, kind: type[Plugin]) -> str:
    text = str(error)
    named = f"{type(error).__name__}: {shortened(text)}" if text else type(error).__name__
    files = {code.co_filename for code in _codes(kind).values()}
    frames = extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename in files] or frames
    return f"{named} ({_place(own[-1].filename, own[-1].lineno)})" if own else named


def place_of(kind: type[Plugin], sentence: str) -> str:
    """Where the hook is that ``sentence`` names first, or the class when it names none; empty where nobody knows."""
    codes, hooks = _codes(kind), hooks_of(kind)
    words = re.findall(r"\w+", re.sub(r'"[^"]*"', "", sentence))
    named = next((word for word in words if word in hooks), "")
    code = codes.get(f"{named}_node") or codes.get(named)
    return _place(code.co_filename, code.co_firstlineno) if code else _place_of_class(kind)


def _place_of_class(kind: type[Plugin]) -> str:
    try:
        return _place(inspect.getsourcefile(kind) or "", inspect.findsource(kind)[1] + 1)
    except (OSError, TypeError):
        return ""  # A program made it, or somebody typed it in.


def _codes(kind: type[Plugin]) -> Mapping[str, CodeType]:
    """The functions of the class that are its author's, by their names in it."""
    return {
        name: inspect.unwrap(value).__code__
        for each in reversed(kind.__mro__)
        if each not in _OURS
        for name, value in vars(each).items()
        if inspect.isfunction(value) and not value.__module__.startswith(_API)
    }


def _place(file: str, line: int | None) -> str:
    shown = os.path.relpath(file) if Path(file).is_relative_to(Path.cwd()) else file
    return f"{shown}:{line}"
