"""``berth render``: the document that a profile's scheduler runs by."""

from typing import TYPE_CHECKING

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import Answer, Status
from scheduler_operator.cli.console import Console

if TYPE_CHECKING:
    from scheduler_runtime.catalog import Target


@click.command("render", short_help="Print the document of each profile.")
@parameters.files("PROFILE...")
@parameters.target_options
@click.option("--namespace", default="berth-system", show_default=True, help="Where the scheduler would run.")
@click.option("--defaulted", is_flag=True, help="Write out every default, as kube-scheduler would.")
@parameters.output("yaml", "json")
@click.pass_obj
def command(
    console: Console,
    files: tuple[str, ...],
    target: "Target",
    namespace: str,
    defaulted: bool,
    form: str,
) -> Answer:
    """Print the KubeSchedulerConfiguration of each SchedulerProfile.

    The files may hold the PluginConfigs that the profiles refer to as well. When anything is refused, nothing is
    printed but everything that is wrong. A document that starts and then does not work is printed, with what the
    linter has against it on standard error.

    \b
    Examples
      berth render profile.yaml
      berth render profile.yaml plugin-configs.yaml --kubernetes 1.37
      berth render --defaulted profile.yaml | kube-scheduler --config /dev/stdin
    """
    from scheduler_operator.cli import forms
    from scheduler_operator.cli.processes import all_processes, read_sorted
    from scheduler_operator.cli.remarks import of_process

    found = all_processes(read_sorted(files, console), target, namespace)
    remarks = tuple(remark for process in found for remark in process.remarks)
    errors = tuple(str(remark) for process in found for remark in of_process(process) if remark.is_error)
    status = Status.FINDINGS if errors else Status.FINE
    if form == "yaml" and not defaulted:
        return Answer("---\n".join(process.text for process in found), (*errors, *remarks), status)
    values = [process.defaulted() if defaulted else process.written() for process in found]
    return Answer(forms.documents(values, form), (*errors, *remarks), status)
