"""``berth crds``: the CustomResourceDefinitions of both kinds."""

import click

from scheduler_operator.cli.answers import CommandOutput


@click.command("crds", short_help="Print the CustomResourceDefinitions.")
def command() -> CommandOutput:
    """Print the CustomResourceDefinitions of SchedulerProfile and PluginConfig of this version.

    \b
    Example
      berth crds | kubectl apply --server-side -f -
    """
    from scheduler_operator.generate import crds

    return CommandOutput("---\n".join(crds.texts().values()))
