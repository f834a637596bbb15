"""A plugin's own code to the PluginConfig that declares it, so that nobody has to load that code again."""

import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic.alias_generators import to_camel

from scheduler_operator.cli.answers import Refusal, RefusedError, or_refuse
from scheduler_operator.cli.plugin_facts import events_of, rule_fields
from scheduler_operator.models import PluginConfigSpec
from scheduler_operator.render import Problems, read
from scheduler_operator.render.declarations import HOOKS, declaration_problems
from scheduler_operator.resources.kinds import API_VERSION
from scheduler_runtime.api import Declaration, Plugin, declaration_of, flaws_of, hooks_of
from scheduler_runtime.catalog.openapi_schema import structural_schema

_LOADED_AS = "berth_declared"


def plugin_configs(file: str, namespace: str) -> list[dict[str, Any]]:
    """A PluginConfig for each plugin in the Python ``file``. Raises RefusedError when one could not be used."""
    found = [_plugin_config(each) for each in _declarations(file)]
    if not found:
        raise RefusedError(Refusal(file, "has no class that is a Plugin and has hooks"))
    or_refuse(refusal for each in found for refusal in _refusals(file, each, namespace))
    return found


def _declarations(file: str) -> Iterator[Declaration]:
    for value in vars(_loaded(file)).values():
        if isinstance(value, type) and issubclass(value, Plugin) and value.__module__ == _LOADED_AS:
            or_refuse(Refusal(file, f"{value.__name__}: {flaw}") for flaw in flaws_of(value, may_be_a_base=True))
            if hooks_of(value):
                yield declaration_of(value)


def _loaded(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_LOADED_AS, file)
    if not Path(file).is_file():
        raise RefusedError(Refusal(file, "is a folder; name a file" if Path(file).is_dir() else "does not exist"))
    if spec is None or spec.loader is None:
        raise RefusedError(Refusal(file, "is no Python file; its name has to end in .py"))
    module = importlib.util.module_from_spec(spec)
    try:
        with _beside(file):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever somebody's code does is theirs to mend
        raise RefusedError(Refusal(file, f"cannot be loaded: {_said(error)}", line=_line(error, file))) from error
    return module


@contextmanager
def _beside(file: str) -> Iterator[None]:
    """Let what is imported be found beside ``file``, as when Python runs it; afterwards nobody else finds it."""
    before, folder = frozenset(sys.modules), str(Path(file).resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        for name in sys.modules.keys() - before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(f"{folder}/"):
                del sys.modules[name]


def _said(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")


def _line(error: BaseException, file: str) -> int | None:
    if isinstance(error, SyntaxError):
        return error.lineno
    return next((at.lineno for at in reversed(traceback.extract_tb(error.__traceback__)) if at.filename == file), None)


def _plugin_config(declared: Declaration) -> dict[str, Any]:
    declares = {
        "hooks": [_hook(hook) for hook in declared.hooks],
        "argsSchema": structural_schema(declared.args) if declared.args else None,
        "rules": [rule_fields(rule) for rule in declared.rules_for()],
        "events": [{"resource": kind, "actions": actions} for kind, actions in events_of(declared)],
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "PluginConfig",
        "metadata": {"name": _object_name(declared.name)},
        "spec": {"plugin": declared.name, "declares": {key: value for key, value in declares.items() if value}},
    }


def _hook(hook: str) -> str:
    """A hook in the words of the API, which are upstream's."""
    return next((point for point, name in HOOKS.items() if name == hook), to_camel(hook))


def _object_name(plugin: str) -> str:
    """``price-cap`` for PriceCap."""
    words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in plugin)
    return words.strip("-").replace("_", "-")


def _refusals(file: str, plugin_config: dict[str, Any], namespace: str) -> Iterator[Refusal]:
    """Why the operator would not take what a plugin declares."""
    spec = read(PluginConfigSpec, plugin_config["spec"])
    problems = spec.problems if isinstance(spec, Problems) else tuple(declaration_problems(spec, namespace))
    for problem in problems:
        yield Refusal(file, f"{plugin_config['spec']['plugin']}: {problem.path}: {problem.message}")
