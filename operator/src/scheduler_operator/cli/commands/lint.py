"""``berth lint``: every way in which a configuration does not do what it says."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import Answer, Refusal, RefusedError, Status
from scheduler_operator.cli.console import Console

if TYPE_CHECKING:
    from scheduler_operator.cli.processes import Processes
    from scheduler_operator.cli.remarks import Remark
    from scheduler_runtime.catalog import Target
    from scheduler_runtime.config import Engine


@click.command("lint", short_help="Find what is valid and yet not meant.")
@parameters.files()
@parameters.target_options
@parameters.engine
@click.option(
    "--severity", type=click.Choice(["error", "warning", "note"]), default="warning", metavar="LEVEL",
    help="End with 1 from here on: error, warning (default) or note.",
)  # fmt: skip
@parameters.output("text", "table", "yaml", "json", "sarif")
@click.pass_obj
def command(
    console: Console,
    files: tuple[str, ...],
    target: "Target",
    engine: "Engine",
    severity: str,
    form: str,
) -> Answer:
    """Find what is accepted and yet does not do what it says.

    FILE holds SchedulerProfiles, PluginConfigs and KubeSchedulerConfigurations, mixed as you like. In a directory
    every YAML and JSON file that speaks of them is read, at any depth, and what is none of them is left aside.
    What is refused goes to standard error, or into the list with -o yaml, json and sarif.

    Where something is meant as it is, allow its code: in a profile by the annotation berth.dev/allow-findings, in
    any document by a comment, # berth: allow TinyQPS.

    \b
    Examples
      berth lint profile.yaml
      berth lint manifests/ --severity error
      berth lint manifests/ -o sarif > berth.sarif
      ssh control-plane cat /etc/kubernetes/scheduler.yaml | berth lint -
    """
    from scheduler_operator.cli.remarks import of_process, of_refusals

    found = _processes(files, console, target, engine)
    findings = [remark for process in found.found for remark in of_process(process)]
    refused = of_refusals(found.refusals)
    notes = tuple(remark for process in found.found for remark in process.remarks)
    status = Status.REFUSED if refused else _status(findings, severity)
    if form == "text":
        text = "".join(f"{remark.text(console.colour)}\n" for remark in findings)
        return Answer(text, (*map(str, found.refusals), *notes), status)
    if form == "table":
        return Answer(_table(findings), (*map(str, found.refusals), *notes), status)
    return Answer(_written([*refused, *findings], form), notes, status)


def _processes(files: Sequence[str], console: Console, target: "Target", engine: "Engine") -> "Processes":
    from scheduler_operator.cli.processes import NAMESPACE, Processes, processes
    from scheduler_operator.cli.reading import below, read
    from scheduler_operator.cli.sorting import sort

    names = below(files)
    if not names:
        raise RefusedError(Refusal(", ".join(files), "no file in it speaks of profiles or KubeSchedulerConfigurations"))
    reading = read(names, console)
    given = sort(reading.sources, ignored=frozenset(names) - frozenset(files))
    found = processes(given, target, NAMESPACE, engine)
    return Processes(found.found, (*reading.refusals, *found.refusals))


def _status(findings: Iterable["Remark"], severity: str) -> Status:
    from scheduler_runtime.config import Severity

    wanted = Severity(severity).rank
    return Status.FINDINGS if any(each.severity.rank <= wanted for each in findings) else Status.FINE


def _table(findings: Sequence["Remark"]) -> str:
    from scheduler_operator.cli.tables import table

    rows = [(each.severity, each.code, each.where, each.path, each.message) for each in findings]
    return table(("SEVERITY", "CODE", "PLACE", "PATH", "MESSAGE"), rows) if rows else ""


def _written(remarks: Sequence["Remark"], form: str) -> str:
    from scheduler_operator.cli import forms

    if form != "sarif":
        return forms.document([remark.value() for remark in remarks], form)
    from importlib.metadata import version

    from scheduler_operator.cli.sarif import sarif

    return forms.document(sarif(remarks, version("berth-operator")), "json")
