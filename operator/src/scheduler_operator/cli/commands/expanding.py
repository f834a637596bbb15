"""``berth expand``: the plugins that run at each extension point, and why."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import Answer
from scheduler_operator.cli.console import Console

if TYPE_CHECKING:
    from scheduler_operator.cli.processes import Explained
    from scheduler_runtime.config.provenance import Origin

HEADING = ("POINT", "PLUGIN", "WEIGHT", "WHY")


@click.command("expand", short_help="Show which plugins run, and why each is there.")
@parameters.files()
@parameters.target_options
@parameters.output("table", "yaml", "json")
@click.pass_obj
def command(
    console: Console, files: tuple[str, ...], kubernetes: str, feature_gates: Mapping[str, bool], form: str
) -> Answer:
    """Show the effective plugins of each profile, in order, with their weights and with why each is there.

    A default that was taken away stands in brackets, with what took it. FILE holds SchedulerProfiles (and the
    PluginConfigs they refer to) or KubeSchedulerConfigurations.

    \b
    Examples
      berth expand profile.yaml
      berth expand kube-scheduler.yaml --kubernetes 1.37
      berth expand profile.yaml -o json | jq '.[].plugins.score'
    """
    from scheduler_operator.cli import forms
    from scheduler_operator.cli.processes import all_processes, read_sorted

    found = all_processes(read_sorted(files, console), parameters.target(kubernetes, feature_gates))
    remarks = tuple(remark for process in found for remark in process.remarks)
    explained = [each for process in found for each in process.explained()]
    if form == "table":
        return Answer("\n".join(map(_text, explained)), remarks)
    return Answer(forms.document([_value(each) for each in explained], form), remarks)


def _text(found: "Explained") -> str:
    from scheduler_operator.cli.tables import grouped, table

    title = f"{found.part.effective.scheduler_name} ({found.part.source.name}), {found.process.target}"
    return f"{title}\n\n{table(HEADING, grouped(_rows(found)))}"


def _rows(found: "Explained") -> Iterator[tuple[str, ...]]:
    for point, origins in found.origins.items():
        for origin in origins:
            shown = origin.plugin if origin.runs else f"({origin.plugin})"
            yield point, shown, str(origin.weight or ""), found.why(origin)


def _value(found: "Explained") -> dict[str, Any]:
    running = {
        point: _entries(found, (each for each in origins if each.runs)) for point, origins in found.origins.items()
    }
    taken = {
        point: _entries(found, (each for each in origins if not each.runs)) for point, origins in found.origins.items()
    }
    return {
        "profile": found.part.effective.scheduler_name,
        "file": found.part.source.name,
        "kubernetes": f"{found.process.target.version.major}.{found.process.target.version.minor}",
        "plugins": running,
        "takenAway": {point: entries for point, entries in taken.items() if entries},
    }


def _entries(found: "Explained", origins: Iterable["Origin"]) -> list[dict[str, Any]]:
    return [
        {"name": origin.plugin, **({"weight": origin.weight} if origin.weight else {}), "why": found.why(origin)}
        for origin in origins
    ]
