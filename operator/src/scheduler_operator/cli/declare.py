"""PluginConfigs that declare the plugins of a Python file, so that the operator need not load the code."""

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic.alias_generators import to_camel

from scheduler_operator.cli.answers import Refusal, RefusedError, raise_if_refused
from scheduler_operator.cli.plugin_facts import events_of, rule_fields
from scheduler_operator.models import PluginConfigSpec
from scheduler_operator.render import ObjectProblems, read
from scheduler_operator.render.plugin_configs import HOOKS, declaration_problems
from scheduler_operator.resources.kinds import API_VERSION
from scheduler_runtime.api import Declaration, Plugin, declaration_of, flaws_of, hooks_of
from scheduler_runtime.catalog.openapi_schema import structural_schema

_MODULE_NAME = "berth_declared"


def declare_plugins(file: str, namespace: str) -> list[dict[str, Any]]:
    """Return a PluginConfig for each plugin in the Python ``file``. Raises RefusedError when one could not be used."""
    plugin_configs = []
    for value in vars(_load_module(file)).values():
        if isinstance(value, type) and issubclass(value, Plugin) and value.__module__ == _MODULE_NAME:
            raise_if_refused(Refusal(file, f"{value.__name__}: {flaw}") for flaw in flaws_of(value, may_be_a_base=True))
            if hooks_of(value):
                plugin_configs.append(_plugin_config(declaration_of(value)))
    if not plugin_configs:
        raise RefusedError(Refusal(file, "has no class that is a Plugin and has hooks"))
    refusals = []
    for plugin_config in plugin_configs:
        spec = read(PluginConfigSpec, plugin_config["spec"])
        problems = spec.problems if isinstance(spec, ObjectProblems) else declaration_problems(spec, namespace)
        for problem in problems:
            message = f"{plugin_config['spec']['plugin']}: {problem.path}: {problem.message}"
            refusals.append(Refusal(file, message))
    raise_if_refused(refusals)
    return plugin_configs


def _load_module(file: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(_MODULE_NAME, file)
    if not Path(file).is_file():
        raise RefusedError(Refusal(file, "is a folder; name a file" if Path(file).is_dir() else "does not exist"))
    if spec is None or spec.loader is None:
        raise RefusedError(Refusal(file, "is no Python file; its name has to end in .py"))
    module = importlib.util.module_from_spec(spec)
    # Imports find modules beside the file, as when Python runs it. They are forgotten afterwards: another file may
    # have a neighbour of the same name.
    before, folder = frozenset(sys.modules), str(Path(file).resolve().parent)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a mistake in the plugin's code, with its line in the file
        if isinstance(error, SyntaxError):
            line = error.lineno
        else:
            frames = reversed(traceback.extract_tb(error.__traceback__))
            line = next((frame.lineno for frame in frames if frame.filename == file), None)
        message = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
        raise RefusedError(Refusal(file, f"cannot be loaded: {message}", line=line)) from error
    finally:
        sys.path.remove(folder)
        for name in sys.modules.keys() - before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(f"{folder}/"):
                del sys.modules[name]
    return module


def api_hook_name(hook: str) -> str:
    """Return the name of a hook in the API, which is upstream's name of the extension point."""
    return next((point for point, name in HOOKS.items() if name == hook), to_camel(hook))


def _plugin_config(declaration: Declaration) -> dict[str, Any]:
    # PriceCap becomes price-cap.
    words = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in declaration.name)
    declares = {
        "hooks": [api_hook_name(hook) for hook in declaration.hooks],
        "argsSchema": structural_schema(declaration.args) if declaration.args else None,
        "rules": [rule_fields(rule) for rule in declaration.rules_for()],
        "events": [{"resource": kind, "actions": actions} for kind, actions in events_of(declaration)],
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "PluginConfig",
        "metadata": {"name": words.strip("-").replace("_", "-")},
        "spec": {"plugin": declaration.name, "declares": {key: value for key, value in declares.items() if value}},
    }
