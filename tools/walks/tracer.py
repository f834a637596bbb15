"""Run a module and record the calls of its main thread: ``python tracer.py FOLDER MODULE [ARGUMENT …]``.

Only the standard library is imported, so that this runs in the environment of any tree. What to record stands in
``FOLDER/order``: ``NUMBER MARKER``. Each change of that file ends a recording, which is written to
``FOLDER/NUMBER.json``, and begins the next, after which ``FOLDER/NUMBER.started`` exists. Number 0 records nothing.
"""

from __future__ import annotations

import json
import re
import runpy
import sys
import threading
import time
from pathlib import Path
from types import CodeType, FrameType

PACKAGES = ("scheduler_runtime", "scheduler_operator")
POLL_SECONDS = 0.02
EVENT_LOOPS = ("uvloop/__init__.py", "asyncio/runners.py", "asyncio/base_events.py")
"""Frames of these files end a stack: below them is the start of the process, above them one callback or task."""


class Tracer:
    """A profile function that keeps the calls of our packages."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number, self._marker = 0, ""
        self._calls: list[tuple[int, int, str]] = []
        """Number of the function, how many of our functions are below on the stack, and what the arguments mention."""
        self._functions: dict[CodeType, int | None] = {}
        self._names: list[tuple[str, str]] = []

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Keep a call; ``sys.setprofile`` calls this whenever a function is called or a coroutine goes on."""
        if not self._number or event != "call":
            return
        function = self._function(frame.f_code)
        if function is None:
            return
        depth = 0
        below = frame.f_back
        while below is not None and not below.f_code.co_filename.endswith(EVENT_LOOPS):
            depth += self._function(below.f_code) is not None
            below = below.f_back
        self._calls.append((function, depth, self._mention(frame)))

    def obey(self) -> None:
        """Follow the orders until the process ends."""
        while True:
            time.sleep(POLL_SECONDS)
            try:
                number, _, marker = (self._folder / "order").read_text().partition(" ")
            except FileNotFoundError:
                continue
            if not number or int(number) == self._number:
                continue
            finished, calls, self._calls = self._number, self._calls, []
            self._marker, self._number = marker, int(number)
            (self._folder / f"{number}.started").touch()
            if finished:
                text = json.dumps({"functions": self._names, "calls": calls})
                partial = self._folder / f"{finished}.partial"
                partial.write_text(text)
                partial.rename(self._folder / f"{finished}.json")

    def _function(self, code: CodeType) -> int | None:
        """Return the number of one of our functions, None for code of others."""
        if code not in self._functions:
            parts = Path(code.co_filename).parts
            package = next((name for name in PACKAGES if name in parts), None)
            self._functions[code] = None
            # the folder of a distribution has the name of the package that is in it
            if package and "src" in parts:
                path = "/".join(parts[parts.index("src") + 1 :])
                self._functions[code] = len(self._names)
                self._names.append((path, code.co_qualname))
        return self._functions[code]

    def _mention(self, frame: FrameType) -> str:
        """Return what the arguments say of the object that the walk is about.

        The name of a Kubernetes event about the object, ``status`` for the path of the object's status, ``name`` for
        anything else that contains the object's name, and nothing when no argument does.
        """
        code = frame.f_code
        mention = ""
        for variable in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            value = frame.f_locals.get(variable)
            for part in value if isinstance(value, tuple) else (value, getattr(value, "name", None)):
                text = (
                    bytes(part).decode(errors="replace") if isinstance(part, bytes | bytearray | memoryview) else part
                )
                if isinstance(text, str) and self._marker in text:
                    if event := re.search(re.escape(self._marker) + r"\.[0-9a-f]{8,}", text):
                        return event[0]
                    mention = "status" if f"{self._marker}/status" in text else mention or "name"
        return mention


def main() -> None:
    """Record the module that the command line names."""
    folder, module, *arguments = sys.argv[1:]
    tracer = Tracer(Path(folder))
    threading.Thread(target=tracer.obey, daemon=True).start()
    sys.argv = [module, *arguments]
    sys.path.pop(0)  # the folder of this file
    sys.setprofile(tracer.profile)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
