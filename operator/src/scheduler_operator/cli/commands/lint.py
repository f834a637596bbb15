"""``berth lint``: findings about configurations that are valid and do not do what they say."""

from typing import TYPE_CHECKING

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import CommandOutput, ExitCode, Refusal, RefusedError
from scheduler_operator.cli.console import Console

if TYPE_CHECKING:
    from scheduler_runtime.catalog import Target
    from scheduler_runtime.config import Engine


@click.command("lint", short_help="Find valid settings without the intended effect.")
@parameters.files()
@parameters.target_options
@parameters.engine
@click.option(
    "--severity", type=click.Choice(["error", "warning", "note"]), default="warning", metavar="LEVEL",
    help="Exit with 1 from this severity on: error, warning (default) or note.",
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
) -> CommandOutput:
    """Find settings that kube-scheduler accepts although they do not have the intended effect.

    FILE contains SchedulerProfiles, PluginConfigs and KubeSchedulerConfigurations, in any mixture. In a directory
    every YAML and JSON file with such objects is read, at any depth; other objects are ignored. Errors of refused
    documents go to standard error, or into the list with -o yaml, json and sarif.

    To allow a finding, name its code: in a profile in the annotation berth.dev/allow-findings, in any document in a
    comment, # berth: allow TinyQPS.

    \b
    Examples
      berth lint profile.yaml
      berth lint manifests/ --severity error
      berth lint manifests/ -o sarif > berth.sarif
      ssh control-plane cat /etc/kubernetes/scheduler.yaml | berth lint -
    """
    from importlib.metadata import version

    from scheduler_operator.cli import formatting
    from scheduler_operator.cli.diagnostics import process_diagnostics, refusal_diagnostics
    from scheduler_operator.cli.processes import NAMESPACE, build_documents
    from scheduler_operator.cli.reading import expand_directories, read_files, sort_objects
    from scheduler_runtime.config import Severity

    names = expand_directories(files)
    if not names:
        raise RefusedError(Refusal(", ".join(files), "no file in it speaks of profiles or KubeSchedulerConfigurations"))
    reading = read_files(names, console)
    # A directory holds other manifests too; a file that is named is expected to hold ours.
    objects = sort_objects(reading.sources, lenient_files=frozenset(names) - frozenset(files))
    built = build_documents(objects, target, NAMESPACE, engine)
    findings = [finding for document in built.documents for finding in process_diagnostics(document)]
    refusals = (*reading.refusals, *built.refusals)
    refused = refusal_diagnostics(refusals)
    notes = tuple(remark for document in built.documents for remark in document.remarks)
    if refused:
        status = ExitCode.REFUSED
    else:
        is_bad = any(finding.severity.rank <= Severity(severity).rank for finding in findings)
        status = ExitCode.FINDINGS if is_bad else ExitCode.FINE
    match form:
        case "text":
            text = "".join(f"{finding.text(console.colour)}\n" for finding in findings)
            return CommandOutput(text, (*map(str, refusals), *notes), status)
        case "table":
            rows = [
                (finding.severity, finding.code, finding.where, finding.path, finding.message) for finding in findings
            ]
            heading = ("SEVERITY", "CODE", "PLACE", "PATH", "MESSAGE")
            text = formatting.format_table(heading, rows) if rows else ""
            return CommandOutput(text, (*map(str, refusals), *notes), status)
        case "sarif":
            from scheduler_operator.cli.sarif import sarif

            run = sarif([*refused, *findings], version("berth-operator"))
            return CommandOutput(formatting.format_value(run, "json"), notes, status)
    return CommandOutput(
        formatting.format_value([diagnostic.value() for diagnostic in (*refused, *findings)], form), notes, status
    )
