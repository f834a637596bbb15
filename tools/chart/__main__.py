"""Files that are made from the chart: ``python -m tools.chart`` writes them, ``--check`` names those that differ."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.chart.files import RenderingError, generated_files
from tools.chart.values import UndescribedError

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or compare them; return 1 if one differs."""
    parser = argparse.ArgumentParser(prog="python -m tools.chart", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    try:
        files = generated_files(ROOT)
    except (UndescribedError, RenderingError) as error:
        print(error, file=sys.stderr)
        return 1
    differing = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    for path in differing:
        print(f"{path.relative_to(ROOT)} {'differs: run make manifests' if options.check else 'written'}")
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path])
    return 1 if options.check and differing else 0


if __name__ == "__main__":
    sys.exit(main())
