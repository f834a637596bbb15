"""Tolerations, and the taints that they cover."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_runtime.plugins.matching import discouragements, keeps_away, tolerates, unknown_operator
from scheduler_runtime.state.objects import Taint, Toleration

MOST = str(2**63 - 1)


def toleration(operator: str, value: str = "", key: str = "k", effect: str = "") -> Toleration:
    return Toleration(key=key, operator=operator, value=value, effect=effect)


@pytest.mark.parametrize(
    ("operator", "limit", "value", "expected"),
    [
        ("Gt", "5", "6", True),
        ("Gt", "5", "5", False),
        ("Gt", "-2", "-1", True),
        ("Lt", "5", "4", True),
        ("Lt", "5", "5", False),
        ("Lt", MOST, "0", True),
        ("Lt", str(2**63), "0", False),
        ("Gt", "0", str(2**63), False),
        ("Gt", "05", "6", False),
        ("Gt", "5", "+6", False),
        ("Gt", "-0", "6", False),
        ("Gt", "", "6", False),
        ("Gt", "5", "six", False),
        ("Lt", "5", "", False),
        ("Near", "5", "5", False),
    ],
)
def test_comparing_takes_whole_numbers_as_they_are_written(
    operator: str, limit: str, value: str, expected: bool
) -> None:
    taint = Taint(key="k", value=value, effect="NoSchedule")
    assert tolerates((toleration(operator, limit),), taint, comparing=True) is expected
    assert not tolerates((toleration(operator, limit),), taint)


def test_a_key_or_effect_that_is_empty_covers_all() -> None:
    taint = Taint(key="k", value="v", effect="NoExecute")
    assert tolerates((toleration("Exists", key=""),), taint)
    assert tolerates((toleration("Exists", effect="NoExecute"),), taint)
    assert not tolerates((toleration("Exists", effect="NoSchedule"),), taint)
    assert not tolerates((toleration("Exists", key="other"),), taint)
    assert tolerates((toleration("Equal", "other"), toleration("", "v")), taint)


def test_hard_taints_keep_away_and_soft_ones_are_counted() -> None:
    taints = tuple(Taint(key="k", value="7", effect=effect) for effect in ("PreferNoSchedule", "PreferNoSchedule"))
    hard = Taint(key="k", value="7", effect="NoExecute")
    above = (toleration("Gt", "6"),)
    assert not keeps_away(taints, ())
    assert keeps_away((*taints, hard), above)
    assert not keeps_away((*taints, hard), above, comparing=True)
    assert discouragements((*taints, hard), above) == 2
    assert discouragements((*taints, hard), above, comparing=True) == 0


def test_the_first_unknown_operator_is_named() -> None:
    valid = tuple(toleration(operator) for operator in ("", "Equal", "Exists", "Gt", "Lt"))
    assert unknown_operator(valid) is None
    assert unknown_operator((*valid, toleration("In"), toleration("Out"))) == (
        "spec.tolerations[5].operator: 'In' is not one of Equal, Exists, Gt and Lt, so it tolerates nothing"
    )


KEYS, VALUES = st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2", ""])
HARD = st.sampled_from(["NoSchedule", "NoExecute"])
TOLERATIONS = st.lists(
    st.builds(
        Toleration,
        key=st.just("") | KEYS,
        operator=st.sampled_from(["", "Equal", "Exists", "Gt", "Near"]),
        value=VALUES,
        effect=st.just("") | HARD | st.just("PreferNoSchedule"),
    ),
    max_size=6,
).map(tuple)
TAINTS = st.lists(st.builds(Taint, key=KEYS, value=VALUES, effect=HARD | st.just("PreferNoSchedule")), max_size=6).map(
    tuple
)
NOTHING_TOLERATED = tuple(toleration("Equal", "v", key=f"other-{number}") for number in range(40))
HARMLESS = tuple(Taint(key=f"other-{number}", value="v", effect="NoSchedule") for number in range(40))


@given(TAINTS, TOLERATIONS, st.booleans())
def test_long_lists_are_compared_as_short_ones_are(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], comparing: bool
) -> None:
    expected = keeps_away(taints, tolerations, comparing=comparing)
    soft = discouragements(taints, tolerations, comparing=comparing)
    long = (*NOTHING_TOLERATED, *tolerations)
    for more in ((), HARMLESS):
        assert keeps_away((*taints, *more), long, comparing=comparing) is expected
        assert discouragements((*taints, *more), long, comparing=comparing) == soft
    problem, long_problem = unknown_operator(tolerations), unknown_operator(long)
    assert (problem is None) is (long_problem is None)
    assert not problem or problem.partition(": ")[2] == (long_problem or "").partition(": ")[2]
