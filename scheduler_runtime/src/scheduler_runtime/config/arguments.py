"""The arguments of plugins: read, checked as the version would, completed with defaults."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration, PluginArgs, Target
from scheduler_runtime.config.models import API_VERSION
from scheduler_runtime.config.problems import Problem, explain
from scheduler_runtime.config.yaml.nulls import drop_nulls

FIT = "NodeResourcesFit"
"""Upstream looks its arguments over only when it builds it, and tells it what extenders look after."""
_MEANING = frozenset({"refused", "greater_than_equal", "less_than_equal", "literal_error", "missing"})
"""What is wrong with a value of the right type."""


class Arguments:
    """What a profile's plugins are given."""

    def __init__(self, target: Target, others: Mapping[str, Declaration]) -> None:
        self.target = target
        self.others = others
        self.written: set[str] = set()
        """The plugins that have an entry, whatever is wrong with it."""
        self.found: dict[str, PluginArgs] = {}
        self.problems: list[Problem] = []

    def read(self, name: str, written: Mapping[str, Any], path: str, needed: bool) -> None:
        """Take the arguments ``written`` at ``path`` for the plugin called ``name``.

        Those of a plugin that has no arguments, or does not exist, are nobody's business here, as upstream.
        """
        model = self.model(name)
        if model is None:
            return
        self.written.add(name)
        fields = dict(written)
        if name in catalog.IN_TREE_ARGS:
            self.check_header(fields, name, path)
        try:
            context = {"target": self.target}
            text = json.dumps(drop_nulls(fields, model))
            self.found[name] = model.model_validate_json(text, context=context)
        except ValidationError as error:
            unread = name == FIT and not needed
            kept = _of_type if unread else None
            self.problems.extend(problem.below(path) for problem in explain(error, model, kept))
        except Exception as error:  # noqa: BLE001  what a plugin of one's own checks may raise anything
            self.problems.append(Problem(path, _unchecked(error)))

    def complete(self, names: Iterable[str]) -> dict[str, PluginArgs]:
        """The arguments of the plugins called ``names``, those that were not written with their defaults.

        What has no default is a problem.
        """
        complete: dict[str, PluginArgs] = {}
        for name in sorted(names):
            model = self.model(name)
            if model is None:
                continue
            args = self.found.get(name) if name in self.written else self._default(name, model)
            if args is not None:
                complete[name] = catalog.with_gated_defaults(args, self.target)
        return complete

    def _default(self, name: str, model: type[PluginArgs]) -> PluginArgs | None:
        """Arguments of which nothing is written. In-tree ones have defaults, which need no checking."""
        if name in catalog.IN_TREE_ARGS:
            return model.model_construct()
        try:
            return model()
        except ValidationError as error:
            said = ", ".join(f"{problem.path} {problem.message}".lstrip() for problem in explain(error, model))
        except Exception as error:  # noqa: BLE001  as above
            said = _unchecked(error)
        self.problems.append(Problem("pluginConfig", f"has no entry for {name}, which needs one: {said}"))
        return None

    def model(self, name: str) -> type[PluginArgs] | None:
        """The model of a plugin's arguments; None when it takes none or is not known."""
        if name in catalog.IN_TREE_ARGS:
            return catalog.IN_TREE_ARGS[name]
        declared = self.others.get(name) or catalog.find(name)
        return declared.args if declared else None

    def check_header(self, fields: dict[str, Any], name: str, path: str) -> None:
        """The apiVersion and kind that in-tree arguments may carry."""
        for key, wanted in (("apiVersion", API_VERSION), ("kind", f"{name}Args")):
            given = fields.pop(key, None)
            if given not in (None, "", wanted):
                self.problems.append(Problem(f"{path}.{key}", f"{given!r} is not {wanted}"))


def _unchecked(error: Exception) -> str:
    return f"cannot be checked: {type(error).__name__}: {error}"


def _of_type(details: ErrorDetails) -> bool:
    """Whether a value does not even have the type of its field, which upstream sees when it reads the document."""
    given = details["input"]
    match details["type"]:
        case "literal_error":
            return not isinstance(given, str)
        case "greater_than_equal" | "less_than_equal":
            bound = 2**63 if details["loc"][-1] == "weight" else 2**31
            return not -bound <= given < bound
    return details["type"] not in _MEANING
