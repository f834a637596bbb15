"""The code of plugins that a PluginConfig names: in a ConfigMap, and pinned by its hash."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType, ModuleType
from typing import TypeVar

import msgspec

from scheduler_runtime.api import Plugin, declaration_of, flaws_of, hooks_of
from scheduler_runtime.config import Problem, Problems
from scheduler_runtime.config.berth_options import ConfigMapSource, Extras
from scheduler_runtime.kube.client import ApiError, Client, NoResponseError
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.kube.retry import Backoff, run_until
from scheduler_runtime.reload.declaration_check import differences
from scheduler_runtime.state.objects import ConfigMap

logger = logging.getLogger(__name__)

LONGEST_PAUSE_SECONDS = 5.0
T = TypeVar("T")
_decode = msgspec.json.Decoder(ConfigMap).decode


class PluginSourceUnavailableError(Exception):
    """The API server does not say what the code of a plugin is; that may pass, and says nothing about the code.

    ``is_said`` tells whether the log has the reason already.
    """

    def __init__(self, message: str, *, is_said: bool) -> None:
        super().__init__(message)
        self.is_said = is_said


class PluginSources:
    """Loads plugins from ConfigMaps of one namespace. The same code is run once, however often it is asked for."""

    def __init__(
        self, client: Client, namespace: str, given: Mapping[str, type[Plugin]] = MappingProxyType({})
    ) -> None:
        """``namespace`` is the scheduler's own; empty when it is in none that is known.

        Plugins that are ``given`` need no source.
        """
        self._client = client
        self._namespace = namespace
        self._given = given
        self._modules: dict[tuple[str, str], ModuleType] = {}

    async def load(self, extras: Extras) -> Mapping[str, type[Plugin]] | Problems:
        """The plugins that are given or have a source in ``extras``, by name, or why there are not all of them.

        Raises PluginSourceUnavailableError.
        """
        loaded = dict(self._given)
        problems: list[Problem] = []
        for name, own in extras.plugins.items():
            if own.config_map is None:
                continue
            plugin = await self._load(name, own.config_map)
            if isinstance(plugin, str):
                problems.append(Problem(f"plugin {name}", plugin))
            else:
                loaded[name] = plugin
        return Problems(tuple(problems)) if problems else loaded

    async def _load(self, plugin: str, source: ConfigMapSource) -> type[Plugin] | str:
        known = self._modules.get((source.key, source.sha256))
        if known is not None:
            return _class(known, plugin, source.key)
        code = await self._code(source)
        if isinstance(code, Problem):
            return str(code)
        module = await asyncio.to_thread(_run, code, source)  # importing may take long
        if isinstance(module, str):
            return f"{self._called(source)}: {module}"
        self._modules[source.key, source.sha256] = module
        return _class(module, plugin, source.key)

    async def _code(self, source: ConfigMapSource) -> str | Problem:
        """The code, which is what it was when somebody wrote down its hash."""
        called = self._called(source)
        if not self._namespace:
            return Problem(
                called, "which namespace it is in is not known; set POD_NAMESPACE and POD_NAME, or give --config-map"
            )
        try:
            found = await self._client.request("GET", f"/api/v1/namespaces/{self._namespace}/configmaps/{source.name}")
            code = _decode(found).data.get(source.key)
        except (ApiError, NoResponseError, msgspec.MsgspecError) as error:
            if _may_pass(error):
                is_said = isinstance(error, NoResponseError) and not error.sent  # by the client, which found nobody
                raise PluginSourceUnavailableError(f"{called}: cannot be read: {error}", is_said=is_said) from error
            return Problem(called, f"cannot be read: {error}")
        if code is None:
            return Problem(called, f"has no {source.key}")
        digest = hashlib.sha256(code.encode()).hexdigest()
        if digest != source.sha256:
            message = f"{source.key} has the SHA-256 {digest}, and not {source.sha256}; look at what changed"
            return Problem(called, f"{message}, and write its hash into spec.source.configMap.sha256")
        return code

    def _called(self, source: ConfigMapSource) -> str:
        return f"ConfigMap {self._namespace}/{source.name}" if self._namespace else f"ConfigMap {source.name}"


async def retry_until_available(
    ask: Callable[[], Awaitable[T]], stop: asyncio.Event, backoff: Backoff | None = None
) -> T | None:
    """What ``ask`` comes to once it does not raise PluginSourceUnavailableError any more; None when stopped before."""
    return await run_until(stop, _again_and_again(ask, backoff or Backoff(longest=LONGEST_PAUSE_SECONDS)))


async def _again_and_again(ask: Callable[[], Awaitable[T]], backoff: Backoff) -> T:
    trouble = LogOnce(logger)
    while True:
        try:
            outcome = await ask()
        except PluginSourceUnavailableError as error:
            if not error.is_said:
                trouble.failing("waiting for the code of plugins", str(error))
            await asyncio.sleep(backoff.next_delay())
        else:
            trouble.recovered()
            return outcome


def undeclared(plugins: Mapping[str, type[Plugin]], extras: Extras) -> Problems | None:
    """Where the code of ``plugins`` is not what was declared about it; None when nothing differs."""
    found = tuple(
        Problem(f"plugin {name}", sentence)
        for name, own in extras.plugins.items()
        if own.declares is not None and name in plugins
        for sentence in differences(plugins[name], own.declares)
    )
    return Problems(found) if found else None


def _may_pass(error: Exception) -> bool:
    """Whether what went wrong is a matter of the API server, and not of what it was asked for."""
    return not isinstance(error, ApiError) or error.status in (401, 408, 429) or error.status >= 500


def _run(code: str, source: ConfigMapSource) -> ModuleType | str:
    """Run the module, under a name that no other code has."""
    module = ModuleType(f"berth_source_{source.sha256}")
    sys.modules[module.__name__] = module  # for what looks up annotations by the module's name
    try:
        exec(compile(code, source.key, "exec"), vars(module))  # noqa: S102 - it is what was asked for, by its hash
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a module of theirs does is theirs to mend
        del sys.modules[module.__name__]
        return f"{source.key} cannot be loaded: {type(error).__name__}: {error}"
    return module


def _class(module: ModuleType, plugin: str, file: str) -> type[Plugin] | str:
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Plugin) and value.__module__ == module.__name__
    ]
    for kind in own:
        if hooks_of(kind) and declaration_of(kind).name == plugin:
            flaws = "; ".join(flaws_of(kind))
            return f"{file}: {flaws}" if flaws else kind
    names = ", ".join(kind.__name__ for kind in own) or "none"
    return f"{file} has no plugin of this name; those that it has: {names}"
