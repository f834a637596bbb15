"""A process that grows is told from one that only goes up and down."""

from __future__ import annotations

import math
import os
import socket
from pathlib import Path

import pytest

from bench.soak.leak_check import JUDGED_SECONDS, WARM_UP_SECONDS, Life, Rest, open_files, resident_megabytes, slope


def life(megabytes_a_minute: float, minutes: float, noise: float = 0.0) -> Life:
    """A process that was told to grow so much, after the growth that every process begins with."""
    life = Life("a-1", 1, 0.0, 0.0)
    for second in range(0, round(minutes * 60) + 1, 2):
        early, wave = min(second, WARM_UP_SECONDS) * 0.5, noise * math.sin(second)
        life.memory.append((second, 100 + early + megabytes_a_minute * second / 60 + wave))
    return life


def test_a_process_that_leaks_is_reported() -> None:
    assert list(life(3, 10).faults()) == ["a-1 grew by 18 MB in 6 minutes"]


@pytest.mark.parametrize(
    "healthy",
    [
        pytest.param(life(0, 10, noise=8), id="goes-up-and-down"),
        pytest.param(life(0.2, 30), id="grows-a-little"),
        pytest.param(life(30, (WARM_UP_SECONDS + JUDGED_SECONDS) / 60 - 0.5), id="too-young-to-tell"),
    ],
)
def test_a_process_that_does_not_leak_is_in_order(healthy: Life) -> None:
    assert list(healthy.faults()) == []


def test_growth_before_a_process_leads_does_not_count() -> None:
    promoted = life(3, 10)
    promoted.settled = 8 * 60.0
    assert list(promoted.faults()) == []


@pytest.mark.parametrize("what", ["files", "sockets", "threads", "tasks", "series"])
def test_growing_numbers_are_reported(what: str) -> None:
    leaky, many = life(0, 10), {"files": 9, "sockets": 30, "threads": 5, "tasks": 20, "series": 400}
    leaky.rests = [Rest(at=300, **many), Rest(at=400, **{**many, what: many[what] + 150})]
    assert list(leaky.faults()) == [f"a-1 had {many[what]} {what} and has {many[what] + 150}"]


def test_pooled_connections_are_no_leak() -> None:
    busy, many = life(0, 10), {"files": 9, "threads": 5, "tasks": 20, "series": 400}
    busy.rests = [Rest(at=300, sockets=30, **many), Rest(at=400, sockets=130, **many)]
    assert list(busy.faults()) == []


def test_sockets_and_files_are_counted_separately(tmp_path: Path) -> None:
    files, sockets = open_files(os.getpid())
    with socket.socket(), (tmp_path / "file").open("w"):
        assert open_files(os.getpid()) == (files + 1, sockets + 1)


def test_the_slope_is_that_of_the_line_through_all_samples() -> None:
    assert slope([(0, 1), (1, 3), (2, 5)]) == pytest.approx(2)
    assert slope([(0, 1)]) == 0.0


def test_the_memory_of_a_process_is_read_from_the_kernel() -> None:
    assert 5 < resident_megabytes(os.getpid()) < 5000
