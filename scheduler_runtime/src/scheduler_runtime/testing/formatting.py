"""Formatting for the messages of the kit: shortened values, exceptions, and places in the plugin author's own code."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Mapping
from pathlib import Path
from traceback import extract_tb
from types import CodeType

from scheduler_runtime.api import NodePlugin, Plugin, hooks_of

_OUR_CLASSES = (Plugin, NodePlugin, object)
_API = "scheduler_runtime.api."
_MOST_EXCEPTIONS = 5
"""The length at which a chain of exceptions is cut: the first ones name the cause in the author's code."""


def shortened(text: str, most: int = 200) -> str:
    """Return ``text``, or its first ``most`` characters and the number of the others."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text) - most} characters more)"


def brief(value: object) -> str:
    """Return the ``repr`` of ``value``, cut after a hundred characters: a hook may answer with an array of any size."""
    return shortened(repr(value), 100)


def format_exception(error: BaseException, kind: type[Plugin]) -> str:
    """Return an exception of a hook and its causes in one line.

    Each stands with the last line of the plugin ``kind`` in its traceback: lines of libraries and of the kit say little
    to the author of the plugin. An exception that no line of the plugin raised stands with the line that raised it.
    """
    plugin_files = {code.co_filename for code in _functions_of(kind).values()}
    chain: list[BaseException] = []
    descriptions: list[str] = []
    following: BaseException | None = error
    # A chain can lead back to itself, where an exception is raised again from one that it caused.
    while following is not None and following not in chain and len(chain) < _MOST_EXCEPTIONS:
        chain.append(following)
        text = str(following)
        description = type(following).__name__ + (f": {shortened(text)}" if text else "")
        frames = extract_tb(following.__traceback__)
        if own_frames := [frame for frame in frames if frame.filename in plugin_files] or list(frames):
            description += f" ({_location(own_frames[-1].filename, own_frames[-1].lineno)})"
        descriptions.append(description)
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)
    return ", from ".join(descriptions)


def source_location(kind: type[Plugin], sentence: str) -> str:
    """Return ``file:line`` of the hook of ``kind`` that ``sentence`` names first, or of the class when it names none.

    Empty for a class that has no source, because a program made it or somebody typed it in.
    """
    functions, hooks = _functions_of(kind), hooks_of(kind)
    # A quoted text is the plugin's own reason: a hook's name in it is a coincidence.
    words = re.findall(r"\w+", re.sub(r'"[^"]*"', "", sentence))
    hook = next((word for word in words if word in hooks), "")
    # The author of a NodePlugin writes filter_node and score_node, and inherits filter and score.
    if code := functions.get(f"{hook}_node") or functions.get(hook):
        return _location(code.co_filename, code.co_firstlineno)
    try:
        return _location(inspect.getsourcefile(kind) or "", inspect.findsource(kind)[1] + 1)
    except (OSError, TypeError):
        return ""


def _functions_of(kind: type[Plugin]) -> Mapping[str, CodeType]:
    """Return the functions of the class that its author wrote, by their names in it."""
    return {
        name: inspect.unwrap(value).__code__
        for base in reversed(kind.__mro__)
        if base not in _OUR_CLASSES
        for name, value in vars(base).items()
        if inspect.isfunction(value) and not value.__module__.startswith(_API)
    }


def _location(file: str, line: int | None) -> str:
    """Return ``file:line``, relative to the working directory where the file is below it: editors open that."""
    return f"{os.path.relpath(file) if Path(file).is_relative_to(Path.cwd()) else file}:{line}"
