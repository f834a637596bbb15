"""The command ``devcluster``."""

from __future__ import annotations

import os
import shlex
import sys
from importlib.metadata import version
from typing import Any

import click

from devcluster import lifecycle
from devcluster.build import binaries
from devcluster.build.progress import shown_on
from devcluster.model.spec import DEFAULT_KUBERNETES, Spec
from devcluster.system.errors import DevclusterError

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")

kubernetes_option = click.option(
    "--kubernetes", metavar="VERSION", default=DEFAULT_KUBERNETES, show_default=True, help="Version of Kubernetes."
)


class Commands(click.Group):
    """Commands whose errors are for the person who typed them: a sentence, and no traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DevclusterError as error:
            raise click.ClickException(str(error)) from error


def mapped(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, list[str]]:
    """Commands by image. A command that is a path is meant from here, wherever the node runs."""
    images = {}
    for each in given:
        image, equals, command = each.partition("=")
        words = shlex.split(command)
        if not (image and equals and words):
            raise click.BadParameter(f"{each!r} maps nothing; write it like berth:dev=.venv/bin/python")
        images[image] = [os.path.abspath(words[0]) if "/" in words[0] else words[0], *words[1:]]
    return images


@click.group(cls=Commands)
@click.version_option(version("berth-devcluster"), prog_name="devcluster", message="%(prog)s %(version)s")
def main() -> None:
    """Real Kubernetes control planes on this machine, without containers."""


@main.command()
@kubernetes_option
@click.option("--fake-nodes", metavar="N", default=0, help="Nodes played by kwok.")
@click.option(
    "--node",
    type=click.Choice(["process", "none"]),
    default="process",
    show_default=True,
    help="A node that runs pods as processes of this machine.",
)
@click.option(
    "--image",
    "images",
    metavar="IMAGE=COMMAND",
    multiple=True,
    callback=mapped,
    help="What the process node runs for an image, such as berth:dev=.venv/bin/python. May be repeated.",
)
@click.option("--name", default="default", show_default=True, help="Name of the cluster.")
@click.option("--kind", is_flag=True, help="A kind cluster, whose nodes run containers.")
@click.option("--nodes", metavar="N", default=1, show_default=True, help="Nodes of a kind cluster.")
def up(**options: Any) -> None:
    """Start a cluster that runs until 'devcluster down'."""
    cluster = lifecycle.up(Spec(**options), progress=shown_on(sys.stderr))
    print(f"Cluster {cluster.name} runs Kubernetes {cluster.version} at {cluster.server}. To use it:")
    print(f'  eval "$({_again("env", cluster.name)})"')
    print("To end it:")
    print(f"  {_again('down', cluster.name)}")


name_argument = click.argument("given", metavar="[NAME]", default="")
name_option = click.option("--name", default="", help="The same as NAME, as of 'devcluster up'.")


@main.command()
@name_argument
@name_option
@click.option("--all", "everything", is_flag=True, help="End every cluster made by 'devcluster up'.")
def down(given: str, name: str, everything: bool) -> None:
    """End a cluster and remove all of it."""
    for each in [one.name for one in lifecycle.status()] if everything else [_one_of(given, name)]:
        lifecycle.down(each)
        print(f"Cluster {each} is gone.")


@main.command()
def status() -> None:
    """List the clusters made by 'devcluster up'."""
    clusters = lifecycle.status()
    if not clusters:
        print("There are no clusters. 'devcluster up' makes one.")
    for one in clusters:
        how = _how(one)
        print("  ".join(filter(None, [one.name, how, one.version, one.server, str(one.directory)])))


@main.command()
@name_argument
@name_option
def env(given: str, name: str) -> None:
    """Print what makes this shell use a cluster: eval "$(devcluster env)"."""
    for variable, value in lifecycle.find(_one_of(given, name)).variables().items():
        print(f"export {variable}={shlex.quote(value)}")


@main.command()
@kubernetes_option
@click.argument("names", metavar="[BINARY]...", nargs=-1)
def build(kubernetes: str, names: tuple[str, ...]) -> None:
    """Build binaries, by default those of a control plane, and keep them."""
    for path in binaries(*(names or CONTROL_PLANE), kubernetes=kubernetes, progress=shown_on(sys.stderr)).values():
        print(path)


@main.command("bin")
@kubernetes_option
@click.argument("name", metavar="[BINARY]", default="")
def path(kubernetes: str, name: str) -> None:
    """Print the path of a binary, or the directory of Kubernetes' own, building it if need be."""
    wanted = name or "kubectl"
    found = binaries(wanted, kubernetes=kubernetes, progress=shown_on(sys.stderr))[wanted]
    print(found if name else found.parent)


def _one_of(given: str, name: str) -> str:
    """The name of the cluster that is meant, however it was given."""
    if given and name and given != name:
        raise click.UsageError(f"{given} and --name {name} are two clusters; name one")
    return given or name or "default"


def _how(one: lifecycle.Status) -> str:
    if not one.is_alive:
        return "dead"
    if not one.server:
        return "starting"
    return f"running without {', '.join(one.stopped)}" if one.stopped else "running"


def _again(command: str, name: str) -> str:
    """The command line for this cluster, called as this command was called."""
    return f"{sys.argv[0]} {command}" + ("" if name == "default" else f" {name}")
