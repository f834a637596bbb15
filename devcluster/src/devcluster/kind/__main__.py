"""``python -m devcluster.kind prerequisites [--install]``: check that kind can be used here, or make it so."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from devcluster.kind import prerequisites, private_daemon
from devcluster.system.errors import DevclusterError


@click.group()
def main() -> None:
    """Clusters of real nodes in containers."""


@main.command("prerequisites")
@click.option("--install", is_flag=True, help="Install what is missing, with apt.")
def show_prerequisites(install: bool) -> None:
    """Say whether kind can be used on this machine."""
    reason = prerequisites.missing()
    if reason and install:
        prerequisites.install()
        reason = prerequisites.missing()
    if reason:
        raise DevclusterError(reason)
    click.echo("kind can be used here")


@main.command("clear-away", hidden=True)
@click.argument("name")
@click.argument("home", type=click.Path(path_type=Path))
def clear_away(name: str, home: Path) -> None:
    """Remove what a private Docker daemon leaves on this machine."""
    private_daemon.clear_away(name, home)


if __name__ == "__main__":
    try:
        main(prog_name="python -m devcluster.kind")
    except DevclusterError as error:
        sys.exit(str(error))
