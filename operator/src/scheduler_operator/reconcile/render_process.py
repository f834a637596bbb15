"""Rendering and checking in processes of their own, with limits on time and memory (ADR 25).

    RenderProcesses.render_shared ─► a free process ─► render ─► its result
                                          │
                                          └── too long, too large: ended, started anew; the author is told

The bounds on what people write keep the work small. The limits are there for what the bounds do not foresee: a thread
would not do, because it holds the lock that the event loop needs, and because nothing can end it.
"""

import asyncio
import copyreg
import hashlib
import logging
import math
import os
import pickle
import resource
import signal
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

from scheduler_operator import render
from scheduler_operator.cluster.user_objects import StoredObject
from scheduler_operator.render import ObjectProblems, Rendered, SharedProcess
from scheduler_operator.render.findings import ANNOTATION
from scheduler_operator.resources import kinds
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import NEWEST_MINOR, Target, Version
from scheduler_runtime.catalog.bounds import cut, largest_part
from scheduler_runtime.config import Problem
from scheduler_runtime.config.problems import path_of

logger = logging.getLogger(__name__)

PROCESSES = 2
"""One profile that takes its time does not hold up all others."""
CPU_SECONDS = 5
"""More than a hundred times what a large profile takes."""
WALL_SECONDS = 60.0
"""For a process that does not run at all: the machine may be busy with others for long."""
DATA_BYTES = 384 * 2**20
_REMEMBERED = 1000
_LENGTH = struct.Struct(">Q")


def _read_only(fields: dict[str, Any]) -> MappingProxyType[str, Any]:
    return MappingProxyType(fields)


copyreg.pickle(MappingProxyType, lambda proxy: (_read_only, (dict(proxy),)))  # the class has no name that pickle finds

Configs = Mapping[str, StoredObject]


class UnrenderableError(Exception):
    """Rendering ended without a result; the text is the end of a sentence about the spec."""


@dataclass(slots=True)
class Spent:
    """What requests have taken."""

    cpu_seconds: float = 0.0


_SPENT: ContextVar[Spent] = ContextVar("spent")


@contextmanager
def count_cpu_time() -> Iterator[Spent]:
    """Count the CPU time that processes take for the requests of this task."""
    spent = Spent()
    token = _SPENT.set(spent)
    try:
        yield spent
    finally:
        _SPENT.reset(token)


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """What one rendering may take."""

    cpu_seconds: int = CPU_SECONDS
    wall_seconds: float = WALL_SECONDS
    data_bytes: int = DATA_BYTES


class RenderProcesses:
    """A few processes that render and check, one thing at a time each. Started when they are needed first."""

    def __init__(self, count: int = PROCESSES, limits: RenderLimits = RenderLimits()) -> None:
        self.limits = limits
        self.failed = 0
        """Requests without a result."""
        self._free: asyncio.LifoQueue[asyncio.subprocess.Process | None] = asyncio.LifoQueue()
        for _ in range(count):
            self._free.put_nowait(None)
        self._ending: set[asyncio.Future[Any]] = set()
        self._unrenderable: dict[bytes, str] = {}
        """Why a request had no result, by its digest: the same request would have none again."""

    async def render_shared(
        self, owner: StoredObject, joiners: Sequence[StoredObject], configs: Configs, namespace: str, target: Target
    ) -> SharedProcess:
        """Render ``owner`` with those of the ``joiners`` that can run in its process, as ``render.render_shared``.

        If that exceeds the limits, those join that can together, the oldest first; the others are told.
        """

        async def rendered(first: StoredObject, members: Sequence[StoredObject]) -> SharedProcess:
            used = _used(configs, [first, *members])
            shared: SharedProcess = await self._call(_render_shared, first, members, used, namespace, target)
            return shared

        try:
            return await rendered(owner, joiners)
        except UnrenderableError as error:
            if not joiners:
                return SharedProcess(_unrenderable(owner, str(error)), {})
        try:
            shared = await rendered(owner, ())
        except UnrenderableError as error:
            return SharedProcess(_unrenderable(owner, str(error)), {})
        members, excluded = list[StoredObject](), dict[str, ObjectProblems]()
        for joiner in joiners:
            try:
                await rendered(joiner, ())
            except UnrenderableError as error:
                excluded[joiner.name] = _unrenderable(joiner, str(error))
                continue
            try:
                shared = await rendered(owner, [*members, joiner])
                members.append(joiner)
            except UnrenderableError as error:
                message = (
                    f"with this profile, the document of {owner.name} and those that joined before {error}; "
                    "join another profile, or none"
                )
                excluded[joiner.name] = ObjectProblems("JoinConflict", (Problem("spec.joins", message),))
        return SharedProcess(shared.outcome, {**excluded, **shared.excluded})

    async def problems_alone(
        self, profile: StoredObject, configs: Configs, namespace: str, target: Target
    ) -> tuple[Problem, ...]:
        """Return the problems of a profile by itself, as ``render.problems_alone``."""
        outcome = (await self.render_shared(profile, [], configs, namespace, target)).outcome
        return outcome.problems if isinstance(outcome, ObjectProblems) else ()

    async def check(
        self, config: StoredObject, configs: Configs, namespace: str, target: Target
    ) -> ObjectProblems | None:
        """Return what the author of a PluginConfig has to change, as ``render.check``."""
        declaring = {name: other for name, other in configs.items() if other.plugin == config.plugin and other.declares}
        siblings = {**declaring, config.name: config}
        try:
            problems: ObjectProblems | None = await self._call(_check, config, siblings, namespace, target)
        except UnrenderableError as error:
            return _unrenderable(config, str(error))
        return problems

    async def close(self) -> None:
        """End the processes. Nothing may be rendered any more."""
        while not self._free.empty():
            if (process := self._free.get_nowait()) is not None:
                self._end(process)
        await asyncio.gather(*self._ending)

    def _end(self, process: asyncio.subprocess.Process) -> None:
        with suppress(ProcessLookupError):
            process.kill()
        ending = asyncio.ensure_future(process.communicate())  # reads to the end of the pipes, and closes them
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call ``function`` in a free process and return its result. Raises UnrenderableError."""
        call = (function.__name__, _as_rendered(arguments))
        # Not of the pickle, which also depends on what of this is one object in memory.
        digest = hashlib.sha256(repr(call).encode()).digest()
        if reason := self._unrenderable.get(digest):
            raise UnrenderableError(reason)
        request = pickle.dumps(call)
        answer = await self._ask(request)
        if not answer.is_of_the_spec:
            answer = await self._ask(request)  # whatever ended the process may have had nothing to do with this spec
        if spent := _SPENT.get(None):
            spent.cpu_seconds += answer.cpu_seconds
        if answer.reason:
            self.failed += 1
            if answer.is_of_the_spec:
                self._unrenderable[digest] = answer.reason
            if len(self._unrenderable) > _REMEMBERED:
                del self._unrenderable[next(iter(self._unrenderable))]
            raise UnrenderableError(answer.reason)
        return answer.result

    async def _ask(self, request: bytes) -> "Answer":
        """Send a request to a free process; end it afterwards if it does not keep on."""
        process, answer = await self._free.get(), None
        try:
            process = process or await self.start_process()
            answer = await self.exchange(process, request)
        finally:
            # Also when this was cancelled: the answer would be taken for that to the next request.
            keeps_on = answer is not None and not answer.is_last
            if process is not None and not keeps_on:
                self._end(process)
            self._free.put_nowait(process if keeps_on else None)
        return answer

    async def start_process(self) -> asyncio.subprocess.Process:
        """Start a process that answers requests."""
        limits = (str(self.limits.cpu_seconds), str(self.limits.data_bytes))
        pipe = asyncio.subprocess.PIPE
        program = f"from {__name__} import main; main()"
        return await asyncio.create_subprocess_exec(sys.executable, "-c", program, *limits, stdin=pipe, stdout=pipe)

    async def exchange(self, process: asyncio.subprocess.Process, request: bytes) -> "Answer":
        """Send a request and return the answer, also for a process that gives none."""
        if process.stdin is None or process.stdout is None:
            raise TypeError("a process without pipes")
        try:
            async with asyncio.timeout(self.limits.wall_seconds):
                process.stdin.write(_LENGTH.pack(len(request)) + request)
                await process.stdin.drain()
                (length,) = _LENGTH.unpack(await process.stdout.readexactly(_LENGTH.size))
                answer = pickle.loads(await process.stdout.readexactly(length))  # noqa: S301 - our own process wrote it
        except TimeoutError:
            reason = f"could not be rendered within {self.limits.wall_seconds:g} s"
            return Answer(reason=reason, is_last=True, is_of_the_spec=False, cpu_seconds=self.limits.cpu_seconds)
        except (OSError, asyncio.IncompleteReadError):
            code = await process.wait()
            if code == -signal.SIGXCPU:
                reason = f"takes more than {self.limits.cpu_seconds} s of CPU time to render"
                return Answer(reason=reason, is_last=True, cpu_seconds=self.limits.cpu_seconds)
            cause = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            reason = f"ended the process that renders it, {cause}"
            return Answer(reason=reason, is_last=True, is_of_the_spec=False, cpu_seconds=self.limits.cpu_seconds)
        if answer.traceback:
            logger.error("a spec could not be rendered, which is a mistake of Berth's:\n%s", answer.traceback)
        return Answer(answer.result, answer.reason, is_last=answer.is_last, cpu_seconds=answer.cpu_seconds)


def _as_rendered(argument: Any) -> Any:
    """Return an argument without that part of objects which rendering does not read: it changes with each status."""
    match argument:
        case StoredObject(relations=relations):
            annotations = {ANNOTATION: relations.annotations.get(ANNOTATION, "")}
            return replace(argument, relations=replace(relations, status={}, annotations=annotations), version=0)
        case tuple() | list():
            return [_as_rendered(item) for item in argument]
        case dict():
            return {name: _as_rendered(item) for name, item in argument.items()}
    return argument


def _used(configs: Configs, profiles: Iterable[StoredObject]) -> dict[str, StoredObject]:
    """Return the PluginConfigs that one of the profiles uses: only these are sent."""
    profiles = [*profiles]
    return {
        name: config
        for name, config in configs.items()
        if any(render.uses(profile.relations, config.relations) for profile in profiles)
    }


def _unrenderable(stored: StoredObject, reason: str) -> ObjectProblems:
    steps, count = largest_part(stored.decode().spec)
    place = path_of(("spec", *steps))
    message = f"{reason}; write less, or something else: {place} is the largest part, with {count:,} values"
    return ObjectProblems("Invalid", (Problem("spec", message),))


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a process to one request."""

    result: Any = None
    reason: str = ""
    """Why there is no result, as the end of a sentence about the spec."""
    traceback: str = ""
    is_last: bool = False
    """True if the process answers no more: it has ended, is stuck, or has become large."""
    is_of_the_spec: bool = True
    """Whether the same request would have the same answer: not if the machine may be busy, or out of memory."""
    cpu_seconds: float = 0.0
    """What the request took, or may have taken."""


def _render_shared(
    owner: StoredObject, joiners: Sequence[StoredObject], configs: Configs, namespace: str, target: Target
) -> SharedProcess:
    shared = render.render_shared(
        owner.decode(), [joiner.decode() for joiner in joiners], _decode(configs), namespace, target
    )
    outcome = shared.outcome.without_arguments() if isinstance(shared.outcome, Rendered) else shared.outcome
    return SharedProcess(outcome, dict(shared.excluded))


def _check(config: StoredObject, configs: Configs, namespace: str, target: Target) -> ObjectProblems | None:
    decoded = _decode(configs)
    return render.check(decoded.get(config.name, config.decode()), decoded, namespace, target)


def _decode(configs: Configs) -> dict[str, UserObject]:
    return {name: config.decode() for name, config in configs.items()}


_FUNCTIONS = {function.__name__: function for function in (_render_shared, _check)}


def serve(requests: BinaryIO, answers: BinaryIO, cpu_seconds: int, data_bytes: int) -> None:
    """Answer requests until there is no more: the main function of the processes."""
    resource.setrlimit(resource.RLIMIT_DATA, (data_bytes, data_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.nice(5)  # the event loop comes first
    # What is made only once is made before the first request, which would pay for it.
    render.render([UserObject(kinds.PROFILE.name, "first", "", 0, {}, {})], {}, "", Target(Version.parse(NEWEST_MINOR)))
    is_last = False
    while not is_last and (head := requests.read(_LENGTH.size)):
        (length,) = _LENGTH.unpack(head)
        began = time.process_time()
        limit = math.ceil(began) + cpu_seconds
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        answer = _answer(requests.read(length), data_bytes)
        is_last = _peak_bytes() > data_bytes / 2
        body = pickle.dumps(replace(answer, is_last=is_last, cpu_seconds=time.process_time() - began))
        answers.write(_LENGTH.pack(len(body)) + body)
        answers.flush()


def _peak_bytes() -> int:
    """Return how much memory this program has had in use at most. ``ru_maxrss`` begins with that of the parent."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return 1024 * next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


def _answer(request: bytes, data_bytes: int) -> Answer:
    try:
        name, arguments = pickle.loads(request)  # noqa: S301 - written by the operator
        return Answer(_FUNCTIONS[name](*arguments))
    except MemoryError:
        return Answer(reason=f"takes more than {data_bytes // 2**20} MiB of memory to render")
    except Exception as error:  # noqa: BLE001 - whatever it is, it concerns this one spec
        reason = f"is not understood by this release of Berth ({type(error).__name__}; its log has more)"
        return Answer(reason=reason, traceback=cut(traceback.format_exc()))


def main() -> None:
    """Entry point of the processes."""
    with suppress(BrokenPipeError):  # the operator has ended
        serve(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv[1]), int(sys.argv[2]))
