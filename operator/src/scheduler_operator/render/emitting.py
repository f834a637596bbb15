"""A document as YAML, with comments that say where each part came from. The same document, the same bytes."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scheduler_operator.render.origins import Fields, Items, Origin, Tree, only_label

_PLAIN = re.compile(r"[A-Za-z/][-A-Za-z0-9_./]*(?:[A-Za-z0-9]|(?<=/))|[A-Za-z/]|[0-9]+(?:ns|us|ms|s|m|h)")
_WORDS = frozenset({"y", "yes", "n", "no", "true", "false", "on", "off", "null"})
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")

Lines = Iterator[str]


def emitted(document: Mapping[str, Any], tree: Tree, heading: str) -> str:
    """``document`` as block YAML; a comment stands where all below has one origin, and at nothing above that."""
    lines = [*(f"# {line}" for line in heading.splitlines()), *_fields(document, tree, "")]
    return "\n".join(lines) + "\n"


def plain(document: Mapping[str, Any], heading: str) -> str:
    """``document`` as block YAML without origins."""
    return emitted(document, Origin("", "", ""), heading)


def _fields(value: Mapping[str, Any], tree: Tree, indent: str) -> Lines:
    for key, inner in value.items():
        below = tree.get(key, tree.origin) if isinstance(tree, Fields) else tree
        yield from _entry(f"{indent}{scalar(key)}:", inner, below, indent)


def _entry(start: str, value: Any, tree: Tree, indent: str) -> Lines:
    """One field: on its line if it is a scalar, below it if it is more."""
    comment, rest = _comment(tree)
    if not isinstance(value, (Mapping, Sequence)) or isinstance(value, str) or not value:
        yield f"{start} {scalar(value)}{comment}"
        return
    yield f"{start}{comment}"
    if isinstance(value, Mapping):
        yield from _fields(value, rest, f"{indent}  ")
    else:
        yield from _items(value, rest, indent)


def _items(value: Sequence[Any], tree: Tree, indent: str) -> Lines:
    for index, inner in enumerate(value):
        below = tree[index] if isinstance(tree, Items) and index < len(tree) else tree
        yield from _item(inner, below, indent)


def _item(value: Any, tree: Tree, indent: str) -> Lines:
    """One entry of a list: its first line begins with a dash."""
    comment, rest = _comment(tree)
    if isinstance(value, Mapping) and value:
        lines = _fields(value, rest, f"{indent}  ")
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        lines = _items(value, rest, f"{indent}  ")
    else:
        yield f"{indent}- {scalar(value)}{comment}"
        return
    first = next(lines)
    yield f"{indent}- {first[len(indent) + 2 :]}{comment}"
    yield from lines


_SAID = Origin("", "", "")


def _comment(tree: Tree) -> tuple[str, Tree]:
    """What to say here, and what is left to say below."""
    label = tree.label if isinstance(tree, Origin) else only_label(tree)
    if label is None:
        return "", tree
    return (f"  # {label}" if label else ""), _SAID


def scalar(value: Any) -> str:
    """A scalar, or something empty, on one line; text that reads as something else is quoted."""
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
            return value
        return _UNPRINTABLE.sub(_escaped, json.dumps(value, ensure_ascii=False))
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return json.dumps(value)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
