"""``berth crds``: the CustomResourceDefinitions of both kinds."""

import click

from scheduler_operator.cli.answers import Answer


@click.command("crds", short_help="Print the CustomResourceDefinitions.")
def command() -> Answer:
    """Print the CustomResourceDefinitions of SchedulerProfile and PluginConfig of this version.

    \b
    Example
      berth crds | kubectl apply --server-side -f -
    """
    from scheduler_operator.generate import crds

    return Answer("---\n".join(crds.texts().values()))
