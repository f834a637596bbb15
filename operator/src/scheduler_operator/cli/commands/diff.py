"""``berth diff``: effective changes between two configurations, not those of the text."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import CommandOutput, ExitCode, Refusal, RefusedError
from scheduler_operator.cli.console import Console

if TYPE_CHECKING:
    from scheduler_operator.cli.differences import Difference
    from scheduler_operator.cli.processes import SchedulerDocument
    from scheduler_operator.cli.reading import InputObjects
    from scheduler_runtime.catalog import Target

_ABSENT = "-"


@click.command("diff", short_help="Show what changes between two configurations.")
@click.argument("before", metavar="A", type=parameters.FileParameter())
@click.argument("after", metavar="[B]", required=False, type=parameters.FileParameter())
@parameters.target_options
@click.option(
    "--to", type=parameters.KubernetesParameter(), metavar="VERSION", help="Use this version for B, or for A again."
)
@parameters.output("table", "yaml", "json")
@click.pass_obj
def command(
    console: Console,
    before: str,
    after: str | None,
    target: "Target",
    to: str | None,
    form: str,
) -> CommandOutput:
    """Show what changes from A to B in effect: plugins, order, weights, arguments and fields of the process.

    Differences of notation do not count, and neither do explicit defaults. A and B are profiles or
    KubeSchedulerConfigurations, one process in each. With --to, A alone is enough: the result is what an upgrade of
    Kubernetes changes. The exit code is 1 if there are differences.

    \b
    Examples
      berth diff old.yaml new.yaml
      berth diff profile.yaml --kubernetes 1.35 --to 1.37
      git show HEAD~:profile.yaml | berth diff - profile.yaml
    """
    from scheduler_operator.cli import formatting
    from scheduler_operator.cli.differences import differences
    from scheduler_operator.cli.processes import read_objects

    if after is None and to is None:
        raise click.UsageError("name B, or give --to for what another version makes of A", click.get_current_context())
    old = read_objects([before], console)
    new = read_objects([after], console) if after else old
    one = _single_document(old, target)
    if to:
        other = _single_document(new.unpinned(), parameters.target(to, target.feature_gates))
    else:
        other = _single_document(new, target)
    changes = list(differences(one, other))
    if form == "table":
        text = _format_table(changes)
    else:
        values = [
            {
                **({"profile": change.profile} if change.profile else {}),
                "where": change.where,
                "before": change.before,
                "after": change.after,
            }
            for change in changes
        ]
        text = formatting.format_value(values, form)
    return CommandOutput(text, (*one.remarks, *other.remarks), ExitCode.FINDINGS if changes else ExitCode.FINE)


def _single_document(objects: "InputObjects", target: "Target") -> "SchedulerDocument":
    from scheduler_operator.cli.processes import read_documents

    documents = read_documents(objects, target)
    if len(documents) > 1:
        names = ", ".join(document.name for document in documents)
        message = f"holds {len(documents)} processes ({names}); put each into a file of its own"
        raise RefusedError(Refusal(documents[0].parts[0].source.name, message))
    return documents[0]


def _format_table(changes: Iterable["Difference"]) -> str:
    from scheduler_operator.cli.formatting import format_table, whole_numbers

    def cell(value: Any) -> str:
        if isinstance(value, bool):
            return str(value).lower()
        return _ABSENT if value is None else str(whole_numbers(value))

    rows = [
        (
            f"{change.profile}: {change.where}" if change.profile else change.where,
            cell(change.before),
            cell(change.after),
        )
        for change in changes
    ]
    return format_table(("WHERE", "A", "B"), rows) if rows else ""
