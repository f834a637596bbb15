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
    """Yield the lines of a mapping: a scalar beside its key, other values on the lines below."""
    for key, inner in value.items():
        start = f"{indent}{format_scalar(key)}:"
        comment, rest = _comment(tree.get(key, tree.origin) if isinstance(tree, Fields) else tree)
        if not isinstance(inner, (Mapping, Sequence)) or isinstance(inner, str) or not inner:
            yield f"{start} {format_scalar(inner)}{comment}"
        elif isinstance(inner, Mapping):
            yield f"{start}{comment}"
            yield from _fields(inner, rest, f"{indent}  ")
        else:
            yield f"{start}{comment}"
            yield from _items(inner, rest, indent)


def _items(value: Sequence[Any], tree: Tree, indent: str) -> Lines:
    """Yield the lines of a list: the first line of each entry begins with a dash."""
    for index, inner in enumerate(value):
        comment, rest = _comment(tree[index] if isinstance(tree, Items) and index < len(tree) else tree)
        if isinstance(inner, Mapping) and inner:
            lines = _fields(inner, rest, f"{indent}  ")
        elif isinstance(inner, Sequence) and not isinstance(inner, str) and inner:
            lines = _items(inner, rest, f"{indent}  ")
        else:
            yield f"{indent}- {format_scalar(inner)}{comment}"
            continue
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
    # JSON and Kubernetes do not tell 1.0 from 1; above 2**53 an integer would pretend to digits that are not there.
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return json.dumps(value)
