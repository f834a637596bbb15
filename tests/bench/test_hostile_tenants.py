"""The story of hostile tenants: its figures are right, and in short form it does no harm to honest ones."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from bench.cluster.client import Connection, Server
from bench.hostile_tenants.__main__ import Comparison, Phase, compare, main, restarts
from bench.hostile_tenants.attacker import Attacker, Outcomes
from bench.hostile_tenants.honest_author import is_in_force
from bench.hostile_tenants.honest_load import Waits
from bench.hostile_tenants.refused_writes import JSON
from bench.hostile_tenants.usage import Usage


def result(
    seconds: list[float], unbound: int = 0, memory: float = 100.0, changes: tuple[float, ...] = (9.0,)
) -> Comparison:
    """A scheduler that took a tenth of a second in quiet."""
    quiet = Phase(Waits([0.1] * 100, 0), Usage({"scheduler": 100.0, "kube-scheduler": 100.0}, {}), [0.1])
    hostile = Phase(Waits(seconds, unbound), Usage({"scheduler": memory, "kube-scheduler": 900.0}, {}), [*changes])
    return Comparison("honest", quiet, hostile, [])


@pytest.mark.parametrize(
    ("ours", "harm"),
    [
        pytest.param(result([0.19] * 100), [], id="not-twice-as-long"),
        pytest.param(result([0.1] * 98 + [0.3] * 2), ["0.300 s, 3.0 times the usual"], id="two-percent-are-late"),
        pytest.param(result([0.1] * 98, unbound=2), ["within inf s"], id="two-percent-have-no-node"),
        pytest.param(result([0.1] * 100, memory=350.0), ["scheduler took 250 MB more"], id="memory-grows"),
        pytest.param(
            result([0.1] * 100, changes=(0.2, math.inf)), ["1 changes of a profile were not in force"], id="no-answer"
        ),
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


def test_a_generation_is_in_force_when_the_condition_is_about_it() -> None:
    condition = {"type": "Ready", "status": "True", "observedGeneration": 3}
    ready = {"status": {"conditions": [{"type": "Reconciling", "status": "True", "observedGeneration": 4}, condition]}}
    assert is_in_force(ready, 3)
    assert not is_in_force(ready, 4)
    assert not is_in_force({"status": {"conditions": [{**condition, "status": "False"}]}}, 3)
    assert not is_in_force({}, 1)


@pytest.mark.parametrize(
    ("status", "text", "refused", "breach"),
    [
        pytest.param(403, "denied by a policy", 1, "", id="for-its-reason"),
        pytest.param(403, "no right", 0, "not refused because 'by a policy', but: ", id="for-another-reason"),
        pytest.param(201, "{}", 0, "taken, which has to be refused: by a policy", id="taken"),
        pytest.param(429, "too many requests", 0, "", id="nobody-has-looked-at-it"),
        pytest.param(504, "timeout", 0, "", id="no-answer-in-time"),
    ],
)
async def test_what_is_not_refused_for_its_reason_is_a_breach(
    status: int, text: str, refused: int, breach: str
) -> None:
    reader, sent, outcomes = asyncio.StreamReader(), list[bytes](), Outcomes()
    reader.feed_data(f"HTTP/1.1 {status} As It Is\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
    writer = cast(asyncio.StreamWriter, SimpleNamespace(write=sent.append))
    story = Attacker("story", Connection(Server("here", 1, None, "token"), reader, writer), outcomes)

    await story.be_refused("POST", "/x", {}, JSON, "by a policy")

    assert len(sent) == 1
    assert outcomes.refused["story"] == refused
    found = outcomes.breaches.get("POST /x", "")
    assert found.startswith(breach)
    assert bool(found) == bool(breach)


@pytest.mark.cluster
@pytest.mark.nightly(reason="each attack has a test of its own; this one is about all of them at once, for minutes")
@pytest.mark.timeout(600)
def test_all_attacks_at_once_do_no_harm(tmp_path: Path) -> None:
    options = ["--minutes", "2", "--quiet-minutes", "1", "--per-second", "20", "--schedulers", "honest"]
    assert main([*options, "--json", str(tmp_path / "figures.json")]) == 0
