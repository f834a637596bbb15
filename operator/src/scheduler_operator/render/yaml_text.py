"""YAML text of a document, with comments that name the origin of each part. The same document, the same bytes."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scheduler_operator.render.origins import Fields, Items, Origin, Tree, only_label

_PLAIN = re.compile(r"[A-Za-z/][-A-Za-z0-9_./]*(?:[A-Za-z0-9]|(?<=/))|[A-Za-z/]|[0-9]+(?:ns|us|ms|s|m|h)")
_WORDS = frozenset({"y", "yes", "n", "no", "true", "false", "on", "off", "null"})
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]")

Lines = Iterator[str]


def format_document(document: Mapping[str, Any], tree: Tree, heading: str) -> str:
    """Return ``document`` as block YAML.

    A comment is at the topmost value below which everything has one origin, and at nothing below that.
    """
    lines = [*(f"# {line}" for line in heading.splitlines()), *_fields(document, tree, "")]
    return "\n".join(lines) + "\n"


def format_plain(document: Mapping[str, Any], heading: str) -> str:
    """Return ``document`` as block YAML without origins."""
    return format_document(document, Origin("", "", ""), heading)


def _fields(value: Mapping[str, Any], tree: Tree, indent: str) -> Lines:
    for key, inner in value.items():
        below = tree.get(key, tree.origin) if isinstance(tree, Fields) else tree
        yield from _entry(f"{indent}{format_scalar(key)}:", inner, below, indent)


def _entry(start: str, value: Any, tree: Tree, indent: str) -> Lines:
    """Yield one field: on one line if it is a scalar, else with its content on the lines below."""
    comment, rest = _comment(tree)
    if not isinstance(value, (Mapping, Sequence)) or isinstance(value, str) or not value:
        yield f"{start} {format_scalar(value)}{comment}"
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
    """Yield one entry of a list: its first line begins with a dash."""
    comment, rest = _comment(tree)
    if isinstance(value, Mapping) and value:
        lines = _fields(value, rest, f"{indent}  ")
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        lines = _items(value, rest, f"{indent}  ")
    else:
        yield f"{indent}- {format_scalar(value)}{comment}"
        return
    first = next(lines)
    yield f"{indent}- {first[len(indent) + 2 :]}{comment}"
    yield from lines


_NO_COMMENT = Origin("", "", "")


def _comment(tree: Tree) -> tuple[str, Tree]:
    """Return the comment for this value, and the tree for the values below."""
    label = tree.label if isinstance(tree, Origin) else only_label(tree)
    if label is None:
        return "", tree
    return (f"  # {label}" if label else ""), _NO_COMMENT


def format_scalar(value: Any) -> str:
    """Return a scalar, or an empty collection, on one line; text that YAML would read as another type is quoted."""
    if isinstance(value, str):
        if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
            return value
        return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return json.dumps(value)
