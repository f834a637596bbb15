"""The schedulers of a soak: started as a user starts them, judged by their pages and logs, ended in two ways."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM
from typing import Any

from bench.cluster.client import read_page
from bench.cluster.process_stats import ProcessState, process_state
from bench.side_by_side.schedulers import environment
from bench.soak.auditing import Sent
from bench.soak.leak_check import Life, Rest, open_files
from bench.soak.metrics import Scrape
from devcluster import Cluster
from devcluster.guard import Guard
from devcluster.system.ports import free_port
from devcluster.system.processes import Process

PROGRAM = Path(sys.executable).parent / "berth-scheduler"
START_SECONDS = 120.0
END_SECONDS = 30.0
PAGE_SECONDS = 30.0
LINE = re.compile(r"\d{4}-\S+Z (?P<level>[A-Z]+) (?P<text>.*)")
REFUSED = "the new document is refused, the last one stays in force"
EXPECTED_ERRORS = (REFUSED,)


class EndedError(Exception):
    """A scheduler has ended or is not ready; the message has the end of its log."""


@dataclass(slots=True)
class Scheduler:
    """One of the two schedulers, with its present process."""

    name: str
    cluster: Cluster
    document: Path
    port: int = field(default_factory=free_port)
    lives: list[Life] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    before: Sent = field(default_factory=Sent)
    """The requests under its name before this process was started."""
    refusals: int = 0
    """The number of documents that this process had to refuse."""
    last: Scrape | None = None
    """The metrics of this process in the last calm."""
    _process: Process | None = None
    _read: int = 0

    @property
    def life(self) -> Life:
        """Its present process."""
        return self.lives[-1]

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.is_alive

    async def start(self, before: Sent | None = None) -> None:
        """Start a process and wait until it has listed everything; ``before``: the earlier requests under its name.

        Raises EndedError.
        """
        command = [str(PROGRAM), f"--config={self.document}", f"--kubeconfig={self.kubeconfig}", "-v=2"]
        command += ["--bind-address=127.0.0.1", f"--secure-port={self.port}"]
        guard = Guard(self.cluster.directory)
        self._process = await asyncio.to_thread(guard.start, self.name, command, environment(self.cluster))
        now = time.monotonic()
        self.lives.append(Life(f"{self.name}-{len(self.lives) + 1}", self._process.pid, now, now))
        self.before, self.refusals, self.last = before or Sent(), 0, None
        while True:
            with contextlib.suppress(OSError):  # does not listen yet, or is not ready: an HTTP error is an OSError too
                if await self._page("/readyz") == "ok":
                    return
            if not self.is_alive or time.monotonic() > now + START_SECONDS:
                raise EndedError(f"{self.name} is not ready; its last words:\n{self.log.read_text()[-1500:]}")
            await asyncio.sleep(0.2)

    async def end(self, *, outright: bool) -> None:
        """End the process by SIGKILL, or by SIGTERM with a time for its end."""
        process, self._process = self._process, None
        if outright:
            await asyncio.to_thread(Guard(self.cluster.directory).stop, self.name)
        elif process:
            process.send(SIGTERM)
            if not await asyncio.to_thread(process.ended, END_SECONDS):
                self.wrong.append(f"{self.name} did not end within {END_SECONDS:.0f} s of SIGTERM")
                await asyncio.to_thread(Guard(self.cluster.directory).stop, self.name)

    async def scrape(self) -> Scrape:
        """Its metrics. Raises OSError."""
        return Scrape(await self._page("/metrics"))

    async def resources(self) -> Scrape:
        """Its metrics about the requests of pods. Raises OSError."""
        return Scrape(await self._page("/metrics/resources"))

    def state(self) -> ProcessState:
        """Its process, as the kernel reports it. Raises OSError."""
        return process_state(self.life.pid)

    async def configz(self) -> dict[str, Any]:
        """Its page about the document in force. Raises OSError."""
        answer: dict[str, Any] = json.loads(await self._page("/configz"))
        return answer

    async def differences(self) -> dict[str, list[str]]:
        """The differences between its cache and the API server. Raises OSError."""
        answer: dict[str, list[str]] = json.loads(await self._page("/debug/cache?compare"))
        return {what: which for what, which in answer.items() if which}

    async def rest(self) -> None:
        """Note the metrics and the open files of the process while nothing happens. Raises OSError."""
        scrape = self.last = await self.scrape()
        files, sockets = open_files(self.life.pid)
        self.life.rests.append(
            Rest(
                time.monotonic(),
                files=files,
                sockets=sockets,
                threads=int(scrape.sum("python_threads")),
                tasks=int(scrape.sum("python_tasks")),
                series=scrape.series,
            )
        )

    def check(self) -> None:
        """Judge the new lines of its log, and check that it still lives."""
        with self.log.open("rb") as file:
            file.seek(self._read)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.decode(errors="replace").splitlines():
            self._judge(line)
        if self._process and not self._process.is_alive:
            self.wrong.append(f"{self.life.name} has ended by itself: {self.log.read_text()[-500:]}")
            self._process = None

    def _judge(self, line: str) -> None:
        match = LINE.fullmatch(line)
        if match is None:
            if line.startswith("Traceback"):
                self.wrong.append(f"{self.life.name} has a traceback in its log")
        elif match["level"] == "WARNING":
            self.warnings[re.sub(r"\d+", "#", match["text"])[:80]] += 1
        elif match["level"] in ("ERROR", "CRITICAL") and not match["text"].startswith(EXPECTED_ERRORS):
            self.wrong.append(f"{self.life.name} logs: {match['text'][:300]}")

    @property
    def log(self) -> Path:
        return self.cluster.logs(self.name)

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.directory / f"{self.name}.kubeconfig"

    async def _page(self, path: str) -> str:
        address = f"https://127.0.0.1:{self.port}{path}"
        return await asyncio.to_thread(read_page, address, PAGE_SECONDS, self.cluster.token)
