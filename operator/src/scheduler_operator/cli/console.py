"""Standard streams of the process, and safe output to a terminal."""

import os
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, TextIO, cast

from scheduler_operator.cli.answers import Refusal, RefusedError

_CONTROL = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@dataclass(slots=True)
class Console:
    """The standard streams and the options that concern them."""

    stdin: BinaryIO
    stdout: BinaryIO
    stderr: BinaryIO
    colour: bool = False
    debug: bool = False
    _stdin_is_read: bool = field(default=False, init=False)

    @classmethod
    def of_process(cls) -> "Console":
        """Return the streams of this process."""

        def open_binary(stream: TextIO | None, mode: str) -> BinaryIO:
            # A process may be started without a standard stream: then there is nothing to read, and nobody to tell.
            return stream.buffer if stream is not None else cast(BinaryIO, open(os.devnull, mode))

        return cls(
            open_binary(sys.stdin, "rb"),
            open_binary(sys.stdout, "wb"),
            open_binary(sys.stderr, "wb"),
            colour=wants_colour(sys.stdout is not None and sys.stdout.isatty(), os.environ),
            debug=bool(os.environ.get("BERTH_DEBUG")),
        )

    def read_stdin(self, limit: int) -> bytes:
        """Read at most ``limit`` bytes of standard input. Raises RefusedError the second time."""
        if self._stdin_is_read:
            raise RefusedError(Refusal("-", "standard input is named twice and can be read once; save it to a file"))
        self._stdin_is_read = True
        return self.stdin.read(limit)


def wants_colour(is_terminal: bool, environment: Mapping[str, str]) -> bool:
    """Return whether to use colours: on a terminal that has them, unless NO_COLOR is set."""
    return is_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def write(stream: BinaryIO, text: str) -> None:
    """Write all of ``text``. A closed pipe is no error: its reader has read enough."""
    try:
        stream.write(text.encode("utf-8", errors="backslashreplace"))
        stream.flush()
    except BrokenPipeError:
        # Python flushes its streams once more at exit, and would report the closed pipe then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def printable(line: str) -> str:
    """Return ``line`` with control characters as escapes: they could move a terminal's cursor, or do worse."""
    if line.isprintable():
        return line
    return "".join(
        character.encode("unicode_escape").decode() if unicodedata.category(character) in _CONTROL else character
        for character in line
    )
