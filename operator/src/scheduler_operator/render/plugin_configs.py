"""PluginConfigs: the check of one by itself, and the declarations of plugins that the catalog does not have.

A declaration names extension points, arguments and permissions.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any, ClassVar

from pydantic import ConfigDict, ValidationError, model_validator
from pydantic.alias_generators import to_snake

from scheduler_operator.models import PluginConfigSpec
from scheduler_operator.models.plugin_config import ConfigMapSource, Declares
from scheduler_operator.render.args_schema import schema_problems, value_problems
from scheduler_operator.render.lenient_reading import read_leniently
from scheduler_operator.render.outcome import ObjectProblems, PluginConfigs, bounds_problem
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Action, ClusterEvent, Declaration, PluginArgs, Rule, Target
from scheduler_runtime.catalog.bounds import MAX_PROBLEMS
from scheduler_runtime.catalog.syntax import refuse
from scheduler_runtime.config import Problem, explain, unknown_plugin_message
from scheduler_runtime.config.problems import path_of

HOOKS = {"queueSort": "sort_key"}
"""Extension points whose hook has another name than the point in snake case."""

_HEADER = frozenset({"apiVersion", "kind"})
"""Fields that the arguments of upstream's plugins may have beside their own."""
_GROUP_POINTS = frozenset({"placementGenerate", "placementScore", "podGroupPostFilter"})


@dataclass(frozen=True, slots=True)
class Declarations:
    """The plugins that PluginConfigs declare, by name."""

    plugins: Mapping[str, Declaration] = field(default_factory=dict)
    sources: Mapping[str, ConfigMapSource] = field(default_factory=dict)
    problems: Mapping[str, Problem] = field(default_factory=dict)
    """Reasons why a declared plugin cannot be used."""
    declares: Mapping[str, Declares] = field(default_factory=dict)
    """The declarations in their original form."""
    declarers: Mapping[str, UserObject] = field(default_factory=dict)
    """The PluginConfig whose declaration counts."""

    def own_plugins(self) -> dict[str, Any]:
        """Return the plugins for ``berth.yaml``: their sources, and the declarations that the code has to match."""
        return {
            plugin: {
                **({"configMap": self.sources[plugin].model_dump()} if plugin in self.sources else {}),
                "declares": declares.model_dump(by_alias=True, exclude_none=True),
            }
            for plugin, declares in sorted(self.declares.items())
        }

    def with_stand_ins(self, enabled: Mapping[str, Iterable[str]]) -> dict[str, Declaration]:
        """Return the plugins, with stand-ins for those that cannot be used.

        ``enabled`` has the extension points of each plugin; a stand-in has these and accepts any arguments. So a
        problem of a declaration is reported once, and not again for every place that relies on it.
        """
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        stand_ins = {
            plugin: Declaration(plugin, (), group_points=tuple(enabled.get(plugin, ())), args=_args_model(anything))
            for plugin in self.problems
        }
        return {**self.plugins, **stand_ins}


class SchemaArgs(PluginArgs):
    """Arguments that are validated by a declared schema."""

    model_config = ConfigDict(extra="allow")
    argument_schema: ClassVar[Mapping[str, Any]] = {"type": "object"}

    @model_validator(mode="before")
    @classmethod
    def _validate_schema(cls, value: Any) -> Any:
        refuse(islice(value_problems(cls.argument_schema, value), MAX_PROBLEMS + 1))
        return value


def read_declarations(plugin_configs: PluginConfigs, plugins: Iterable[str], namespace: str) -> Declarations:
    """Read the declarations of ``plugins``; ``namespace`` is the one in which the operator can create roles.

    Of several PluginConfigs that declare a plugin the oldest counts: a newer one can neither change nor spoil what its
    users run by, and its own author is told (:func:`check`).
    """
    names = frozenset(plugins)
    specs: dict[str, PluginConfigSpec] = {}
    declarers: dict[str, UserObject] = {}
    problems: dict[str, Problem] = {}
    for plugin_config in sorted(plugin_configs.values(), key=_age):
        name, plugin = plugin_config.name, plugin_config.spec.get("plugin")
        if not isinstance(plugin, str) or plugin not in names or not plugin_config.spec.get("declares"):
            continue
        if plugin in specs or plugin in problems:
            continue
        if (too_much := bounds_problem(plugin_config)) is not None:
            problems[plugin] = Problem(f"PluginConfig {name}: {too_much.path}", too_much.message)
            continue
        # The first problem is enough here: all of them are reported at the PluginConfig itself.
        try:
            spec = PluginConfigSpec.model_validate(plugin_config.spec)
        except ValidationError as error:
            problem = explain(error, PluginConfigSpec)[0].below("spec")
            problems[plugin] = Problem(f"PluginConfig {name}: {problem.path}", problem.message)
            continue
        if mistake := next(declaration_problems(spec, namespace), None):
            problems[plugin] = Problem(f"PluginConfig {name}: {mistake.path}", mistake.message)
            continue
        specs[plugin], declarers[plugin] = spec, plugin_config
    return Declarations(
        {plugin: declaration(spec) for plugin, spec in specs.items()},
        {plugin: spec.source.config_map for plugin, spec in specs.items() if spec.source},
        problems,
        {plugin: spec.declares for plugin, spec in specs.items() if spec.declares},
        declarers,
    )


def _age(plugin_config: UserObject) -> tuple[str, str, str]:
    """Return the key by which PluginConfigs are sorted, the oldest first. Times of creation are whole seconds."""
    return plugin_config.created, plugin_config.uid, plugin_config.name


def declaration_problems(spec: PluginConfigSpec, namespace: str) -> Iterator[Problem]:
    """Yield the problems of the declaration in a PluginConfig."""
    if spec.source and not spec.declares:
        yield Problem("spec.declares", "is required beside source; berth plugins --declare FILE prints it")
    if not spec.declares:
        return
    if catalog.is_upstream_plugin(spec.plugin) or catalog.find(spec.plugin):
        yield Problem("spec.declares", f"berth knows {spec.plugin} by itself; leave declares out")
    problems = schema_problems(spec.declares.args_schema) if spec.declares.args_schema is not None else ()
    for at, message in islice(problems, MAX_PROBLEMS + 1):
        yield Problem(path_of(at), message).below("spec.declares.argsSchema")
    for index, rule in enumerate(spec.declares.rules or ()):
        path = f"spec.declares.rules[{index}]"
        for name, texts in (("apiGroups", rule.api_groups), ("resources", rule.resources), ("verbs", rule.verbs)):
            if "*" in texts:
                yield Problem(f"{path}.{name}", "is a wildcard; write out what the plugin needs")
        if rule.namespace not in (None, namespace):
            message = f"{rule.namespace} is not the operator's own namespace, {namespace}, the only one it makes roles "
            yield Problem(f"{path}.namespace", f"{message}in; leave it out for the whole cluster")


def declaration(spec: PluginConfigSpec) -> Declaration:
    """Return the declaration in a ``spec`` without problems, in the form of the catalog's declarations."""
    declares = spec.declares
    assert declares is not None, "the spec has no declaration"  # noqa: S101 - the callers have checked that
    return Declaration(
        name=spec.plugin,
        hooks=tuple(HOOKS.get(hook, to_snake(hook)) for hook in declares.hooks if hook not in _GROUP_POINTS),
        group_points=tuple(hook for hook in declares.hooks if hook in _GROUP_POINTS),
        args=_args_model(declares.args_schema),
        rules=tuple(
            Rule(
                tuple(rule.api_groups),
                tuple(rule.resources),
                tuple(rule.verbs),
                tuple(rule.resource_names or ()),
                rule.namespace or "",
            )
            for rule in declares.rules or ()
        ),
        events=tuple(
            ClusterEvent(event.resource, reduce(or_, (Action[to_snake(name).upper()] for name in event.actions)))
            for event in declares.events or ()
        ),
    )


def _args_model(schema: Mapping[str, Any] | None) -> type[PluginArgs] | None:
    if schema is None:
        return None
    return type("DeclaredArgs", (SchemaArgs,), {"argument_schema": schema, "__annotations__": {}})


def check(
    plugin_config: UserObject, plugin_configs: PluginConfigs, namespace: str, target: Target
) -> ObjectProblems | None:
    """Return what the author of ``plugin_config`` has to change; None when nothing is wrong."""
    if (too_much := bounds_problem(plugin_config)) is not None:
        return ObjectProblems("Invalid", (too_much,))
    reading = read_leniently(PluginConfigSpec, plugin_config.spec, "spec")
    if reading.value is None:
        return ObjectProblems("Invalid", reading.problems)
    if not reading.problems:
        return _check(plugin_config, reading.value, plugin_configs, namespace, target)
    # Its own declaration is read from the readable part: in plugin_configs its problems would be reported again.
    others = {name: config for name, config in plugin_configs.items() if config is not plugin_config}
    more = _check(plugin_config, reading.value, others, namespace, target)
    problems = (*reading.problems, *(reading.at_source_paths(more.problems) if more else ()))
    return ObjectProblems(more.reason if more and len(problems) > len(reading.problems) else "Invalid", problems)


def _check(
    plugin_config: UserObject, spec: PluginConfigSpec, plugin_configs: PluginConfigs, namespace: str, target: Target
) -> ObjectProblems | None:
    if own := tuple(declaration_problems(spec, namespace)):
        return ObjectProblems("Invalid", own)
    others = read_declarations(plugin_configs, [spec.plugin], namespace)
    plugins = {**others.plugins, **({spec.plugin: declaration(spec)} if spec.declares else {})}
    exists = spec.plugin in plugins or catalog.exists_in(spec.plugin, target.version) or catalog.find(spec.plugin)
    if not exists:
        problem = others.problems.get(spec.plugin) or Problem("spec.plugin", unknown_plugin_message(spec.plugin))
        return ObjectProblems("PluginUnknown", (problem,))
    problems = []
    if spec.declares and spec.plugin in others.problems:
        problems.append(others.problems[spec.plugin])  # an older one declares the plugin, and is wrong itself
    older = others.declarers.get(spec.plugin)
    if spec.declares and older is not None and _age(older) < _age(plugin_config):
        source = spec.source.config_map if spec.source else None
        if (others.declares[spec.plugin], others.sources.get(spec.plugin)) != (spec.declares, source):
            message = f"PluginConfig {older.name} declares {spec.plugin} differently, and counts, because it is older; "
            message += "make spec.declares and spec.source as they are there, or leave them out here"
            problems.append(Problem("spec.declares", message))
    entry = config.PluginConfigEntry(name=spec.plugin, args=spec.args or {})
    if message := unused_arguments(spec.plugin, entry.args, plugins):
        problems.append(Problem("spec.args", message))
    else:
        # The arguments are checked as those of a profile with this entry alone.
        match config.expand_profile(config.Profile(plugin_config=(entry,)), target, plugins):
            case config.Problems() as args_problems:
                problems += [
                    Problem(problem.path.replace("pluginConfig[0]", "spec"), problem.message)
                    for problem in args_problems
                ]
    return ObjectProblems("Invalid", tuple(problems)) if problems else None


def unused_arguments(plugin: str, args: Mapping[str, Any], declared: Mapping[str, Declaration]) -> str:
    """Return why ``args`` of a known plugin have no effect; empty when the plugin takes arguments, or has none."""
    declaration = declared.get(plugin)
    takes_arguments = declaration.args is not None if declaration else plugin in catalog.IN_TREE_ARGS
    return "" if takes_arguments or not set(args) - _HEADER else f"{plugin} takes no arguments"
