"""Selectors of pods: many requirements hold for the same labels as few."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from scheduler_runtime import testing
from scheduler_runtime.state.table import PodSelection, PodSelector, Requirement, Requirements

KEYS, VALUES = st.sampled_from(["a", "b", "c"]), st.sampled_from(["1", "2", "3"])
LABELS = st.dictionaries(KEYS, VALUES)
REQUIREMENTS = st.lists(
    st.one_of(
        st.builds(Requirement, KEYS, st.sampled_from(["In", "NotIn"]), st.frozensets(VALUES, min_size=1)),
        st.builds(Requirement, KEYS, st.sampled_from(["Exists", "DoesNotExist"])),
    ),
    max_size=5,
)
OF_NO_CONCERN = [Requirement(f"other-{number}", "NotIn", frozenset("x")) for number in range(20)]


@given(REQUIREMENTS, LABELS)
def test_many_requirements_hold_as_each_of_them_does(
    requirements: list[Requirement], labels: Mapping[str, str]
) -> None:
    expected = all(requirement.holds(labels) for requirement in requirements)
    assert Requirements(requirements).hold(labels) is expected
    assert Requirements([*OF_NO_CONCERN, *requirements]).hold(labels) is expected
    present = [Requirement(f"other-{number}", "Exists") for number in range(20)]
    assert not Requirements([*present, *requirements]).hold(labels)
    assert Requirements([*present, *requirements]).hold({**labels, **{one.key: "x" for one in present}}) is expected


@given(
    st.lists(
        st.tuples(st.none() | st.frozensets(st.sampled_from(["default", "other"]), min_size=1), REQUIREMENTS),
        max_size=4,
    ),
    LABELS,
)
def test_a_selection_includes_the_pods_that_all_its_selectors_match(
    parts: list[tuple[frozenset[str] | None, list[Requirement]]], labels: dict[str, str]
) -> None:
    pod = testing.pod("pod", labels=labels)
    selectors = tuple(PodSelector(namespaces, Requirements(requirements)) for namespaces, requirements in parts)
    expected = all(selector.matches(pod) for selector in selectors)
    assert PodSelection(selectors).includes(pod) is expected


def test_the_time_for_a_pod_does_not_depend_on_how_many_requirements_there_are() -> None:
    class CountedLabels(dict[str, str]):
        looked_at = 0

        def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
            CountedLabels.looked_at += 1
            return super().get(key, default)

    labels = CountedLabels(app="a")
    for operator in ("In", "NotIn", "Exists", "DoesNotExist"):
        values = frozenset("x") if operator in ("In", "NotIn") else frozenset[str]()
        many = Requirements([Requirement(f"k{number}", operator, values) for number in range(1000)])
        assert many.hold(labels) is (operator in ("NotIn", "DoesNotExist"))
    assert CountedLabels.looked_at <= 4
