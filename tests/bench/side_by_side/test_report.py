"""Turns, tables and the page they are written into."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.side_by_side.__main__ import PAGE, measure, order
from bench.side_by_side.report import BEGIN, END, faults, tables, write_into
from bench.side_by_side.run import Run
from bench.side_by_side.schedulers import CONTENDERS, Contender
from bench.side_by_side.summary import Summary, summarize
from bench.workloads import Workload, load


def run(contender: str, rate: float, repetition: int = 1, *, wrong: tuple[str, ...] = (), samples: int = 3) -> Run:
    return Run(
        workload="Some/100Nodes",
        contender=contender,
        repetition=repetition,
        nodes=100,
        pods=1000,
        seconds=1000 / rate,
        quiet_seconds=2000 / rate,
        rates=[rate] * samples,
        cpu=dict.fromkeys(("scheduler", "kube-apiserver", "etcd", "bench"), 100.0),
        peak_megabytes=64,
        events=1000,
        faults=list(wrong),
    )


def summary(runs: Sequence[Run]) -> Summary:
    return summarize(runs, "1.36", "2026-01-02")


def cells(text: str, beginning: str) -> list[list[str]]:
    """The cells of the rows that begin so."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return [row for row in rows if row[: len(beginning.split())] == beginning.split()]


def test_all_contenders_go_first_equally_often() -> None:
    smoke = [workload for workload in load() if "smoke" in workload.labels]
    turns = list(order(smoke, list(CONTENDERS.values()), 3))
    count = len(CONTENDERS)
    assert len(turns) == 3 * len(smoke) * count
    assert all(
        {turn[1].name for turn in turns[at : at + count]} == {turns[at][1].name} for at in range(0, len(turns), count)
    )
    first = Counter((turns[at][1].name, turns[at][2].name) for at in range(0, len(turns), count))
    assert set(first.values()) == {1}


def test_a_run_that_fails_is_reported_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def some(workload: Workload, contender: Contender, repetition: int, kubernetes: str) -> Run:
        if repetition == 1:
            raise ExceptionGroup("several", [TimeoutError("3 of 150 pods"), RuntimeError("it ended")])
        return run(contender.name, 10, repetition)

    monkeypatch.setattr("bench.side_by_side.__main__.run", some)
    turns = [(repetition, load()[0], CONTENDERS["berth"]) for repetition in (1, 2)]
    measurements, unfinished = measure(turns, "1.36", tmp_path / "runs.json")
    assert measurements
    assert [run.repetition for run in measurements.runs] == [2]
    assert unfinished == ["SchedulingBasic/100Nodes, berth, run 1: did not end: 3 of 150 pods; it ended"]
    assert [run["repetition"] for run in json.loads((tmp_path / "runs.json").read_text())["runs"]] == [2]


def test_the_file_has_the_figures_of_the_table(tmp_path: Path) -> None:
    runs = [
        run("kube-scheduler", 100, 1),
        run("berth", 200, 1),
        run("kube-scheduler", 50, 2),
        run("berth", 200, 2),
        run("berth", 300, 3),
    ]
    summary(runs).write(tmp_path / "bench.json")
    document = json.loads((tmp_path / "bench.json").read_text())
    assert (document["date"], document["kubernetes"], document["repetitions"]) == ("2026-01-02", "1.36", 3)
    assert document["python"] == platform.python_version()
    assert document["machine"]["count"] == os.cpu_count()
    assert document["machine"]["processor"]
    theirs, ours = sorted(document["results"], key=lambda result: result["runs"])
    assert (theirs["contender"], ours["contender"]) == ("kube-scheduler", "berth")
    assert ours["rate"] == {"median": 200, "least": 200, "greatest": 300}
    assert theirs["wall_rate"] == {"median": 75, "least": 50, "greatest": 100}
    assert ours["cpu"]["etcd"] == {"median": 100, "least": 100, "greatest": 100}
    assert document["ratios"] == [
        {
            "workload": "Some/100Nodes",
            "contender": "berth",
            "to": "kube-scheduler",
            "pairs": 2,
            "rate": {"median": 3, "least": 2, "greatest": 4},
        }
    ]
    assert [run["seconds"] for run in document["runs"]] == [run.seconds for run in runs]


def test_without_a_run_nothing_is_summarize(tmp_path: Path) -> None:
    assert measure([], "1.36", tmp_path / "runs.json") == (None, [])


def test_a_row_has_the_median_and_the_extremes() -> None:
    runs = [run("berth", 300, 1), run("berth", 100, 2), run("berth", 200, 3)]
    (row,) = cells(tables(summary(runs)), "Some/100Nodes berth")
    assert row[2] == "200 (100–300)"


def test_one_sample_is_no_average() -> None:
    assert dataclasses.replace(run("berth", 100, samples=1), rates=[1.0]).rate == pytest.approx(100)
    assert dataclasses.replace(run("berth", 100), rates=[1.0, 2.0, 3.0]).rate == 2


def test_ratios_compare_runs_of_one_repetition() -> None:
    runs = [run("kube-scheduler", 100, 1), run("berth", 200, 1), run("kube-scheduler", 50, 2), run("berth", 200, 2)]
    ratios = cells(tables(summary(runs)), "Some/100Nodes")[-1]
    assert ratios == ["Some/100Nodes", "3.00 (2.00–4.00)", "-"]


def test_a_wrong_placement_is_reported_with_its_run() -> None:
    assert faults([run("limit", 1), run("berth", 1, 2, wrong=("node a is full",))]) == [
        "Some/100Nodes, berth, run 2: node a is full"
    ]


def test_only_the_text_between_the_marks_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n{BEGIN}\nold\n{END}\nafter\n")
    write_into(page, summary([run("berth", 123)]))
    text = page.read_text()
    assert text.startswith("# Before\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    assert "123" in text
    assert "2026-01-02: Kubernetes 1.36" in text


def test_a_page_without_marks_does_not_change(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    with pytest.raises(ValueError, match="put them where the tables belong"):
        write_into(page, summary([run("berth", 1)]))
    assert page.read_text() == "nothing\n"


def test_our_page_has_the_marks() -> None:
    text = PAGE.read_text()
    assert text.index(BEGIN) < text.index(END)
