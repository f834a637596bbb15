"""The story of hostile tenants: its figures are right, and in short form it does no harm to honest ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.hostile_tenants.__main__ import Comparison, Phase, compare, main, restarts
from bench.hostile_tenants.honest_load import Waits


def result(seconds: list[float], unbound: int = 0, memory: float = 100.0) -> Comparison:
    """A scheduler that took a tenth of a second in quiet."""
    quiet = Phase(Waits([0.1] * 100, 0), {"scheduler": 100.0, "kube-scheduler": 100.0})
    hostile = Phase(Waits(seconds, unbound), {"scheduler": memory, "kube-scheduler": 900.0})
    return Comparison("honest", quiet, hostile, [])


@pytest.mark.parametrize(
    ("ours", "harm"),
    [
        pytest.param(result([0.19] * 100), [], id="not-twice-as-long"),
        pytest.param(result([0.1] * 98 + [0.3] * 2), ["0.300 s, 3.0 times the usual"], id="two-percent-are-late"),
        pytest.param(result([0.1] * 98, unbound=2), ["within inf s"], id="two-percent-have-no-node"),
        pytest.param(result([0.1] * 100, memory=350.0), ["scheduler took 250 MB more"], id="memory-grows"),
    ],
)
def test_harm_is_what_exceeds_the_limits(ours: Comparison, harm: list[str]) -> None:
    sentences = compare(ours)
    assert len(sentences) == len(harm)
    assert all(part in sentence for part, sentence in zip(harm, sentences, strict=True))


def test_kube_scheduler_is_shown_beside_it() -> None:
    (sentence,) = compare(result([0.4] * 100), result([0.5] * 100))
    assert sentence.endswith("4.0 times the usual; for kube-scheduler it was 5.0 times as long")


def test_restarted_and_replaced_pods_are_harm() -> None:
    assert restarts({"a": 0, "b": 1, "c": 0}, {"a": 0, "b": 3, "d": 0}) == [
        "pod b was restarted 2 times",
        "pod c is gone",
    ]


@pytest.mark.cluster
@pytest.mark.nightly(reason="each attack has a test of its own; this one is about all of them at once, for minutes")
@pytest.mark.timeout(600)
def test_all_attacks_at_once_do_no_harm(tmp_path: Path) -> None:
    options = ["--minutes", "2", "--quiet-minutes", "1", "--per-second", "20", "--schedulers", "honest"]
    assert main([*options, "--json", str(tmp_path / "figures.json")]) == 0
