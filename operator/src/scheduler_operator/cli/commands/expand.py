"""``berth expand``: the plugins that run at each extension point, with the reasons."""

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import CommandOutput
from scheduler_operator.cli.console import Console

if TYPE_CHECKING:
    from scheduler_operator.cli.processes import ExplainedProfile
    from scheduler_runtime.catalog import Target
    from scheduler_runtime.config import Engine
    from scheduler_runtime.config.plugin_origins import PluginOrigin

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
) -> CommandOutput:
    """Show the effective plugins of each profile, in order, with their weights and the reason for each.

    Plugins that do not run are in brackets: disabled defaults, plugins that Berth's own scheduler does not have yet, if
    that is the engine, and plugins that kube-scheduler cannot have, if that is. In a document for kube-scheduler, a
    star marks plugins that Berth's own scheduler does not have yet. FILE contains SchedulerProfiles (and the
    PluginConfigs that they refer to) or KubeSchedulerConfigurations.

    \b
    Examples
      berth expand profile.yaml
      berth expand kube-scheduler.yaml --kubernetes 1.37
      berth expand profile.yaml -o json | jq '.[].plugins.score'
    """
    from scheduler_operator.cli import formatting
    from scheduler_operator.cli.processes import NAMESPACE, read_documents, read_objects

    documents = read_documents(read_objects(files, console), target, NAMESPACE, engine)
    remarks = tuple(remark for document in documents for remark in document.remarks)
    profiles = [profile for document in documents for profile in document.explain()]
    if form == "table":
        return CommandOutput("\n".join(map(_format_profile, profiles)), remarks)
    return CommandOutput(formatting.format_value(list(map(_to_value, profiles)), form), remarks)


def _format_profile(profile: "ExplainedProfile") -> str:
    from scheduler_operator.cli.formatting import format_table, without_repeats
    from scheduler_runtime.config import missing_plugins
    from scheduler_runtime.config.plugin_origins import NOT_IN_KUBE_SCHEDULER, NOT_YET

    # The plugins that a document for kube-scheduler enables and Berth's own scheduler does not have.
    not_in_berth: Collection[str] = ()
    if profile.is_document and profile.process.engine != "Python":
        not_in_berth = missing_plugins("Python", profile.part.effective.names, profile.process.declared)
    rows = []
    for point, origins in profile.origins.items():
        for origin in origins:
            star = "*" if origin.plugin in not_in_berth else ""
            name = f"{origin.plugin}{star}" if origin.runs and not origin.missing else f"({origin.plugin})"
            rows.append((point, name, str(origin.weight or ""), profile.reason(origin)))
    missing = {origin.missing for origins in profile.origins.values() for origin in origins}
    notes = [FOOTNOTE] * (NOT_YET in missing) + [REFUSED] * (NOT_IN_KUBE_SCHEDULER in missing)
    notes += [STARRED] * bool(not_in_berth)
    title = f"{profile.part.effective.scheduler_name} ({profile.part.source.name}), {profile.process.target}"
    table = format_table(HEADING, without_repeats(rows))
    return "".join((f"{title}\n\n{table}", *(f"\n{note}\n" for note in notes)))


def _to_value(profile: "ExplainedProfile") -> dict[str, Any]:
    def entries(is_included: Callable[["PluginOrigin"], bool]) -> dict[str, list[dict[str, Any]]]:
        return {
            point: [
                {
                    "name": origin.plugin,
                    **({"weight": origin.weight} if origin.weight else {}),
                    "why": profile.reason(origin),
                }
                for origin in filter(is_included, origins)
            ]
            for point, origins in profile.origins.items()
        }

    removed = entries(lambda origin: not origin.runs)
    missing = entries(lambda origin: bool(origin.missing))
    version = profile.process.target.version
    return {
        "profile": profile.part.effective.scheduler_name,
        "file": profile.part.source.name,
        "kubernetes": f"{version.major}.{version.minor}",
        "plugins": entries(lambda origin: origin.runs and not origin.missing),
        "takenAway": {point: items for point, items in removed.items() if items},
        "notInThisEngine": {point: items for point, items in missing.items() if items},
    }
