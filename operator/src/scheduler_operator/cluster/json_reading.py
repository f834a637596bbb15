"""JSON of the API server, also where it is nested deeper than Python reads."""

import json
from typing import Any

from scheduler_runtime.catalog.bounds import MAX_DEPTH
from scheduler_runtime.kube.watch.unreadable import TOKENS

_DEEPEST = 2 * MAX_DEPTH
"""What is nested deeper than anybody may write is not looked at, but is still seen to be too deep."""


def read_json(text: bytes) -> Any:
    """Return the value of ``text``. Where it is nested too deep for Python, null stands for what is below.

    Raises ValueError for what is no JSON.
    """
    try:
        return json.loads(text)
    except RecursionError:
        return json.loads(_without_depth(text))


def _without_depth(text: bytes) -> bytes:
    parts, depth, at = list[bytes](), 0, 0
    for token in TOKENS.finditer(text):
        if token.lastindex == 1:
            depth += 1
            if depth == _DEEPEST:
                parts.append(text[at : token.start()] + b"null")
        elif token.lastindex == 2:
            if depth == _DEEPEST:
                at = token.end()
            depth -= 1
    return b"".join((*parts, text[at:]))
