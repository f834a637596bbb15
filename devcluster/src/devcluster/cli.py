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
from devcluster.build.progress import progress_on
from devcluster.model.spec import DEFAULT_KUBERNETES, Spec
from devcluster.system.errors import DevclusterError

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")

kubernetes_option = click.option(
    "--kubernetes", metavar="VERSION", default=DEFAULT_KUBERNETES, show_default=True, help="Version of Kubernetes."
)


class Commands(click.Group):
    """Commands that show a DevclusterError as a sentence, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DevclusterError as error:
            raise click.ClickException(str(error)) from error


def parse_images(_: click.Context, __: click.Parameter, mappings: tuple[str, ...]) -> dict[str, list[str]]:
    """Commands by image. A command that is a path is relative to this directory, wherever the node runs."""
    images = {}
    for mapping in mappings:
        image, equals, command = mapping.partition("=")
        words = shlex.split(command)
        if not (image and equals and words):
            raise click.BadParameter(f"{mapping!r} maps nothing; write it like berth:dev=.venv/bin/python")
        images[image] = [os.path.abspath(words[0]) if "/" in words[0] else words[0], *words[1:]]
    return images


@click.group(cls=Commands)
@click.version_option(version("berth-devcluster"), prog_name="devcluster", message="%(prog)s %(version)s")
def main() -> None:
    """Real Kubernetes control planes on this machine, without containers."""


@main.command()
@kubernetes_option
@click.option("--fake-nodes", metavar="N", default=0, help="Number of fake nodes, simulated by kwok.")
@click.option(
    "--node",
    type=click.Choice(["process", "none"]),
    default="process",
    show_default=True,
    help="A node that runs pods as processes of this machine.",
)
@click.option(
    "--scheduler/--no-scheduler",
    default=True,
    help="Whether kube-scheduler runs. Without it pods wait for a scheduler that you start.",
)
@click.option(
    "--image",
    "images",
    metavar="IMAGE=COMMAND",
    multiple=True,
    callback=parse_images,
    help="Command that the process node runs for an image, such as berth:dev=.venv/bin/python. Repeatable.",
)
@click.option("--name", default="default", show_default=True, help="Name of the cluster.")
@click.option("--kind", is_flag=True, help="A kind cluster, whose nodes run containers.")
@click.option("--nodes", metavar="N", default=1, show_default=True, help="Number of nodes of a kind cluster.")
def up(**options: Any) -> None:
    """Start a cluster that runs until 'devcluster down'."""
    cluster = lifecycle.up(Spec(**options), progress=progress_on(sys.stderr))
    print(f"Cluster {cluster.name} runs Kubernetes {cluster.version} at {cluster.server}. To use it:")
    print(f'  eval "$({_again("env", cluster.name)})"')
    print("To end it:")
    print(f"  {_again('down', cluster.name)}")


name_argument = click.argument("argument", metavar="[NAME]", default="")
name_option = click.option("--name", default="", help="The same as the argument NAME.")


@main.command()
@name_argument
@name_option
@click.option("--all", "everything", is_flag=True, help="End every cluster made by 'devcluster up'.")
def down(argument: str, name: str, everything: bool) -> None:
    """End a cluster and remove all of it."""
    names = [cluster.name for cluster in lifecycle.status()] if everything else [_cluster_name(argument, name)]
    for cluster_name in names:
        lifecycle.down(cluster_name)
        print(f"Cluster {cluster_name} is gone.")


@main.command()
def status() -> None:
    """List the clusters made by 'devcluster up'."""
    clusters = lifecycle.status()
    if not clusters:
        print("There are no clusters. 'devcluster up' makes one.")
    for cluster in clusters:
        if not cluster.is_alive:
            state = "dead"
        elif not cluster.server:
            state = "starting"
        else:
            state = f"running without {', '.join(cluster.stopped)}" if cluster.stopped else "running"
        print("  ".join(filter(None, [cluster.name, state, cluster.version, cluster.server, str(cluster.directory)])))


@main.command()
@name_argument
@name_option
def env(argument: str, name: str) -> None:
    """Print the environment for this shell to use a cluster: eval "$(devcluster env)"."""
    for variable, value in lifecycle.find(_cluster_name(argument, name)).variables().items():
        print(f"export {variable}={shlex.quote(value)}")


@main.command()
@kubernetes_option
@click.argument("names", metavar="[BINARY]...", nargs=-1)
def build(kubernetes: str, names: tuple[str, ...]) -> None:
    """Build binaries, by default those of a control plane, and store them in the cache."""
    for path in binaries(*(names or CONTROL_PLANE), kubernetes=kubernetes, progress=progress_on(sys.stderr)).values():
        print(path)


@main.command("bin")
@kubernetes_option
@click.argument("name", metavar="[BINARY]", default="")
def print_path(kubernetes: str, name: str) -> None:
    """Print the path of a binary, or the directory of Kubernetes' binaries, and build it if necessary."""
    binary = name or "kubectl"
    path = binaries(binary, kubernetes=kubernetes, progress=progress_on(sys.stderr))[binary]
    print(path if name else path.parent)


def _cluster_name(argument: str, option: str) -> str:
    """The name of the cluster, from the argument or from ``--name``."""
    if argument and option and argument != option:
        raise click.UsageError(f"{argument} and --name {option} are two clusters; name one")
    return argument or option or "default"


def _again(command: str, name: str) -> str:
    """The command line for this cluster, called as this command was called."""
    return f"{sys.argv[0]} {command}" + ("" if name == "default" else f" {name}")
