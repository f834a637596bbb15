"""``berth plugins``: the catalogue, and what is installed beside it."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from scheduler_operator.cli import parameters
from scheduler_operator.cli.answers import Answer, Refusal, RefusedError

if TYPE_CHECKING:
    from scheduler_operator.cli.plugin_facts import Argument, PluginFacts

_WIDTH = 100


@click.command("plugins", short_help="Show the plugins there are, or one of them.")
@click.argument("name", required=False, type=parameters.PluginParameter())
@click.option(
    "--declare", type=parameters.FileParameter(), metavar="FILE", help="Print the PluginConfig of the plugins in FILE."
)
@parameters.output("table", "yaml", "json")
def command(name: str | None, declare: str | None, form: str) -> Answer:
    """Show the plugins there are, installed ones of yours included; with NAME, everything about one of them.

    That is what it does, the versions and extension points it has, its default weight, its arguments with their
    defaults, and, where berth's own scheduler has it, its hooks, permissions and events.

    A plugin of yours, in Python, is made known to the operator by a PluginConfig: --declare loads FILE and prints it.

    \b
    Examples
      berth plugins
      berth plugins NodeResourcesFit
      berth plugins --declare price_cap.py > price-cap.yaml
      berth plugins -o json | jq -r '.[] | select(.berth) | .name'
    """
    from scheduler_operator.cli import forms, plugin_facts

    if declare is not None:
        from scheduler_operator.cli.declaring import plugin_configs
        from scheduler_operator.cli.processes import NAMESPACE

        if name is not None:
            raise click.UsageError("--declare reads a file and takes no NAME", click.get_current_context())
        return Answer(forms.documents(plugin_configs(declare, NAMESPACE), "json" if form == "json" else "yaml"))
    if name is None:
        every = plugin_facts.every_plugin()
        text = _overview(every) if form == "table" else ""
        return Answer(text or forms.document([_value(each) for each in every], form))
    facts = plugin_facts.facts_of(name)
    if facts is None:
        raise RefusedError(Refusal(name, _unknown(name, plugin_facts.names())))
    if facts.problem:
        raise RefusedError(Refusal(name, facts.problem))
    return Answer(_page(facts) if form == "table" else forms.document(_value(facts), form))


def _unknown(name: str, names: list[str]) -> str:
    from scheduler_runtime import catalog
    from scheduler_runtime.catalog.suggestions import did_you_mean, nearest_name
    from scheduler_runtime.config import unknown_plugin_message

    if name in catalog.REMOVED_PLUGINS:
        return unknown_plugin_message(name)
    otherwise = "; berth plugins lists those that there are, which include those of installed packages"
    return f"there is no plugin {name!r}{did_you_mean(nearest_name(name, names)) or otherwise}"


def _overview(every: Iterable["PluginFacts"]) -> str:
    from scheduler_operator.cli.tables import table

    rows = [
        (facts.name, _versions(list(facts.points)), _weight(facts), "yes" if facts.hooks else "-", _what(facts))
        for facts in every
    ]
    return table(("NAME", "KUBERNETES", "DEFAULT", "BERTH", "WHAT IT DOES"), rows)


def _what(facts: "PluginFacts") -> str:
    """What it does; of one that is installed where from, or why it cannot be used."""
    if facts.problem:
        return facts.problem[:1].upper() + facts.problem[1:]
    return f"{facts.summary} ({facts.origin})".lstrip() if facts.origin else facts.summary


def _versions(minors: list[str]) -> str:
    from scheduler_operator.cli.plugin_facts import every_minor

    if not minors:
        return "-"
    if minors[-1] == every_minor()[-1]:
        return f"{minors[0]}+" if minors[0] != every_minor()[0] else "all"
    return f"{minors[0]} to {minors[-1]}"


def _weight(facts: "PluginFacts") -> str:
    """Whether it runs by default in the newest version, and how much it counts there."""
    minors = list(facts.points)
    return _shown_weight(facts.default_weights.get(minors[-1]) if minors else None)


def _shown_weight(weight: int | None) -> str:
    """A default weight: None for a plugin that is off, 0 for one that has none."""
    return "off" if weight is None else f"weight {weight}" if weight else "on"


def _page(facts: "PluginFacts") -> str:
    from scheduler_operator.cli.console import printable

    text = "\n".join(section for section in _sections(facts) if section)
    return "".join(f"{printable(line)}\n" for line in text.splitlines())


def _sections(facts: "PluginFacts") -> Iterator[str]:
    from scheduler_operator.cli.tables import table

    yield "".join(f"{line}\n" for line in (facts.name, facts.summary) if line)
    if facts.origin:
        yield f"From {facts.origin}.\n"
    else:
        yield table(("KUBERNETES", "DEFAULT", "EXTENSION POINTS"), list(_by_version(facts)))
    if facts.arguments:
        yield "".join(_argument(argument) for argument in facts.arguments)
    else:
        yield "It takes no arguments.\n"
    yield _of_berth(facts)


def _by_version(facts: "PluginFacts") -> Iterator[tuple[str, ...]]:
    for minor, points in facts.points.items():
        yield minor, _shown_weight(facts.default_weights.get(minor)), ", ".join(points)


def _argument(argument: "Argument") -> str:
    from scheduler_operator.cli.forms import inline

    default = "" if argument.default in (None, [], "") else f", default {inline(_said(argument.default))}"
    kind = f"{argument.type}{', required' if argument.required else default}"
    indent = "  " * (argument.path.count(".") + 1)
    title = textwrap.fill(
        f"{argument.path.rpartition('.')[2]}: {kind}", _WIDTH, initial_indent=indent, subsequent_indent=f"{indent}    "
    )
    text = textwrap.fill(argument.text, _WIDTH, initial_indent=f"{indent}  ", subsequent_indent=f"{indent}  ")
    return "".join(f"{each}\n" for each in (title, text) if each)


def _said(value: Any) -> Any:
    """``value`` without what it leaves out."""
    if isinstance(value, dict):
        return {key: _said(inner) for key, inner in value.items() if inner is not None}
    return value


def _of_berth(facts: "PluginFacts") -> str:
    if not facts.hooks:
        return "Berth's own scheduler does not have it yet; engine: KubeScheduler does.\n"
    lines = [f"hooks        {', '.join(facts.hooks)}"]
    lines += [f"permission   {rule}" for rule in map(_rule, facts.rules)]
    lines += [f"event        {kind}: {', '.join(actions)}" for kind, actions in facts.events]
    return "In berth's own scheduler:\n" + "".join(f"  {line}\n" for line in lines)


def _rule(rule: Mapping[str, Any]) -> str:
    resources = ", ".join(
        f"{resource}.{group}" if group else resource for group in rule["apiGroups"] for resource in rule["resources"]
    )
    names = f" {', '.join(rule['resourceNames'])}" if "resourceNames" in rule else ""
    where = f" in {rule['namespace']}" if "namespace" in rule else ""
    return f"{', '.join(rule['verbs'])} {resources}{names}{where}"


def _value(facts: "PluginFacts") -> dict[str, Any]:
    return {
        "name": facts.name,
        "summary": facts.summary,
        "berth": bool(facts.hooks),
        "origin": facts.origin,
        "problem": facts.problem,
        "points": {minor: list(points) for minor, points in facts.points.items()},
        "defaultIn": dict(facts.default_weights),
        "arguments": [_argument_value(argument) for argument in facts.arguments],
        "hooks": list(facts.hooks),
        "rules": [dict(rule) for rule in facts.rules],
        "events": [{"resource": kind, "actions": actions} for kind, actions in facts.events],
    }


def _argument_value(argument: "Argument") -> dict[str, Any]:
    default = {} if argument.default is None else {"default": argument.default}
    return {
        "path": argument.path,
        "type": argument.type,
        "required": argument.required,
        **default,
        "text": argument.text,
    }
