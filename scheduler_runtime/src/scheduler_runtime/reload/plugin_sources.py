"""Plugins whose code is in ConfigMaps: pinned by its hash, and compared with what was declared about it.

The operator granted permissions, and arguments were checked, by the declarations alone. So code that differs from its
hash or from its declaration is not used.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

import msgspec
from pydantic.alias_generators import to_camel, to_snake

from scheduler_runtime.api import Plugin, declaration_of, flaws_of, hooks_of
from scheduler_runtime.catalog import Action, Rule
from scheduler_runtime.catalog.openapi_schema import structural_schema
from scheduler_runtime.config import Problem, Problems
from scheduler_runtime.config.berth_options import BerthOptions, ConfigMapSource, DeclaredRule, Declares
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff, run_until
from scheduler_runtime.state.objects import ConfigMap

logger = logging.getLogger(__name__)

LONGEST_PAUSE_SECONDS = 5.0
T = TypeVar("T")
_decode = msgspec.json.Decoder(ConfigMap).decode

_ADVICE = "berth plugins --declare FILE prints what to declare"
_EXTENSION_POINTS = {"sort_key": "queueSort"}
"""Hooks whose name differs from that of their extension point by more than its case."""
_DESCRIPTIVE = frozenset({"title", "description", "default"})
"""Keywords of a schema that do not change which values are valid."""


class PluginSourceUnavailableError(Exception):
    """The API server does not return the code of a plugin at present, which says nothing about the code.

    ``is_logged`` is whether the log has the reason already.
    """

    def __init__(self, message: str, *, is_logged: bool) -> None:
        super().__init__(message)
        self.is_logged = is_logged


class PluginSources:
    """Loads plugins from ConfigMaps of one namespace. The same code is executed once, however often it is loaded."""

    def __init__(
        self, client: Client, namespace: str, builtin: Mapping[str, type[Plugin]] = MappingProxyType({})
    ) -> None:
        """``namespace`` is the scheduler's own, empty if unknown; plugins that are ``builtin`` need no source."""
        self._client = client
        self._namespace = namespace
        self._builtin = builtin
        self._modules: dict[tuple[str, str], ModuleType] = {}

    async def load(self, extras: BerthOptions) -> Mapping[str, type[Plugin]] | Problems:
        """Return the builtin plugins and those that have a source in ``extras``, by name, or all problems with them.

        Raises PluginSourceUnavailableError.
        """
        loaded = dict(self._builtin)
        problems: list[Problem] = []
        for name, own in extras.plugins.items():
            if own.config_map is None:
                continue
            plugin = await self._load_plugin(name, own.config_map)
            if isinstance(plugin, str):
                problems.append(Problem(f"plugin {name}", plugin))
            else:
                loaded[name] = plugin
        return Problems(tuple(problems)) if problems else loaded

    async def _load_plugin(self, plugin: str, source: ConfigMapSource) -> type[Plugin] | str:
        """Return the class, or the problem with its code."""
        # By its hash, so that a reload which does not change the code keeps the class, and with it the framework.
        module = self._modules.get((source.key, source.sha256))
        if module is None:
            code = await self._read_code(source)
            if isinstance(code, Problem):
                return str(code)
            # In a thread, as importing what the code imports may take seconds, and pods are scheduled meanwhile.
            executed = await asyncio.to_thread(_execute, code, source)
            if isinstance(executed, str):
                return f"{self._title(source)}: {executed}"
            module = self._modules[source.key, source.sha256] = executed
        return _find_class(module, plugin, source.key)

    async def _read_code(self, source: ConfigMapSource) -> str | Problem:
        """Return the code if it has the hash that its author wrote down. Raises PluginSourceUnavailableError."""
        title = self._title(source)
        if not self._namespace:
            return Problem(
                title, "which namespace it is in is not known; set POD_NAMESPACE and POD_NAME, or give --config-map"
            )
        try:
            body = await self._client.request("GET", f"/api/v1/namespaces/{self._namespace}/configmaps/{source.name}")
            code = _decode(body).data.get(source.key)
        except (ApiError, NoResponseError, ValueError, RecursionError) as error:
            if isinstance(error, ApiError) and error.status not in (401, 408, 429) and error.status < 500:
                return Problem(title, f"cannot be read: {error}")  # the API server's answer will stay the same
            is_logged = isinstance(error, NoResponseError) and not error.sent  # by the client, which found nobody
            raise PluginSourceUnavailableError(f"{title}: cannot be read: {error}", is_logged=is_logged) from error
        if code is None:
            return Problem(title, f"has no {source.key}")
        digest = hashlib.sha256(code.encode()).hexdigest()
        if digest != source.sha256:
            message = f"{source.key} has the SHA-256 {digest}, and not {source.sha256}; look at what changed"
            return Problem(title, f"{message}, and write its hash into spec.source.configMap.sha256")
        return code

    def _title(self, source: ConfigMapSource) -> str:
        return f"ConfigMap {self._namespace}/{source.name}" if self._namespace else f"ConfigMap {source.name}"


def _execute(code: str, source: ConfigMapSource) -> ModuleType | str:
    """Execute the code as a module with a name of its own; return the module, or the problem."""
    module = ModuleType(f"berth_source_{source.sha256}")
    sys.modules[module.__name__] = module  # pydantic and others look up annotations by the module's name
    try:
        exec(compile(code, source.key, "exec"), vars(module))  # noqa: S102 - its author wants it, and pinned its hash
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module of theirs does is theirs to mend
        del sys.modules[module.__name__]
        return f"{source.key} cannot be loaded: {type(error).__name__}: {error}"
    return module


def _find_class(module: ModuleType, plugin: str, file: str) -> type[Plugin] | str:
    """Return the plugin class of this name that the module defines, or the problem."""
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Plugin) and value.__module__ == module.__name__
    ]
    # A base class without hooks is no plugin, whatever its name.
    for kind in classes:
        if hooks_of(kind) and declaration_of(kind).name == plugin:
            flaws = "; ".join(flaws_of(kind))
            return f"{file}: {flaws}" if flaws else kind
    names = ", ".join(kind.__name__ for kind in classes) or "none"
    return f"{file} has no plugin of this name; those that it has: {names}"


async def retry_until_available(
    load: Callable[[], Awaitable[T]], stop: asyncio.Event, backoff: Backoff | None = None
) -> T | None:
    """Call ``load`` until it does not raise PluginSourceUnavailableError, and return its result; None at ``stop``."""
    pauses, trouble = backoff or Backoff(longest=LONGEST_PAUSE_SECONDS), LogOnce(logger)

    async def keep_trying() -> T:
        while True:
            try:
                outcome = await load()
            except PluginSourceUnavailableError as error:
                if not error.is_logged:
                    trouble.failing("waiting for the code of plugins", str(error))
                await asyncio.sleep(pauses.next_delay())
            else:
                trouble.recovered()
                return outcome

    return await run_until(stop, keep_trying())


# Comparing code with its declaration.


def check_declarations(plugins: Mapping[str, type[Plugin]], extras: BerthOptions) -> Problems | None:
    """Return the differences between ``plugins`` and what was declared about them in ``extras``; None if none."""
    problems = tuple(
        Problem(f"plugin {name}", sentence)
        for name, own in extras.plugins.items()
        if own.declares is not None and name in plugins
        for sentence in _compare(plugins[name], own.declares)
    )
    return Problems(problems) if problems else None


def _compare(plugin: type[Plugin], declared: Declares) -> list[str]:
    """Return a sentence for each kind of difference; the last one ends with advice."""
    own = declaration_of(plugin)
    try:
        rules = own.rules_for()
    except Exception as error:  # noqa: BLE001  it is code of theirs
        return [f"rules: {type(error).__name__}: {error}"]
    in_code, in_declaration = dict[str, Action](), dict[str, Action]()
    for event in own.events:
        in_code[event.resource] = in_code.get(event.resource, Action(0)) | event.actions
    for entry in declared.events:
        actions = (Action.__members__.get(to_snake(name).upper(), Action(0)) for name in entry.actions)
        in_declaration[entry.resource] = reduce(or_, actions, in_declaration.get(entry.resource, Action(0)))
    sentences = [
        *_differences("hooks", (_EXTENSION_POINTS.get(hook, to_camel(hook)) for hook in own.hooks), declared.hooks),
        *_differences("rules", _rights(rules), _rights(declared.rules)),
        # Only the actions that differ, as a declaration may write Update where the code has all kinds of updates.
        *_differences("events", _more_events(in_code, in_declaration), _more_events(in_declaration, in_code)),
    ]
    schema = structural_schema(own.args) if own.args else None
    if _schema(schema or None) != _schema(declared.args_schema or None):
        sentences.append("argsSchema: its code takes other arguments than are declared")
    return [*sentences[:-1], f"{sentences[-1]}; {_ADVICE}"] if sentences else []


def _differences(part: str, in_code: Iterable[str], in_declaration: Iterable[str]) -> Iterator[str]:
    own, declared = frozenset(in_code), frozenset(in_declaration)
    more, less = sorted(own - declared), sorted(declared - own)
    clauses = [f"its code has {', '.join(more)}, which is not declared"] if more else []
    clauses += [f"{', '.join(less)} is declared, but its code does not have it"] if less else []
    if clauses:
        yield f"{part}: {', and '.join(clauses)}"


def _rights(rules: Iterable[Rule] | Iterable[DeclaredRule]) -> Iterator[str]:
    """Yield each right by itself, so that it does not matter how rights are grouped into rules."""
    for rule in rules:
        names = "".join(f" {name}" for name in sorted(rule.resource_names))
        where = f" in {rule.namespace}" if rule.namespace else ""
        for group in rule.api_groups:
            for resource in rule.resources:
                full_name = f"{resource}.{group}" if group else resource
                yield from (f"{verb} {full_name}{names}{where}" for verb in rule.verbs)


def _more_events(events: Mapping[str, Action], others: Mapping[str, Action]) -> list[str]:
    """Return the actions in ``events`` that ``others`` do not cover, in the fewest words."""
    return [
        f"{resource} {action.word}"
        for resource, actions in events.items()
        for action in actions.parts()
        if action not in others.get(resource, Action(0))
    ]


def _schema(value: Any, *, is_properties: bool = False) -> Any:
    """Return a part of a schema without the keywords that only describe it.

    Below ``properties`` the keys are names of arguments, which may equal such a keyword.
    """
    match value:
        case Mapping():
            parts = ((key, part) for key, part in value.items() if is_properties or key not in _DESCRIPTIVE)
            return {key: _schema(part, is_properties=key == "properties" and not is_properties) for key, part in parts}
        case list() | tuple():
            return [_schema(part) for part in value]
    return value
