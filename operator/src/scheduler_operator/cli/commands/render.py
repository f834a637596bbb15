"""``berth render``: the KubeSchedulerConfiguration of each profile."""

from typing import TYPE_CHECKING

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import CommandOutput, ExitCode
from scheduler_operator.cli.console import Console

if TYPE_CHECKING:
    from scheduler_runtime.catalog import Target


@click.command("render", short_help="Print the document of each profile.")
@parameters.files("PROFILE...")
@parameters.target_options
@click.option("--namespace", default="berth-system", show_default=True, help="The namespace of the scheduler.")
@click.option("--defaulted", is_flag=True, help="Write every default, as kube-scheduler does.")
@parameters.output("yaml", "json")
@click.pass_obj
def command(
    console: Console,
    files: tuple[str, ...],
    target: "Target",
    namespace: str,
    defaulted: bool,
    form: str,
) -> CommandOutput:
    """Print the KubeSchedulerConfiguration of each SchedulerProfile.

    The files may also contain the PluginConfigs that the profiles refer to. If anything is refused, only the errors
    are printed, all of them. A document with findings of the linter is printed, with the findings on standard error.

    \b
    Examples
      berth render profile.yaml
      berth render profile.yaml plugin-configs.yaml --kubernetes 1.37
      berth render --defaulted profile.yaml | kube-scheduler --config /dev/stdin
    """
    from scheduler_operator.cli import formatting
    from scheduler_operator.cli.diagnostics import process_diagnostics
    from scheduler_operator.cli.processes import read_documents, read_objects

    built = read_documents(read_objects(files, console), target, namespace)
    remarks = tuple(remark for document in built for remark in document.remarks)
    findings = [finding for document in built for finding in process_diagnostics(document)]
    errors = tuple(str(finding) for finding in findings if finding.is_error)
    status = ExitCode.FINDINGS if errors else ExitCode.FINE
    if form == "yaml" and not defaulted:
        return CommandOutput("---\n".join(document.text for document in built), (*errors, *remarks), status)
    values = [document.defaulted() if defaulted else document.explicit() for document in built]
    return CommandOutput(formatting.format_values(values, form), (*errors, *remarks), status)
