"""JSON from the API server, however deep: one object that nests deeply must not end the node, and with it all pods.

The API server stores ``managedFields`` nested some ten thousand levels deep, and a decoder gives up at a depth that the
interpreter decides. Nothing else of a pod, ConfigMap or Secret can be as deep, and nobody here reads ``managedFields``.
"""

import json
import logging
import re
from typing import Any

logger = logging.getLogger(__name__)

LEVELS = 100
_LEFT_OUT = f"left out by devcluster: nested more than {LEVELS} levels deep"
# Strings are matched as a whole, because the brackets in them count for nothing.
_TOKENS = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+"|([{\[])|([}\]])')


def decode(text: bytes, source: str) -> dict[str, Any]:
    """Return the object, list or watch event in ``text``, without what is too deep to be read.

    One line of the log names the object in which something was left out, and ``source``. Raises ValueError when
    ``text`` is no JSON.
    """
    try:
        answer: dict[str, Any] = json.loads(text)
    except RecursionError:
        answer = json.loads(without_depth(text))
        for item in answer.get("items", [answer.get("object", answer)]):
            if _LEFT_OUT in json.dumps(item):
                metadata = item.get("metadata", {})
                name = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))
                logger.warning("%s: %s is read without what is nested more than %d levels deep", source, name, LEVELS)
    return answer


def without_depth(text: bytes) -> bytes:
    """Return JSON with a string in place of each value below ``LEVELS`` levels, in time proportional to its length."""
    parts, depth, at = list[bytes](), 0, 0
    for token in _TOKENS.finditer(text):
        if token.group(1):
            depth += 1
            if depth == LEVELS + 1:
                parts += (text[at : token.start()], json.dumps(_LEFT_OUT).encode())
        elif token.group(2):
            if depth == LEVELS + 1:
                at = token.end()
            depth -= 1
    return b"".join((*parts, text[at:]))
