"""Requirements of the image, with the hashes of the lock: ``python -m tools.supply_chain.requirements LOCK <PINS``.

PINS is what a resolver chose among the versions of LOCK, one ``name==version`` in a line. Printed are the entries of
LOCK for these, with their hashes and without their markers, as the resolver has chosen for one Python. Nothing else
may say which file is the right one: an index that serves another is refused where the files are fetched.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ENTRY = re.compile(
    r"^(?P<pin>[A-Za-z0-9._-]+==\S+)(?P<marker>[^\\\n]*)(?P<hashes>(?:\\\n +--hash=sha256:[0-9a-f]{64} ?)+)$", re.M
)


class NotInLockError(Exception):
    """The lock has not what the image needs."""


def entries(lock: str) -> dict[str, str]:
    """The entries of a lock by their pins: ``name==version``, then a hash in each line."""
    return {match["pin"]: match["pin"] + " " + match["hashes"].rstrip() for match in ENTRY.finditer(lock)}


def cut(lock: str, pins: Iterable[str]) -> Iterator[str]:
    """The entries of ``lock`` for ``pins``. Raises NotInLockError for one that has none."""
    locked = entries(lock)
    for pin in pins:
        if pin not in locked:
            raise NotInLockError(
                f"{pin} is needed by the image and not in the lock, or without a hash: run 'make lock'"
            )
        yield locked[pin]


def main() -> int:
    """Print the entries for the pins of the standard input."""
    lock = Path(sys.argv[1]).read_text()
    pins = [line.partition(" ")[0] for line in sys.stdin.read().splitlines() if line and not line.startswith("#")]
    try:
        print("\n".join(cut(lock, pins)))
    except NotInLockError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
