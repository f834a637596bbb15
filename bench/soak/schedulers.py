"""The two schedulers: started as a user starts them, asked over their endpoints, ended in two ways."""

from __future__ import annotations

import asyncio
import json
import re
import ssl
import sys
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM
from typing import Any

from bench.side_by_side.schedulers import environment
from bench.soak.leak_check import Life, Rest, opened
from bench.soak.metrics import Scrape
from bench.soak.proc_stats import Seen, seen
from bench.soak.sent_requests import Sent
from devcluster import Cluster
from devcluster.guard import Guard
from devcluster.system.ports import free_ports
from devcluster.system.processes import Process

PROGRAM = Path(sys.executable).parent / "berth-scheduler"
START_SECONDS = 120.0
END_SECONDS = 30.0
PAGE_SECONDS = 30.0
LINE = re.compile(r"\d{4}-\S+Z (?P<level>[A-Z]+) (?P<text>.*)")
REFUSED = "the new document is refused, the last one stays in force"
EXPECTED_ERRORS = (REFUSED,)


class EndedError(Exception):
    """A scheduler is not there that should be; the message has its last words."""


@dataclass(slots=True)
class Scheduler:
    """One of the two, in whichever process it is now."""

    name: str
    cluster: Cluster
    document: Path
    port: int = field(default_factory=lambda: free_ports(1)[0])
    lives: list[Life] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)
    before: Sent = field(default_factory=Sent)
    """What was sent under its name when this process was started."""
    refusals: int = 0
    """How many documents this process had to refuse."""
    last: Scrape | None = None
    """What this process said in the last calm."""
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
        """Start a process, ``before`` which that much was sent under its name; it has listed everything at the end.

        Raises EndedError.
        """
        command = [str(PROGRAM), f"--config={self.document}", f"--kubeconfig={self.kubeconfig}", "-v=2"]
        command += ["--bind-address=127.0.0.1", f"--secure-port={self.port}"]
        guard = Guard(self.cluster.directory)
        self._process = await asyncio.to_thread(guard.start, self.name, command, environment(self.cluster))
        now = time.monotonic()
        self.lives.append(Life(f"{self.name}-{len(self.lives) + 1}", self._process.pid, now, now))
        self.before, self.refusals, self.last = before or Sent(), 0, None
        while not await self._is_ready():
            if not self.is_alive or time.monotonic() > now + START_SECONDS:
                raise EndedError(f"{self.name} is not ready; its last words:\n{self.log.read_text()[-1500:]}")
            await asyncio.sleep(0.2)

    async def end(self, *, outright: bool) -> None:
        """End the process by -9, or tell it to end and wait until it has."""
        process, self._process = self._process, None
        if outright:
            await asyncio.to_thread(Guard(self.cluster.directory).stop, self.name)
        elif process:
            process.send(SIGTERM)
            if not await asyncio.to_thread(process.ended, END_SECONDS):
                self.wrong.append(f"{self.name} did not end within {END_SECONDS:.0f} s of being told to")
                await asyncio.to_thread(Guard(self.cluster.directory).stop, self.name)

    async def scrape(self) -> Scrape:
        """What its metrics say. Raises OSError."""
        return Scrape(await self._page("/metrics"))

    async def resources(self) -> Scrape:
        """What it says that pods ask for. Raises OSError."""
        return Scrape(await self._page("/metrics/resources"))

    def seen(self) -> Seen:
        """Its process, as the kernel knows it. Raises OSError."""
        return seen(self.life.pid)

    async def configz(self) -> dict[str, Any]:
        """What it says that it goes by. Raises OSError."""
        said: dict[str, Any] = json.loads(await self._page("/configz"))
        return said

    async def differences(self) -> dict[str, list[str]]:
        """Where its cache is other than the API server. Raises OSError."""
        said: dict[str, list[str]] = json.loads(await self._page("/debug/cache?compare"))
        return {what: which for what, which in said.items() if which}

    async def rest(self) -> None:
        """Note what the process says, and has open, while nothing happens. Raises OSError."""
        scrape = self.last = await self.scrape()
        files, sockets = opened(self.life.pid)
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
        """Read what is new in its log, and see that it still lives."""
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
        said = LINE.fullmatch(line)
        if said is None:
            if line.startswith("Traceback"):
                self.wrong.append(f"{self.life.name} has a traceback in its log")
        elif said["level"] == "WARNING":
            self.warnings[re.sub(r"\d+", "#", said["text"])[:80]] += 1
        elif said["level"] in ("ERROR", "CRITICAL") and not said["text"].startswith(EXPECTED_ERRORS):
            self.wrong.append(f"{self.life.name} logs: {said['text'][:300]}")

    @property
    def log(self) -> Path:
        return self.cluster.logs(self.name)

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.directory / f"{self.name}.kubeconfig"

    async def _is_ready(self) -> bool:
        try:
            return await self._page("/readyz") == "ok"
        except OSError:  # not there yet, or not ready: its error is one too
            return False

    async def _page(self, path: str) -> str:
        return await asyncio.to_thread(self._fetch, path)

    def _fetch(self, path: str) -> str:
        trusting = ssl._create_unverified_context()  # noqa: S323 - nobody signs the certificate it makes for itself
        asked = urllib.request.Request(
            f"https://127.0.0.1:{self.port}{path}", headers={"Authorization": f"Bearer {self.cluster.token}"}
        )
        with urllib.request.urlopen(asked, timeout=PAGE_SECONDS, context=trusting) as answer:  # noqa: S310 - loopback
            return str(answer.read().decode())
