"""``berth import``: profiles from the configurations of other schedulers."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import CommandOutput, ExitCode, Refusal, RefusedError, raise_if_refused
from scheduler_operator.cli.console import Console

if TYPE_CHECKING:
    from scheduler_runtime.config import Source

_NUMBERED = re.compile(r"\[(\d+)\]\.?(.*)", re.DOTALL)
"""A path in one of several documents."""


@click.command("import", short_help="Turn another scheduler's configuration into profiles.")
@parameters.files()
@click.option("--name", default="", metavar="NAME", help="Name of the profile, if the input has none.")
@parameters.output("yaml", "json")
@click.pass_obj
def command(console: Console, files: tuple[str, ...], name: str, form: str) -> CommandOutput:
    """Turn the configuration of a scheduler into SchedulerProfiles and PluginConfigs.

    FILE contains a KubeSchedulerConfiguration of any version, a legacy Policy, a ConfigMap with one of them, the
    manifest of a kube-scheduler (static Pod, Deployment, DaemonSet), an OpenShift Scheduler, or a scheduler
    configuration of AKS. Give files that belong together, such as a Deployment and its ConfigMap, at once.

    Everything that cannot be carried over is listed on standard error, and the exit code is then 1.

    \b
    Examples
      berth import kube-scheduler.yaml > profiles.yaml
      berth import policy.cfg --name legacy
      kubectl get deployment,configmap -n sched -o yaml | berth import -
    """
    from scheduler_operator.cli import formatting
    from scheduler_operator.cli.reading import describe_value, read_files
    from scheduler_operator.migrate import import_documents
    from scheduler_runtime.config import Problems

    reading = read_files(files, console)
    raise_if_refused(reading.refusals)
    raise_if_refused(
        Refusal(
            source.name,
            f"is {describe_value(source.value)}; expected is an object of Kubernetes",
            line=source.start_line,
        )
        for source in reading.sources
        if not isinstance(source.value, dict)
    )
    allowed = [source.allowed_codes for source in reading.sources]
    outcome = import_documents([source.value for source in reading.sources], name, allowed=allowed)
    if isinstance(outcome, Problems):
        raise RefusedError(*(_refusal_at_source(problem, reading.sources) for problem in outcome))
    remarks = tuple(str(_refusal_at_source(remark, reading.sources)) for remark in outcome.remarks)
    if form == "yaml":
        text = formatting.format_values(outcome.objects, form)
    else:
        values = [
            {
                "path": remark.path,
                "message": remark.message,
                **({"places": list(remark.places)} if remark.places else {}),
            }
            for remark in outcome.remarks
        ]
        text = formatting.format_value({"objects": list(outcome.objects), "remarks": values}, form)
    return CommandOutput(text, remarks, ExitCode.FINDINGS if remarks else ExitCode.FINE)


def _refusal_at_source(remark: Any, sources: Sequence["Source"]) -> Refusal:
    """Return a problem or remark with its place. With several documents, its path begins with the index of one."""
    match = _NUMBERED.fullmatch(remark.path)
    if len(sources) > 1 and match is None:
        return Refusal(", ".join(dict.fromkeys(source.name for source in sources)), remark.message, remark.path)
    source = sources[int(match[1])] if match and len(sources) > 1 else sources[0]
    path = match[2] if match and len(sources) > 1 else remark.path
    return Refusal(source.name, remark.message, path, source.line(path))
