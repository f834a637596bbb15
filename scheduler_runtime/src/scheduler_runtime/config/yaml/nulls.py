"""What null means to Go: nothing was written, except in a list, where it is an empty entry."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from scheduler_runtime.config.models import PluginSet

_KEPT = frozenset({"leaseDuration", "renewDeadline", "retryPeriod", "httpTimeout"})
"""Upstream refuses null here, because it reads it as the duration ''."""


def drop_nulls(value: Any, model: type[BaseModel]) -> Any:
    """``value``, which is to become a ``model``, as Go would fill it: nulls gone, or empty where they stand in a list.

    A field that does not exist keeps its null, so that it is refused.
    """
    if not isinstance(value, dict):
        return value
    fields, found = _fields(model), {}
    for key, inner in value.items():
        if key not in fields:
            found[key] = inner
        elif inner is not None:
            found[key] = _filled(inner, fields[key])
        elif key in _KEPT:
            found[key] = None
        elif fields[key] is PluginSet:
            found[key] = {}  # so that a version without this point can still say so
    return found


def _filled(value: Any, kind: Any) -> Any:
    inner = _model(kind)
    if isinstance(value, list) and (element := _element(kind)) is not None:
        empty: Any = {} if inner else "" if element is str else None
        return [empty if each is None else _filled(each, element) for each in value]
    return drop_nulls(value, inner) if inner else value


@cache
def _fields(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


@cache
def _model(kind: Any) -> type[BaseModel] | None:
    """The model that values of this ``kind``, or the elements of such lists, are."""
    if _is_model(kind):
        return kind  # type: ignore[no-any-return]
    return next((found for each in get_args(kind) if (found := _model(each)) is not None), None)


def _element(kind: Any) -> Any:
    """The kind of a list's elements; None for what is no list."""
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        return get_args(inner)[0] if hasattr(inner, "__metadata__") else inner
    return next((found for each in get_args(kind) if (found := _element(each)) is not None), None)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
