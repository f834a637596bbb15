"""A key of the queue that cannot be compared with those before it is an error, whatever came first."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_runtime.api import QueueEntry
from scheduler_runtime.framework import PluginError
from scheduler_runtime.framework.hook import Hook
from scheduler_runtime.framework.queue_hooks import SortKeys
from scheduler_runtime.testing import pod


def sort_keys(keys: list[Any]) -> SortKeys:
    """The keys of a plugin that gives one after the other."""
    following = iter(keys)
    return SortKeys(Hook("Sorts", "sort_key", lambda _: next(following)))


@pytest.mark.parametrize(
    "keys",
    [
        [1, 2.5, -3],
        [(1, "a"), (2.5, "b"), (1, "c")],
        [(), ()],
        [("a", (1, "b")), ("a", (2, "c"))],
        [("a", ((1,),)), ("b", ((2.5,),))],
    ],
)
def test_keys_of_one_kind_can_be_compared(keys: list[Any]) -> None:
    sort_key = sort_keys(keys)
    assert [sort_key(QueueEntry(pod("p"), 0.0, 0)) for _ in keys] == keys
    assert sorted(keys) is not None


@pytest.mark.parametrize(
    "keys",
    [
        [(), 5],
        [(), "x"],
        [(1, "a"), ("a", 1)],
        [(1, "a"), (1, "a", 2)],
        [(1, 2), (1, None)],
        [((1,),), (("a",),)],
        [(1, "a"), (2, "b"), (1, {})],
        [(frozenset(),), ({},)],
    ],
)
def test_the_first_key_of_another_kind_is_an_error(keys: list[Any]) -> None:
    sort_key = sort_keys(keys)
    for _ in keys[:-1]:
        sort_key(QueueEntry(pod("p"), 0.0, 0))
    with pytest.raises(PluginError, match="cannot be compared with the others"):
        sort_key(QueueEntry(pod("p"), 0.0, 0))
