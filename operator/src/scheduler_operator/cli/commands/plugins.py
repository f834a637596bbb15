"""``berth plugins``: the plugins of the catalog and the installed ones."""

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import CommandOutput, Refusal, RefusedError

if TYPE_CHECKING:
    from scheduler_operator.cli.plugin_facts import PluginFacts

_WIDTH = 100


@click.command("plugins", short_help="List the plugins, or show one of them.")
@click.argument("name", required=False, type=parameters.PluginParameter())
@click.option(
    "--declare", type=parameters.FileParameter(), metavar="FILE", help="Print the PluginConfig of the plugins in FILE."
)
@parameters.output("table", "yaml", "json")
def command(name: str | None, declare: str | None, form: str) -> CommandOutput:
    """List the plugins, including your installed ones; with NAME, show one of them in full.

    This includes its purpose, its versions and extension points, its default weight, its arguments with their
    defaults, and, if berth's own scheduler has it, its hooks, permissions and events.

    The operator knows a plugin of yours, in Python, by a PluginConfig: --declare loads FILE and prints it.

    \b
    Examples
      berth plugins
      berth plugins NodeResourcesFit
      berth plugins --declare price_cap.py > price-cap.yaml
      berth plugins -o json | jq -r '.[] | select(.berth) | .name'
    """
    from scheduler_operator.cli import formatting, plugin_facts

    if declare is not None:
        from scheduler_operator.cli.declare import declare_plugins
        from scheduler_operator.cli.processes import NAMESPACE

        if name is not None:
            raise click.UsageError("--declare reads a file and takes no NAME", click.get_current_context())
        return CommandOutput(
            formatting.format_values(declare_plugins(declare, NAMESPACE), "json" if form == "json" else "yaml")
        )
    if name is None:
        every = plugin_facts.every_plugin()
        if form == "table":
            return CommandOutput(_format_overview(every))
        return CommandOutput(formatting.format_value([_to_value(facts) for facts in every], form))
    facts = plugin_facts.facts_of(name)
    if facts is None:
        from scheduler_runtime import catalog
        from scheduler_runtime.catalog.suggestions import did_you_mean, nearest_name
        from scheduler_runtime.config import unknown_plugin_message

        if name in catalog.REMOVED_PLUGINS:
            raise RefusedError(Refusal(name, unknown_plugin_message(name)))
        advice = did_you_mean(nearest_name(name, plugin_facts.names()))
        advice = advice or "; berth plugins lists those that there are, which include those of installed packages"
        raise RefusedError(Refusal(name, f"there is no plugin {name!r}{advice}"))
    if facts.problem:
        raise RefusedError(Refusal(name, facts.problem))
    return CommandOutput(_format_page(facts) if form == "table" else formatting.format_value(_to_value(facts), form))


def _format_overview(every: Iterable["PluginFacts"]) -> str:
    from scheduler_operator.cli.formatting import format_table
    from scheduler_operator.cli.plugin_facts import every_minor

    oldest, *_, newest = every_minor()
    rows = []
    for facts in every:
        minors = list(facts.points)
        if not minors:
            versions = "-"
        elif minors[-1] == newest:
            versions = "all" if minors[0] == oldest else f"{minors[0]}+"
        else:
            versions = f"{minors[0]} to {minors[-1]}"
        default = _format_weight(facts.default_weights.get(minors[-1]) if minors else None)
        if facts.problem:
            summary = facts.problem[:1].upper() + facts.problem[1:]
        else:
            summary = f"{facts.summary} ({facts.origin})".lstrip() if facts.origin else facts.summary
        rows.append((facts.name, versions, default, "yes" if facts.hooks else "-", summary))
    return format_table(("NAME", "KUBERNETES", "DEFAULT", "BERTH", "DESCRIPTION"), rows)


def _format_weight(weight: int | None) -> str:
    """Format a default weight: None for a plugin that is off, 0 for one that has none."""
    return "off" if weight is None else f"weight {weight}" if weight else "on"


def _format_page(facts: "PluginFacts") -> str:
    """Return everything about one plugin, as text in sections."""
    from scheduler_operator.cli.console import printable
    from scheduler_operator.cli.formatting import format_inline, format_table

    sections = ["".join(f"{line}\n" for line in (facts.name, facts.summary) if line)]
    if facts.origin:
        sections.append(f"From {facts.origin}.\n")
    else:
        rows = [
            (minor, _format_weight(facts.default_weights.get(minor)), ", ".join(points))
            for minor, points in facts.points.items()
        ]
        sections.append(format_table(("KUBERNETES", "DEFAULT", "EXTENSION POINTS"), rows))
    paragraphs = []
    for argument in facts.arguments:
        has_default = argument.default not in (None, [], "")
        default = f", default {format_inline(_without_none(argument.default))}" if has_default else ""
        kind = f"{argument.type}{', required' if argument.required else default}"
        title = f"{argument.path.rpartition('.')[2]}: {kind}"
        # Fields of fields stand below them, two spaces further in.
        indent = "  " * (argument.path.count(".") + 1)
        inner = f"{indent}  "
        paragraphs.append(textwrap.fill(title, _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    "))
        paragraphs.append(textwrap.fill(argument.text, _WIDTH, initial_indent=inner, subsequent_indent=inner))
    arguments = "".join(f"{paragraph}\n" for paragraph in paragraphs if paragraph)
    sections.append(arguments or "It takes no arguments.\n")
    if facts.hooks:
        lines = [f"hooks        {', '.join(facts.hooks)}"]
        for rule in facts.rules:
            groups, names = rule["apiGroups"], ", ".join(rule.get("resourceNames", ()))
            resources = [f"{name}.{group}" if group else name for group in groups for name in rule["resources"]]
            where = f" in {rule['namespace']}" if "namespace" in rule else ""
            targets = f"{', '.join(resources)}{f' {names}' if names else ''}{where}"
            lines.append(f"permission   {', '.join(rule['verbs'])} {targets}")
        lines += [f"event        {kind}: {', '.join(actions)}" for kind, actions in facts.events]
        sections.append("In berth's own scheduler:\n" + "".join(f"  {line}\n" for line in lines))
    else:
        sections.append("Berth's own scheduler does not have it yet; engine: KubeScheduler does.\n")
    # Texts of installed plugins are somebody else's: control characters in them do not reach the terminal.
    return "".join(f"{printable(line)}\n" for line in "\n".join(filter(None, sections)).splitlines())


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return value


def _to_value(facts: "PluginFacts") -> dict[str, Any]:
    return {
        "name": facts.name,
        "summary": facts.summary,
        "berth": bool(facts.hooks),
        "origin": facts.origin,
        "problem": facts.problem,
        "points": {minor: list(points) for minor, points in facts.points.items()},
        "defaultIn": dict(facts.default_weights),
        "arguments": [
            {
                "path": argument.path,
                "type": argument.type,
                "required": argument.required,
                **({} if argument.default is None else {"default": argument.default}),
                "text": argument.text,
            }
            for argument in facts.arguments
        ],
        "hooks": list(facts.hooks),
        "rules": [dict(rule) for rule in facts.rules],
        "events": [{"resource": kind, "actions": actions} for kind, actions in facts.events],
    }
