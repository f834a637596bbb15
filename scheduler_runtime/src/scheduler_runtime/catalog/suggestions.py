"""Words that are written almost like others: what was perhaps meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def nearest(word: str, words: Iterable[str], most: int = 1, alike: float = 0.6) -> list[str]:
    """Those of ``words`` that are written most like ``word``, the best first; empty when none is near.

    ``alike`` is how much of a word has to be the same, from 0 to 1.
    """
    return difflib.get_close_matches(word, list(words), n=most, cutoff=alike)


def nearest_name(name: str, names: Iterable[str]) -> list[str]:
    """The one of ``names`` that was perhaps meant, whatever its case."""
    by_letters = {each.lower(): each for each in names}
    return [by_letters[each] for each in nearest(name.lower(), by_letters)]


def not_a_field(name: str, fields: Sequence[str]) -> str:
    """The sentence about a field called ``name`` where there are other ``fields``: the near ones, or else all."""
    listed = f"; the fields are {', '.join(fields)}" if fields else ""
    return f"is not a field{did_you_mean(nearest(name, fields)) or listed}"


def did_you_mean(near: Sequence[str]) -> str:
    """The question whether one of the words ``near`` was meant, as the end of a sentence; empty when there is none."""
    return f"; did you mean {' or '.join(near)}?" if near else ""
