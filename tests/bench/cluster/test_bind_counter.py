"""The count of bound pods, and pods per second from samples of that count."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import time

import pytest

from bench.cluster.bind_counter import ADDED, Bound, Frames, rates, sample
from bench.cluster.client import Server
from bench.cluster.process_stats import Cpu, cpu_seconds, peak_megabytes


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param([(1, 0), (2, 0)], [], id="no-pod-ever"),
        pytest.param([(1, 5)], [], id="the-first-sample-only-begins"),
        pytest.param([(1, 0), (2, 100), (3, 300), (4, 400)], [200, 100], id="from-the-first-pod-on"),
        pytest.param([(1, 10), (2, 10), (3, 10), (4, 70)], [20, 20, 20], id="a-gap-stands-once-for-each-second"),
        pytest.param([(1, 10), (3, 30)], [10], id="by-the-time-that-passed"),
        pytest.param([(1, 10), (2, 30), (3, 30)], [20], id="nothing-after-the-last-pod"),
    ],
)
def test_rates(samples: list[tuple[float, int]], expected: list[float]) -> None:
    assert rates(samples) == expected


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_frames_are_whole_however_they_arrive(size: int) -> None:
    bodies = [b"one", b"", b"a longer one"]
    stream = b"".join(map(frame, bodies))
    frames = Frames()
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert [body for chunk in chunks for body in frames.fed(chunk)] == bodies


@pytest.mark.parametrize("end", [pytest.param(b"0\r\n\r\n", id="in-good-order"), pytest.param(b"", id="cut-off")])
async def test_a_watch_that_ends_starts_again_with_a_new_count(end: bytes) -> None:
    watches, over = [([b"a"], end), ([b"a", b"b", b"c"], None)], asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        bodies_sent, ends_with = watches.pop(0)
        frames = [frame(ADDED + body) for body in bodies_sent]
        chunks = [b"%x\r\n%b\r\n" % (len(frame), frame) for frame in frames]
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(chunks))
        if ends_with is None:
            await reader.read()  # until the other side hangs up
        else:
            writer.write(ends_with)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        if not watches:
            over.set()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    bound = Bound("default")
    following = asyncio.create_task(bound.follow(Server("127.0.0.1", server.sockets[0].getsockname()[1], None, "")))
    await bound.reach(3, 5)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)
    await asyncio.wait_for(over.wait(), 5)
    server.close()
    assert bound.count == 3


def test_work_shows_as_cpu_of_the_process_that_did_it() -> None:
    pids = {"me": os.getpid()}
    before, start = Cpu.of(pids), time.process_time()
    while (worked := time.process_time() - start) < 0.002:
        pass
    assert Cpu.of(pids).since(before).seconds["me"] >= worked
    assert peak_megabytes(os.getpid()) > 1


def test_the_cpu_of_another_process_counts_its_threads_that_have_ended() -> None:
    working = "import threading, time\ndef work():\n    while time.thread_time() < 0.05: pass"
    program = f"{working}\nthread = threading.Thread(target=work); thread.start(); thread.join(); print(); input()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert 0.05 <= cpu_seconds(process.pid) < time.monotonic()
        process.communicate()
    with pytest.raises(ProcessLookupError, match="it has ended"):
        cpu_seconds(process.pid)


async def test_there_is_one_sample_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.cluster.bind_counter.INTERVAL_SECONDS", 0.01)
    samples: list[tuple[float, int]] = []
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await sample(lambda: 7, samples)
    assert 2 <= len(samples) <= 20
    assert {count for _, count in samples} == {7}
