"""``berth expand``: the plugins that run at each extension point, and why."""

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import Answer
from scheduler_operator.cli.console import Console

if TYPE_CHECKING:
    from scheduler_operator.cli.processes import Explained
    from scheduler_runtime.catalog import Target
    from scheduler_runtime.config import Engine
    from scheduler_runtime.config.plugin_origins import Origin

FOOTNOTE = "What is not in Berth's scheduler yet runs with engine: KubeScheduler."
REFUSED = "kube-scheduler does not start with what is in Berth's scheduler only: that runs with --engine Python."
STARRED = "* is not in Berth's scheduler yet: --engine Python shows what becomes of this there."
HEADING = ("POINT", "PLUGIN", "WEIGHT", "WHY")


@click.command("expand", short_help="Show which plugins run, and why each is there.")
@parameters.files()
@parameters.target_options
@parameters.engine
@parameters.output("table", "yaml", "json")
@click.pass_obj
def command(
    console: Console,
    files: tuple[str, ...],
    target: "Target",
    engine: "Engine",
    form: str,
) -> Answer:
    """Show the effective plugins of each profile, in order, with their weights and with why each is there.

    What does not run stands in brackets: a default with what took it away, what Berth's own scheduler does not have
    yet, when that is the engine, and what kube-scheduler cannot have, when that is; in a document that kube-scheduler
    is to run, what Berth's lacks has a star. FILE holds
    SchedulerProfiles (and the PluginConfigs they refer to) or KubeSchedulerConfigurations.

    \b
    Examples
      berth expand profile.yaml
      berth expand kube-scheduler.yaml --kubernetes 1.37
      berth expand profile.yaml -o json | jq '.[].plugins.score'
    """
    from scheduler_operator.cli import forms
    from scheduler_operator.cli.processes import NAMESPACE, all_processes, read_sorted

    found = all_processes(read_sorted(files, console), target, NAMESPACE, engine)
    remarks = tuple(remark for process in found for remark in process.remarks)
    explained = [each for process in found for each in process.explained()]
    if form == "table":
        return Answer("\n".join(map(_text, explained)), remarks)
    return Answer(forms.document([_value(each) for each in explained], form), remarks)


def _text(found: "Explained") -> str:
    from scheduler_operator.cli.tables import grouped, table
    from scheduler_runtime.config.plugin_origins import NOT_IN_KUBE_SCHEDULER, NOT_YET

    title = f"{found.part.effective.scheduler_name} ({found.part.source.name}), {found.process.target}"
    missing = {origin.missing for origins in found.origins.values() for origin in origins}
    notes = [FOOTNOTE] * (NOT_YET in missing) + [REFUSED] * (NOT_IN_KUBE_SCHEDULER in missing)
    notes += [STARRED] * bool(_starred(found))
    footnote = "".join(f"\n{note}\n" for note in notes)
    return f"{title}\n\n{table(HEADING, grouped(_rows(found)))}{footnote}"


def _rows(found: "Explained") -> Iterator[tuple[str, ...]]:
    starred = _starred(found)
    for point, origins in found.origins.items():
        for origin in origins:
            star = "*" if origin.plugin in starred else ""
            shown = f"{origin.plugin}{star}" if origin.runs and not origin.missing else f"({origin.plugin})"
            yield point, shown, str(origin.weight or ""), found.why(origin)


def _starred(found: "Explained") -> Collection[str]:
    """What a document for kube-scheduler enables that Berth's own scheduler, which takes it as well, does not have."""
    from scheduler_runtime.config import missing_plugins

    if not found.is_document or found.process.engine == "Python":
        return ()
    return missing_plugins("Python", found.part.effective.names, found.process.others)


def _value(found: "Explained") -> dict[str, Any]:
    taken = _entries(found, lambda origin: not origin.runs)
    missing = _entries(found, lambda origin: bool(origin.missing))
    return {
        "profile": found.part.effective.scheduler_name,
        "file": found.part.source.name,
        "kubernetes": f"{found.process.target.version.major}.{found.process.target.version.minor}",
        "plugins": _entries(found, lambda origin: origin.runs and not origin.missing),
        "takenAway": {point: entries for point, entries in taken.items() if entries},
        "notInThisEngine": {point: entries for point, entries in missing.items() if entries},
    }


def _entries(found: "Explained", wanted: Callable[["Origin"], bool]) -> dict[str, list[dict[str, Any]]]:
    """The ``wanted`` plugins of every point."""
    return {
        point: [
            {"name": origin.plugin, **({"weight": origin.weight} if origin.weight else {}), "why": found.why(origin)}
            for origin in filter(wanted, origins)
        ]
        for point, origins in found.origins.items()
    }
