"""What PluginConfigs declare about plugins that the catalogue does not know: their points, arguments and rights."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any, ClassVar

from pydantic import ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_snake

from scheduler_operator.models import PluginConfigSpec
from scheduler_operator.models.plugin_config import ConfigMapSource, DeclaredEvent, DeclaredRule, Declares
from scheduler_operator.render.outcome import PluginConfigs
from scheduler_operator.render.schemas import schema_problems, value_problems
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import catalog
from scheduler_runtime.catalog import Action, ClusterEvent, Declaration, PluginArgs, Rule
from scheduler_runtime.catalog.checks import refuse
from scheduler_runtime.config import Problem, explain
from scheduler_runtime.config.paths import path_of

HOOKS = {"queueSort": "sort_key"}
"""Extension points whose hook is not called the same, in other letters."""

_GROUP_POINTS = frozenset({"placementGenerate", "placementScore", "podGroupPostFilter"})


@dataclass(frozen=True, slots=True)
class Declared:
    """The plugins that PluginConfigs declare, by name."""

    plugins: Mapping[str, Declaration] = field(default_factory=dict)
    sources: Mapping[str, ConfigMapSource] = field(default_factory=dict)
    problems: Mapping[str, Problem] = field(default_factory=dict)
    """Why a plugin, although declared, cannot be used."""
    said: Mapping[str, Declares] = field(default_factory=dict)
    """The declarations as they are written."""

    def own_plugins(self) -> dict[str, Any]:
        """What a scheduler is told of the plugins: where their code is, and what it has to be."""
        return {
            plugin: {
                **({"configMap": self.sources[plugin].model_dump()} if plugin in self.sources else {}),
                "declares": said.model_dump(by_alias=True, exclude_none=True),
            }
            for plugin, said in sorted(self.said.items())
        }

    def with_stand_ins(self, enabled: Mapping[str, Iterable[str]]) -> dict[str, Declaration]:
        """The plugins, and in the place of those that cannot be used some that would do wherever they are enabled.

        ``enabled`` is at which points each plugin is. What is wrong with a declaration is told once, and not again
        for every place that relies on it.
        """
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        stand_ins = {
            plugin: Declaration(
                plugin, (), group_points=tuple(enabled.get(plugin, ())), args=_args_model(plugin, anything)
            )
            for plugin in self.problems
        }
        return {**self.plugins, **stand_ins}


class SchemaArgs(PluginArgs):
    """Arguments that a schema describes."""

    model_config = ConfigDict(extra="allow")
    argument_schema: ClassVar[Mapping[str, Any]] = {"type": "object"}

    @model_validator(mode="before")
    @classmethod
    def _as_described(cls, written: Any) -> Any:
        refuse(value_problems(cls.argument_schema, written))
        return written


def declared(plugin_configs: PluginConfigs, plugins: Iterable[str], namespace: str) -> Declared:
    """What is declared about ``plugins``; ``namespace`` is the one in which the operator can make roles."""
    wanted = frozenset(plugins)
    found: dict[str, tuple[str, PluginConfigSpec]] = {}
    problems: dict[str, Problem] = {}
    for name, plugin_config in sorted(plugin_configs.items()):
        plugin = plugin_config.spec.get("plugin")
        if plugin not in wanted or not plugin_config.spec.get("declares"):
            continue
        spec = _sound(plugin_config, namespace)
        if isinstance(spec, Problem):
            problems.setdefault(plugin, spec)
        elif plugin in found and _said(found[plugin][1]) != _said(spec):
            problems[plugin] = Problem(
                f"PluginConfig {name}: spec.declares", disagreement(plugin, found[plugin][0], name)
            )
        else:
            found.setdefault(plugin, (name, spec))
    return Declared(
        {plugin: declaration(spec) for plugin, (_, spec) in found.items() if plugin not in problems},
        {plugin: spec.source.config_map for plugin, (_, spec) in found.items() if spec.source},
        problems,
        {plugin: spec.declares for plugin, (_, spec) in found.items() if spec.declares and plugin not in problems},
    )


def disagreement(plugin: str, one: str, other: str) -> str:
    """The sentence about two PluginConfigs that say different things."""
    return (
        f"PluginConfig {one} and PluginConfig {other} declare {plugin} differently; "
        "make spec.declares and spec.source of both equal, or leave them out of one"
    )


def _said(spec: PluginConfigSpec) -> tuple[Declares | None, Any]:
    return spec.declares, spec.source


def _sound(plugin_config: UserObject, namespace: str) -> PluginConfigSpec | Problem:
    """The spec, or the first thing that is wrong with what it declares."""
    where = f"PluginConfig {plugin_config.name}: "
    try:
        spec = PluginConfigSpec.model_validate(plugin_config.spec)
    except ValidationError as error:
        found = explain(error, PluginConfigSpec)[0].below("spec")
        return Problem(f"{where}{found.path}", found.message)
    mistake = next(declaration_problems(spec, namespace), None)
    return Problem(f"{where}{mistake.path}", mistake.message) if mistake else spec


def declaration_problems(spec: PluginConfigSpec, namespace: str) -> Iterator[Problem]:
    """What is wrong with what a PluginConfig declares, at its path."""
    if spec.source and not spec.declares:
        yield Problem("spec.declares", "is required beside source; berth plugins --declare FILE prints it")
    if not spec.declares:
        return
    if catalog.is_upstreams(spec.plugin) or catalog.find(spec.plugin):
        yield Problem("spec.declares", f"berth knows {spec.plugin} by itself; leave declares out")
    for at, message in schema_problems(spec.declares.args_schema) if spec.declares.args_schema is not None else ():
        yield Problem(path_of(at), message).below("spec.declares.argsSchema")
    for index, rule in enumerate(spec.declares.rules or ()):
        yield from (each.below(f"spec.declares.rules[{index}]") for each in _rule_problems(rule, namespace))


def _rule_problems(rule: DeclaredRule, namespace: str) -> Iterator[Problem]:
    for name, texts in (("apiGroups", rule.api_groups), ("resources", rule.resources), ("verbs", rule.verbs)):
        if "*" in texts:
            yield Problem(name, "is a wildcard; write out what the plugin needs")
    if rule.namespace not in (None, namespace):
        message = f"{rule.namespace} is not the operator's own namespace, {namespace}, the only one it makes roles in"
        yield Problem("namespace", f"{message}; leave it out for the whole cluster")


def declaration(spec: PluginConfigSpec) -> Declaration:
    """What ``spec`` declares, as the catalogue has it of other plugins. It has no problems."""
    declares = spec.declares
    assert declares is not None, "only what declares is asked"  # noqa: S101 - the callers' own condition
    return Declaration(
        name=spec.plugin,
        hooks=tuple(HOOKS.get(hook, to_snake(hook)) for hook in declares.hooks if hook not in _GROUP_POINTS),
        group_points=tuple(hook for hook in declares.hooks if hook in _GROUP_POINTS),
        args=_args_model(spec.plugin, declares.args_schema),
        rules=tuple(_rule(rule) for rule in declares.rules or ()),
        events=tuple(_event(event) for event in declares.events or ()),
    )


def _args_model(plugin: str, schema: Mapping[str, Any] | None) -> type[PluginArgs] | None:
    if schema is None:
        return None
    return type(f"{plugin}Args", (SchemaArgs,), {"argument_schema": schema, "__annotations__": {}})


def _rule(rule: DeclaredRule) -> Rule:
    return Rule(
        tuple(rule.api_groups),
        tuple(rule.resources),
        tuple(rule.verbs),
        tuple(rule.resource_names or ()),
        rule.namespace or "",
    )


def _event(event: DeclaredEvent) -> ClusterEvent:
    return ClusterEvent(event.resource, reduce(or_, (Action[to_snake(name).upper()] for name in event.actions)))
