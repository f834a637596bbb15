"""The story of hostile tenants: its figures are right, and in short form it does no harm to honest ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.hostile_tenants.__main__ import Phase, compare, main, restarts
from bench.hostile_tenants.honest_load import Waits


def phase(berth: Waits, memory: float = 100.0) -> Phase:
    others = Waits([0.01] * 100, 0)
    return Phase({"honest": berth, "default-scheduler": others}, {"scheduler": memory, "kube-scheduler": memory})


QUIET = phase(Waits([0.1] * 100, 0))


@pytest.mark.parametrize(
    ("hostile", "harm"),
    [
        pytest.param(phase(Waits([0.19] * 100, 0)), [], id="not-twice-as-long"),
        pytest.param(
            phase(Waits([0.1] * 98 + [0.3] * 2, 0)), ["0.300 s, 3.0 times as long"], id="two-percent-are-late"
        ),
        pytest.param(phase(Waits([0.1] * 98, 2)), ["within inf s"], id="two-percent-have-no-node"),
        pytest.param(phase(Waits([0.1] * 100, 0), memory=350.0), ["scheduler took 250 MB more"], id="memory-grows"),
    ],
)
def test_harm_is_what_exceeds_the_limits(hostile: Phase, harm: list[str]) -> None:
    sentences = compare(QUIET, hostile)
    assert len(sentences) == len(harm)
    assert all(part in sentence for part, sentence in zip(harm, sentences, strict=True))


def test_restarted_and_replaced_pods_are_harm() -> None:
    assert restarts({"a": 0, "b": 1, "c": 0}, {"a": 0, "b": 3, "d": 0}) == [
        "pod b was restarted 2 times",
        "pod c is gone",
    ]


@pytest.mark.cluster
@pytest.mark.nightly(reason="each attack has a test of its own; this one is about all of them at once, for minutes")
@pytest.mark.timeout(600)
def test_all_attacks_at_once_do_no_harm(tmp_path: Path) -> None:
    options = ["--minutes", "2", "--quiet-minutes", "1", "--per-second", "20", "--json", str(tmp_path / "figures.json")]
    assert main(options) == 0
