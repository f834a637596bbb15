"""Counts of what a reader passes on the ways through the programs: ``python -m tools.walks``.

Runs ``berth-scheduler`` and ``berth-operator`` under a tracer against a control plane of devcluster with three fake
nodes, and counts the calls of the main thread on seven ways: functions, files, root units (rooms), and how often the
next call is in another file or unit. It takes a minute and needs the binaries of a control plane.

Another tree has other names for where the walks begin and end: ``--root`` with ``--points`` walks it. The tree before
the rooms, for comparison: a clone at 692747f, with ``tools/walks/points/692747f.json``.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tools.walks.recording import Call, Points, WalkError, Walks, count
from tools.walks.ways import recordings

HEAD = "| way | calls | functions | files | root units | file switches | unit switches |\n|---|---|---|---|---|---|---|"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or the calls of one way; return 2 when a walk could not be made."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.walks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[2], help="the tree, if not this one")
    parser.add_argument("--points", type=Path, help="JSON with the names that another tree has for the Points")
    parser.add_argument("--save", type=Path, help="keep the recordings in this file")
    parser.add_argument("--load", type=Path, help="count these recordings instead of making new ones")
    parser.add_argument("--show", metavar="WAY", help="print the calls of this way, such as a or b′")
    parser.add_argument("--json", action="store_true", help="print the counts as JSON")
    options = parser.parse_args(arguments)
    points = Points(**json.loads(options.points.read_text())) if options.points else Points()
    try:
        recorded = json.loads(options.load.read_text()) if options.load else recordings(options.root)
        if options.save:
            options.save.write_text(json.dumps(recorded))
        walks = Walks(recorded, points).all()
    except WalkError as error:
        print(error, file=sys.stderr)
        return 2
    if options.show:
        for title, calls in walks.items():
            if title.startswith(f"({options.show})"):
                print(tree(calls))
    elif options.json:
        print(json.dumps({title.strip(): asdict(count(calls)) for title, calls in walks.items()}))
    else:
        print(HEAD)
        for title, calls in walks.items():
            print(f"| {title} | {' | '.join(f'{number:,}' for number in asdict(count(calls)).values())} |")
    return 0


def tree(calls: Sequence[Call]) -> str:
    """Return a line per call, indented below its caller."""
    return "\n".join(f"{'  ' * call.depth}{call.path.partition('/')[2]}: {call.function}" for call in calls)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ``--show a | head`` ends without a traceback
    sys.exit(main())
