"""Plugins whose code is in ConfigMaps: granted and pinned by its hash, and compared with what was declared about it.

Who may write a ConfigMap can change the code, and the document that names its hash. So code is run only if the process
was started for that, and if the API server says that its account has the right to run code with this hash.

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
from time import monotonic
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

import msgspec
from pydantic.alias_generators import to_camel, to_snake

from scheduler_runtime.api import Plugin, declaration_of, flaws_of, hooks_of
from scheduler_runtime.catalog import Action, Rule
from scheduler_runtime.catalog.openapi_schema import structural_schema
from scheduler_runtime.catalog.permissions import source_rule
from scheduler_runtime.config import Problem, Problems
from scheduler_runtime.config.berth_options import BerthOptions, ConfigMapSource, DeclaredRule, Declares
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff, run_until
from scheduler_runtime.state.objects import ConfigMap

logger = logging.getLogger(__name__)

LONGEST_PAUSE_SECONDS = 5.0
GRANT_SECONDS = 3.0
"""The longest time that an API server is given to learn of a role that was written just before the document."""
REVIEWS_PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
T = TypeVar("T")


class _ReviewStatus(msgspec.Struct, gc=False):
    allowed: bool


class _Review(msgspec.Struct, gc=False):
    """The response to a SelfSubjectAccessReview."""

    status: _ReviewStatus


_decode_config_map = msgspec.json.Decoder(ConfigMap).decode
_decode_review = msgspec.json.Decoder(_Review).decode

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
        self,
        client: Client,
        namespace: str,
        builtin: Mapping[str, type[Plugin]] = MappingProxyType({}),
        *,
        are_allowed: bool = False,
        grant_seconds: float = GRANT_SECONDS,
    ) -> None:
        """``namespace`` is the scheduler's own, empty if unknown; plugins that are ``builtin`` need no source.

        Unless sources ``are_allowed``, no code is read or run. A right that is missing is asked for again during
        ``grant_seconds``.
        """
        self._client = client
        self._namespace = namespace
        self._builtin = builtin
        self._are_allowed = are_allowed
        self._grant_seconds = grant_seconds
        self._modules: dict[tuple[str, str], ModuleType] = {}

    async def load(self, extras: BerthOptions) -> Mapping[str, type[Plugin]] | Problems:
        """Return the builtin plugins and those that have a source in ``extras``, by name, or all problems with them.

        Raises PluginSourceUnavailableError.
        """
        sources = {name: own.config_map for name, own in extras.plugins.items() if own.config_map}
        # Before any code is run, and again for code that was run before: its right may have been taken away since. The
        # first refusal is enough, as newer documents wait, and a document may have thousands.
        for name, source in sources.items():
            if refusal := await self._refuse(source):
                return Problems((Problem(f"plugin {name}", str(refusal)),))
        loaded = dict(self._builtin)
        problems: list[Problem] = []
        for name, source in sources.items():
            plugin = await self._load_plugin(name, source)
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
        title, path = self._title(source), f"/api/v1/namespaces/{self._namespace}/configmaps/{source.name}"
        config_map = await self._request(f"{title}: cannot be read", _decode_config_map, "GET", path)
        if isinstance(config_map, Problem):
            return config_map
        code = config_map.data.get(source.key)
        if code is None:
            return Problem(title, f"has no {source.key}")
        digest = hashlib.sha256(code.encode()).hexdigest()
        if digest != source.sha256:
            message = f"{source.key} has the SHA-256 {digest}, and not {source.sha256}; look at what changed"
            return Problem(title, f"{message}, and write its hash into spec.source.configMap.sha256")
        return code

    async def _refuse(self, source: ConfigMapSource) -> Problem | None:
        """Return why this process may not run the code, or None if it may. Raises PluginSourceUnavailableError."""
        title = self._title(source)
        if not self._are_allowed:
            return Problem(
                title,
                "its code is not run: this scheduler was started without --allow-plugin-sources, which the operator "
                "sets if its chart has pluginSources.enabled=true; or install the plugin's package",
            )
        if not self._namespace:
            return Problem(
                title, "which namespace it is in is not known; set POD_NAMESPACE and POD_NAME, or give --config-map"
            )
        failure = f"{title}: the API server cannot be asked whether its code may be run"
        body = _access_review(source_rule([source.sha256], self._namespace))
        give_up_at, pauses = monotonic() + self._grant_seconds, Backoff(0.1, 1.0)
        # The operator writes the role before the document, but an API server learns of a role a moment later.
        while True:
            review = await self._request(failure, _decode_review, "POST", REVIEWS_PATH, body)
            if isinstance(review, Problem):
                return review
            if review.status.allowed:
                return None
            if monotonic() >= give_up_at:
                break
            await asyncio.sleep(pauses.next_delay())
        return Problem(
            title,
            f"{source.key} with the SHA-256 {source.sha256} is not run, because nobody granted it: the scheduler's "
            f"account needs a Role in namespace {self._namespace} with verbs [run], apiGroups [berth.dev], resources "
            "[pluginsources] and this hash in resourceNames; the operator writes it for the hash in a PluginConfig",
        )

    async def _request(
        self, failure: str, decode: Callable[[bytes], T], method: str, path: str, body: object = None
    ) -> T | Problem:
        """Return the decoded response, or the problem of a final refusal, which begins with ``failure``.

        Raises PluginSourceUnavailableError.
        """
        try:
            return decode(await self._client.request(method, path, body=body))
        except (ApiError, NoResponseError, ValueError, RecursionError) as error:
            if isinstance(error, ApiError) and error.status not in (401, 408, 429) and error.status < 500:
                return Problem(failure, str(error))  # the API server's answer will stay the same
            is_logged = isinstance(error, NoResponseError) and not error.sent  # by the client, which found nobody
            raise PluginSourceUnavailableError(f"{failure}: {error}", is_logged=is_logged) from error

    def _title(self, source: ConfigMapSource) -> str:
        return f"ConfigMap {self._namespace}/{source.name}" if self._namespace else f"ConfigMap {source.name}"


def _access_review(rule: Rule) -> dict[str, Any]:
    """Return the question whether this process has the right of ``rule``, which is about one object."""
    attributes = {
        "namespace": rule.namespace,
        "group": rule.api_groups[0],
        "resource": rule.resources[0],
        "verb": rule.verbs[0],
        "name": rule.resource_names[0],
    }
    return {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }


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
