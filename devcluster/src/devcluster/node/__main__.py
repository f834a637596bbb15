"""``python -m devcluster.node --config FILE``: be a node that runs pods as processes of this machine."""

import argparse
import asyncio
import contextlib
import fcntl
import logging
import signal
import ssl
import sys
from pathlib import Path
from typing import TextIO

from devcluster.node.agent import run_node
from devcluster.node.config import Config


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m devcluster.node", description=__doc__)
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="JSON; see devcluster.node.config")
    path: Path = parser.parse_args().config
    try:
        config = Config.from_json(path.read_text())
        ssl.create_default_context(cafile=config.ca_file)
    except (OSError, ValueError) as error:
        sys.exit(f"{path}: {error}")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    with lock(config.directory):
        asyncio.run(run_until_signal(config))


def lock(directory: Path) -> TextIO:
    """Lock ``directory`` for as long as the returned file is open. Exits when another agent has the lock."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o700)  # there will be tokens in it
    file = (directory / "agent.lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"{directory}: another agent uses this directory; end it, or give each node its own")
    return file


async def run_until_signal(config: Config) -> None:
    """Run the node until SIGTERM or SIGINT arrives, and return when its processes have ended."""
    node = asyncio.create_task(run_node(config))
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, node.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await node


if __name__ == "__main__":
    main()
