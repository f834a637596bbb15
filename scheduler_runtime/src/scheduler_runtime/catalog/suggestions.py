"""Words spelled almost like a given one: the "did you mean" of messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from itertools import islice

from scheduler_runtime.catalog.bounds import list_words

_LONGEST_WORD = 128
_MOST_WORDS = 500


def nearest(word: str, words: Iterable[str], most: int = 1, alike: float = 0.6) -> list[str]:
    """Return those of ``words`` that are spelled most like ``word``, the best first; empty when none is near.

    At most ``most`` words are returned. ``alike`` is how much of a word has to be the same, from 0 to 1. Comparing is
    expensive: nothing is near a word of extreme length, and only the first hundreds of words are looked at.
    """
    if len(word) > _LONGEST_WORD:
        return []
    candidates = [candidate for candidate in islice(words, _MOST_WORDS) if len(candidate) <= _LONGEST_WORD]
    return difflib.get_close_matches(word, candidates, n=most, cutoff=alike)


def nearest_name(name: str, names: Iterable[str]) -> list[str]:
    """Return the one of ``names`` that is spelled most like ``name``, upper and lower case aside, or nothing."""
    by_lower_case = {candidate.lower(): candidate for candidate in names}
    return [by_lower_case[match] for match in nearest(name.lower(), by_lower_case)]


def not_a_field(name: str, fields: Sequence[str]) -> str:
    """Return the sentence about a field ``name`` that does not exist: with the near ones of ``fields``, or else all."""
    every_field = f"; the fields are {list_words(fields)}" if fields else ""
    return f"is not a field{did_you_mean(nearest(name, fields)) or every_field}"


def did_you_mean(near: Sequence[str]) -> str:
    """Return the end of a sentence that asks for the words ``near``; empty when there are none."""
    return f"; did you mean {' or '.join(near)}?" if near else ""
