"""``berth diff``: what changes in effect, not in the text."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import Answer, Refusal, RefusedError, Status
from scheduler_operator.cli.console import Console

if TYPE_CHECKING:
    from scheduler_operator.cli.differences import Difference
    from scheduler_operator.cli.processes import Process
    from scheduler_operator.cli.sorting import Sorted
    from scheduler_runtime.catalog import Target

_ABSENT = "-"


@click.command("diff", short_help="Show what changes between two configurations.")
@click.argument("before", metavar="A", type=parameters.FileParameter())
@click.argument("after", metavar="[B]", required=False, type=parameters.FileParameter())
@parameters.target_options
@click.option(
    "--to", type=parameters.KubernetesParameter(), metavar="VERSION", help="Follow this version for B, or for A again."
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
) -> Answer:
    """Show what changes from A to B in effect: plugins, order, weights, arguments and fields of the process.

    How something is written makes no difference, and a default that is written out is no change. A and B are
    profiles or KubeSchedulerConfigurations, one process in each. With --to, A alone is enough: the answer is what
    an upgrade of Kubernetes changes. Ends with 1 when there are differences.

    \b
    Examples
      berth diff old.yaml new.yaml
      berth diff profile.yaml --kubernetes 1.35 --to 1.37
      git show HEAD~:profile.yaml | berth diff - profile.yaml
    """
    from scheduler_operator.cli import forms
    from scheduler_operator.cli.differences import differences
    from scheduler_operator.cli.processes import read_sorted

    if after is None and to is None:
        raise click.UsageError("name B, or give --to for what another version makes of A", click.get_current_context())
    old = read_sorted([before], console)
    new = read_sorted([after], console) if after else old
    one = _only(old, target)
    other = _only(new.unpinned(), parameters.target(to, target.feature_gates)) if to else _only(new, target)
    found = list(differences(one, other))
    text = _table(found) if form == "table" else forms.document([_value(each) for each in found], form)
    return Answer(text, (*one.remarks, *other.remarks), Status.FINDINGS if found else Status.FINE)


def _only(given: "Sorted", target: "Target") -> "Process":
    from scheduler_operator.cli.processes import all_processes

    found = all_processes(given, target)
    if len(found) > 1:
        listed = ", ".join(process.name for process in found)
        message = f"holds {len(found)} processes ({listed}); put each into a file of its own"
        raise RefusedError(Refusal(found[0].parts[0].source.name, message))
    return found[0]


def _table(found: Iterable["Difference"]) -> str:
    from scheduler_operator.cli.tables import table

    rows = list(_rows(found))
    return table(("WHERE", "A", "B"), rows) if rows else ""


def _rows(found: Iterable["Difference"]) -> Iterator[tuple[str, str, str]]:
    for each in found:
        yield f"{each.profile + ': ' if each.profile else ''}{each.where}", _cell(each.before), _cell(each.after)


def _cell(value: Any) -> str:
    from scheduler_operator.cli.forms import plain

    match value:
        case None:
            return _ABSENT
        case bool():
            return str(value).lower()
    return str(plain(value))


def _value(found: "Difference") -> dict[str, Any]:
    profile = {"profile": found.profile} if found.profile else {}
    return {**profile, "where": found.where, "before": found.before, "after": found.after}
