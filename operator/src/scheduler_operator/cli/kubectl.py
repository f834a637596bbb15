"""What kubectl asks when somebody presses tab behind ``kubectl berth``."""

import sys
from collections.abc import Iterator, Sequence

from click.shell_completion import CompletionItem, ShellComplete

from scheduler_operator.cli.program import group

_NO_FILES, _FILES = 4, 0
"""kubectl's directives: whether it may offer the names of files itself."""


def main() -> None:
    """Print the completions of the last argument, one on a line, and what kubectl is to do with them."""
    sys.stdout.write("".join(f"{line}\n" for line in completions(sys.argv[1:])))


def completions(arguments: Sequence[str]) -> Iterator[str]:
    """The lines for kubectl, which passes everything behind ``berth``, the unfinished word last."""
    *before, unfinished = arguments or [""]
    items = ShellComplete(group, {}, "berth", "_BERTH_COMPLETE").get_completions(before, unfinished)
    plain = [item for item in items if item.type == "plain"]
    yield from (_line(item) for item in plain)
    yield f":{_FILES if len(plain) < len(items) else _NO_FILES}"


def _line(item: CompletionItem[str]) -> str:
    return f"{item.value}\t{item.help}" if item.help else str(item.value)
