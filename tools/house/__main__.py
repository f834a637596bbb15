"""Measures of the code that a reader feels: ``python -m tools.house [PATH …]``.

Without PATH all distributions are measured, and the rooms of the runtime and the operator; with PATH a column for each.
``--list`` prints the single places behind a measure, ``--check`` compares with the limits in pyproject.toml and ends
with 1 if one is broken.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tools.house.findings import LISTS
from tools.house.limits import LimitsError, broken_limits, read_limits
from tools.house.measures import measure, measures_table, rooms_table
from tools.house.tree import SHOWN_BY_ROOM, read_distributions, read_paths


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables, a list or the broken limits; return 1 if a limit is broken, 2 if the question is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.house", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="a folder or file to measure")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2], help="the repository, if not this one")
    parser.add_argument("--list", choices=LISTS, help="print file, line and text of every place of this kind")
    parser.add_argument("--check", action="store_true", help="compare with [tool.berth.house] of pyproject.toml")
    parser.add_argument("--json", action="store_true", help="print the tables as JSON")
    options = parser.parse_args(arguments)
    try:
        # paths are shown as a reader types them: from the current folder
        root = Path(os.path.relpath(options.root))
        if options.check:
            broken = list(broken_limits(read_limits(root / "pyproject.toml"), read_distributions(root)))
            print(*broken, sep="\n", end="\n" if broken else "")
            return 1 if broken else 0
        groups = read_paths(options.paths) if options.paths else read_distributions(root)
    except (OSError, SyntaxError, LimitsError) as error:
        print(error, file=sys.stderr)
        return 2
    if options.list:
        for group in groups:
            for finding in LISTS[options.list](group):
                print(finding)
        return 0
    columns = {group.name: measure(group.modules) for group in groups}
    rooms = {
        f"{group.name}.{room}": measure(modules)
        for group in groups
        if options.paths or group.name in SHOWN_BY_ROOM
        for room, modules in group.rooms().items()
    }
    if options.json:
        tables = {"columns": columns, "rooms": rooms}
        print(
            json.dumps({name: {key: asdict(value) for key, value in table.items()} for name, table in tables.items()})
        )
    else:
        print(f"{measures_table(columns)}\n\n{rooms_table(rooms)}")
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ``--list … | head`` ends without a traceback
    sys.exit(main())
