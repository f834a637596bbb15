"""Messages of the kit: the place in the author's code, the cause, the order, and not at endless length."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import NodePlugin, NodeTable, Plugin, Pod, Reject
from tests.support.sound_plugin import Sound, answering, breach_of, broken

CALLS = itertools.count()
FILE = "tests/scheduler_runtime/testing/test_formatting.py"


def line_of(definition: Any) -> str:
    """Return where a function or class of this file begins, as messages have it."""
    return f"{FILE}:{inspect.getsourcelines(definition)[1]}"


@pytest.fixture(autouse=True)
def _in_the_repository(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pytestconfig.rootpath)


def lookup(prices: dict[str, float]) -> float:
    try:
        return prices["large"]
    except KeyError as error:
        raise ValueError("no price for large") from error


class Prices(NodePlugin):
    """Raises two functions down."""

    def score_node(self, pod: Pod, node: Any) -> float:
        return lookup({})


def test_an_exception_of_a_hook_stands_with_its_line_and_with_its_cause() -> None:
    start = inspect.getsourcelines(lookup)[1]
    assert breach_of(Prices, "error") == (
        f"failed in score: ValueError: no price for large ({FILE}:{start + 4}), from KeyError: 'large' "
        f"({FILE}:{start + 2})"
    )


class CannotStart(Sound):
    def __init__(self, args: Any, handle: Any) -> None:
        raise OSError("no such model file")


def test_a_plugin_whose_constructor_fails_stands_with_the_line() -> None:
    line = inspect.getsourcelines(CannotStart)[1] + 2
    assert breach_of(CannotStart, "error") == f"it cannot be created: OSError: no such model file ({FILE}:{line})"


class Fickle(Plugin):
    """Rejects now and then, for reasons without end."""

    def permit(self, pod: Pod, node: str, state: Any) -> Any:
        return list(range(10_000))

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(np.full(len(nodes), next(CALLS) % 3 == 0), "far too long " * 100)


def test_a_breach_names_the_line_of_the_hook_or_else_of_the_class() -> None:
    where = {breach.check: breach.where for breach in testing.breaches(Fickle)}
    assert where["states"] == line_of(Fickle.filter)
    assert where["permit"] == line_of(Fickle.permit)
    assert where["events"] == line_of(Fickle)


def test_a_class_without_source_has_no_line() -> None:
    plugin = broken(events=())
    assert {breach.where for breach in testing.breaches(plugin)} == {""}


def test_the_breach_that_makes_others_untrue_is_first() -> None:
    checks = [breach.check for breach in testing.breaches(Fickle)]
    assert checks[0] == "purity"
    assert checks.index("events") < checks.index("permit")


def test_long_output_is_cut_and_a_case_stands_there_once() -> None:
    with pytest.raises(testing.ContractError) as failed:
        testing.check(Fickle)
    lines = str(failed.value).splitlines()
    assert max(map(len, lines)) < 900
    assert any("permit answered [0, 1, 2, " in line and "characters more); answer ALLOW" in line for line in lines)
    cases = [line for line in lines if line.startswith("    cluster ")]
    assert len(cases) == len(set(cases)) < len(failed.value.breaches)
    assert "    the same cluster and pod" in lines


class Silent(NodePlugin):
    """Means to say that the pod fits."""

    def filter_node(self, pod: Pod, node: Any) -> str | None:
        return ""


EMPTY = "the reason of a Reject is empty; say why, for users read it in the pod's events"


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        pytest.param(Silent, f"failed in filter: {EMPTY}; where the pod fits, filter_node returns None", id="node"),
        pytest.param(broken(filter=answering([Reject(True, " ")])), f"failed in filter: {EMPTY}", id="filter"),
        pytest.param(broken(pre_filter=answering(Reject.pod(""))), f"failed in pre_filter: {EMPTY}", id="pre-filter"),
        pytest.param(broken(permit=answering(Reject.pod(""))), f"failed in permit: {EMPTY}", id="permit"),
        pytest.param(
            broken(pre_enqueue=answering(Reject.pod(7))),  # type: ignore[arg-type]
            "failed in pre_enqueue: the reason of a Reject is 7, not text",
            id="not-text",
        ),
    ],
)
def test_a_rejection_must_say_why(plugin: type[Plugin], words: str) -> None:
    assert breach_of(plugin, "error") == words
