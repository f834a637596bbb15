"""A scheduler that does not answer at the end of a round is reported."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.soak import quiescence
from bench.soak.auditing import Audit
from bench.soak.leak_check import Life
from bench.soak.ledger import Ledger
from bench.soak.pair import Pair
from bench.soak.plan import Plan


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """Two schedulers that nobody has started."""
    cluster = cast("Any", SimpleNamespace(directory=tmp_path, token="t"))
    result = Pair(Plan(), cluster, Audit(tmp_path))
    for candidate in result.both:
        candidate.lives.append(Life(f"{candidate.name}-1", 0, 0.0, 0.0))
    return result


async def test_a_scheduler_that_does_not_answer_is_wrong(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiescence, "AGREE_SECONDS", 0.1)
    judging = quiescence.Calm(Plan(), Ledger(), pair._audit, pair)
    await judging.judge()
    assert judging.wrong == [f"{candidate.life.name}: {quiescence.UNASKED}" for candidate in pair.both]
