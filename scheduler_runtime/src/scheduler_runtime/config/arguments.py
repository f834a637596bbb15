"""The arguments of plugins: read from pluginConfig, checked as the version would, completed with defaults."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, PluginArgs, Target
from scheduler_runtime.config.document_text import drop_nulls
from scheduler_runtime.config.models import API_VERSION
from scheduler_runtime.config.problems import Problem, explain

FIT = "NodeResourcesFit"
"""The one plugin whose arguments upstream checks when it builds the plugin, and not before.

Upstream also overwrites its ignoredResources with the resources that extenders ignore.
"""
_ERRORS_IN_VALUES = frozenset({"refused", "greater_than_equal", "less_than_equal", "literal_error", "missing"})
"""Pydantic's names for what is wrong with a value of the right type."""


class Arguments:
    """The arguments of one profile's plugins.

    ``others`` are the plugins that do not come with this build, by name. Call :meth:`read` for each entry of
    pluginConfig, then :meth:`complete`; ``problems`` has whatever was wrong.
    """

    def __init__(self, target: Target, others: Mapping[str, Declaration]) -> None:
        self.target = target
        self._declarations = {**catalog.in_tree(), **others}
        self.configured: set[str] = set()
        """The plugins that have an entry, whatever is wrong with the entry."""
        self.valid: dict[str, PluginArgs] = {}
        self.problems: list[Problem] = []

    def read(self, name: str, args: Mapping[str, Any], path: str, needed: bool) -> None:
        """Check ``args``, which stand at ``path``, for the plugin called ``name``; ``needed`` if it is enabled.

        Arguments for a plugin that has none, or that does not exist, are passed over, as upstream does.
        """
        model = self.model(name)
        if model is None:
            return
        self.configured.add(name)
        fields = dict(args)
        if name in catalog.IN_TREE_ARGS:
            for key, expected in (("apiVersion", API_VERSION), ("kind", f"{name}Args")):
                value = fields.pop(key, None)
                if value not in (None, "", expected):
                    self.problems.append(Problem(f"{path}.{key}", f"{value!r} is not {expected}"))
        try:
            text = json.dumps(drop_nulls(fields, model))
            self.valid[name] = model.model_validate_json(text, context={"target": self.target})
        except ValidationError as error:
            # Upstream decodes every entry, but validates those of NodeResourcesFit only when the plugin is built.
            matters = _is_wrong_type if name == FIT and not needed else None
            self.problems.extend(problem.below(path) for problem in explain(error, model, matters))
        except Exception as error:  # noqa: BLE001  the checks of somebody's own plugin may raise anything
            self.problems.append(Problem(path, _cannot_be_checked(error)))

    def complete(self, names: Iterable[str]) -> dict[str, PluginArgs]:
        """Return the arguments of the plugins called ``names``, with defaults for plugins without an entry.

        A required argument without an entry becomes a problem.
        """
        complete: dict[str, PluginArgs] = {}
        for name in sorted(names):
            model = self.model(name)
            if model is None:
                continue
            args = self.valid.get(name) if name in self.configured else self._default(name, model)
            if args is not None:
                complete[name] = args
        return catalog.with_gated_defaults(complete, self.target)

    def _default(self, name: str, model: type[PluginArgs]) -> PluginArgs | None:
        """Return arguments without any field set. In-tree ones have defaults, which need no checking."""
        if name in catalog.IN_TREE_ARGS:
            return model.model_construct()
        try:
            return model()
        except ValidationError as error:
            why = ", ".join(f"{problem.path} {problem.message}".lstrip() for problem in explain(error, model))
        except Exception as error:  # noqa: BLE001  as above
            why = _cannot_be_checked(error)
        self.problems.append(Problem("pluginConfig", f"has no entry for {name}, which needs one: {why}"))
        return None

    def model(self, name: str) -> type[PluginArgs] | None:
        """Return the model of a plugin's arguments; None when it takes none or is not known."""
        if name in catalog.IN_TREE_ARGS:
            return catalog.IN_TREE_ARGS[name]
        declaration = self._declarations.get(name)
        return declaration.args if declaration else None


def _cannot_be_checked(error: Exception) -> str:
    return f"cannot be checked: {type(error).__name__}: {error}"


def _is_wrong_type(details: ErrorDetails) -> bool:
    """Return True for a value that does not even have the type of its field, which upstream refuses in decoding."""
    value = details["input"]
    match details["type"]:
        case "literal_error":
            return not isinstance(value, str)
        case "greater_than_equal" | "less_than_equal":
            bound = 2**63 if details["loc"][-1] == "weight" else 2**31
            return not -bound <= value < bound
    return details["type"] not in _ERRORS_IN_VALUES
