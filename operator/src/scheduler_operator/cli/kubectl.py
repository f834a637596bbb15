"""Completion of ``kubectl berth``, in the protocol by which kubectl asks its plugins."""

import sys
from collections.abc import Iterator, Sequence

from click.shell_completion import ShellComplete

from scheduler_operator.cli.program import group

_NO_FILES, _FILES = 4, 0
"""kubectl's directives (cobra's ShellCompDirective): without or with file names, which kubectl offers itself."""


def main() -> None:
    """Print the completions of the last argument, one on a line, and then the directive."""
    sys.stdout.write("".join(f"{line}\n" for line in completions(sys.argv[1:])))


def completions(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the lines for kubectl; ``arguments`` follow ``berth``, and the last one is the unfinished word."""
    *before, unfinished = arguments or [""]
    items = ShellComplete(group, {}, "berth", "_BERTH_COMPLETE").get_completions(before, unfinished)
    plain = [item for item in items if item.type == "plain"]
    yield from (f"{item.value}\t{item.help}" if item.help else str(item.value) for item in plain)
    yield f":{_FILES if len(plain) < len(items) else _NO_FILES}"
