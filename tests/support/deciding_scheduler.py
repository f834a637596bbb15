"""A real kube-scheduler at work, and what its log says about each decision."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_FIELDS = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|(\[.*?\]|\S+))')
_LINE = re.compile(r'^[A-Z]\d{4} \S+ +\d+ [\w.]+:\d+\] "((?:[^"\\]|\\.)*)"(.*)$')
VERBOSITY = ("-v=4", "--vmodule=schedule_one=10,preemption=5,default_preemption=5")
"""Scores are told at 10, candidates for preemption at 5; the rest at these levels is other people's requests."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log: what it says, and the keys and values after that."""

    says: str
    values: Mapping[str, str]


@dataclass(slots=True)
class LoggedDecision:
    """Everything in the log about the decision on one pod."""

    scores: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    """By plugin and node, with the weight."""
    totals: dict[str, int] = field(default_factory=dict)
    victims: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The pods that preemption would evict, by node."""
    gates: dict[str, str] = field(default_factory=dict)
    """What kept the pod out of the queue, by plugin."""


class DecidingScheduler:
    """One kube-scheduler; its log is read on as it grows."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log.open("rb")
        self._path = log
        self._rest = b""
        self._lines: list[Line] = []

    def close(self) -> None:
        """Read no more."""
        self._log.close()

    def wait(self, says: str, count: int, seconds: float = 30) -> None:
        """Wait until ``count`` of the lines not yet forgotten say that. Raises TimeoutError."""
        self.wait_for(lambda line: line.says == says, count, seconds)

    def wait_for(self, is_it: Callable[[Line], bool], count: int = 1, seconds: float = 30) -> None:
        """Wait until there are ``count`` such lines. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while sum(map(is_it, self.lines())) < count:
            if self._process.poll() is not None:
                raise RuntimeError(f"kube-scheduler ended: {self._path.read_text()[-3000:]}")
            if time.monotonic() > end:
                raise TimeoutError(f"kube-scheduler did not say it {count} times within {seconds:g} s")
            time.sleep(0.002)

    def lines(self) -> list[Line]:
        """What it said since ``forget``."""
        *whole, self._rest = (self._rest + self._log.read()).split(b"\n")
        self._lines += (line for text in whole if (line := _read(text.decode(errors="replace"))))
        return self._lines

    def forget(self) -> None:
        """Start over with what is said from now on."""
        self.lines().clear()

    def logged(self, pod: str) -> LoggedDecision:
        """Return everything about ``pod`` up to the end of the first attempt at it."""
        logged = LoggedDecision()
        for line in _first_attempt(self.lines(), pod):
            _note(line, pod, logged)
        return logged


def _first_attempt(lines: Iterable[Line], pod: str) -> Iterator[Line]:
    """The lines of the first attempt, as attempts follow one another; before that those about ``pod``."""
    is_inside = False
    for line in lines:
        if line.says == "About to try and schedule pod":
            if is_inside:
                return
            is_inside = line.values["pod"] == pod
        elif is_inside or line.values.get("pod") == pod:
            yield line


def _read(text: str) -> Line | None:
    match = _LINE.match(text)
    if match is None:
        return None
    values = {key: quoted or bare for key, quoted, bare in _FIELDS.findall(match[2])}
    return Line(match[1].replace('\\"', '"'), values)


def _note(line: Line, pod: str, logged: LoggedDecision) -> None:
    values = line.values
    if line.says == "Pod is a potential preemption victim on node":
        logged.victims[values["node"]].add(values["pod"])
    elif line.says == "Pods are potential preemption victims on node":  # since 1.37
        logged.victims[values["node"]].update(
            f"{load['namespace']}/{load['name']}" for load in json.loads(values["pods"])
        )
    elif values.get("pod") != pod:
        return
    elif line.says == "Plugin scored node for pod":
        logged.scores[values["plugin"]][values["node"]] = int(values["score"])
    elif line.says == "Calculated node's final score for pod":
        logged.totals[values["node"]] = int(values["score"])
    elif line.says == "Status after running PreEnqueue plugin":
        logged.gates[values["plugin"]] = values["status"]


@contextmanager
def deciding_scheduler(
    binary: Path, document: Mapping[str, Any], directory: Path, *flags: str
) -> Iterator[DecidingScheduler]:
    """Run ``binary`` with ``document`` until the end of the ``with``."""
    config, log = directory / "kube-scheduler.yaml", directory / "kube-scheduler.log"
    config.write_text(yaml.safe_dump(dict(document)))
    command = [str(binary), f"--config={config}", "--secure-port=0", *VERBOSITY, *flags]
    with log.open("wb") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink, env={"PATH": os.environ["PATH"]})
    scheduler = DecidingScheduler(process, log)
    try:
        yield scheduler
    finally:
        scheduler.close()
        process.kill()
        process.wait()
