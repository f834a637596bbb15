"""The three streams of the process, and what may be written to them."""

import os
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, TextIO, cast

from scheduler_operator.cli.answers import Refusal, RefusedError


@dataclass(slots=True)
class Console:
    """Where input comes from and answers go to."""

    stdin: BinaryIO
    stdout: BinaryIO
    stderr: BinaryIO
    colour: bool = False
    debug: bool = False
    _stdin_is_read: bool = field(default=False, init=False)

    @classmethod
    def of_process(cls) -> "Console":
        """The streams that this process was started with."""
        return cls(
            _open(sys.stdin, "rb"),
            _open(sys.stdout, "wb"),
            _open(sys.stderr, "wb"),
            colour=wants_colour(sys.stdout is not None and sys.stdout.isatty(), os.environ),
            debug=bool(os.environ.get("BERTH_DEBUG")),
        )

    def read_stdin(self, limit: int) -> bytes:
        """At most ``limit`` bytes of standard input, which can be read only once."""
        if self._stdin_is_read:
            raise RefusedError(Refusal("-", "standard input is named twice and can be read once; save it to a file"))
        self._stdin_is_read = True
        return self.stdin.read(limit)


def _open(stream: TextIO | None, mode: str) -> BinaryIO:
    """The bytes below a standard stream; nothing, if the process was started without it."""
    return stream.buffer if stream is not None else cast(BinaryIO, open(os.devnull, mode))


def wants_colour(is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Whether colours help: on a terminal that has them, unless NO_COLOR says otherwise."""
    return is_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def write(stream: BinaryIO, text: str) -> None:
    """Write all of ``text``. Whoever closes the other end of a pipe has read enough: that is no error."""
    try:
        stream.write(text.encode("utf-8", errors="backslashreplace"))
        stream.flush()
    except BrokenPipeError:
        # Python flushes its streams once more at the end and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def printable(line: str) -> str:
    """``line`` without characters that move a terminal's cursor, or do worse: they are shown as escapes."""
    if line.isprintable():
        return line
    return "".join(_escaped(character) for character in line)


def _escaped(character: str) -> str:
    harmless = unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp")
    return character if harmless else character.encode("unicode_escape").decode()
