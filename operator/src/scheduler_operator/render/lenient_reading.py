"""Reads as much of a user's object into a model as is valid, so that one mistake does not hide the next.

Parts that the model refuses are removed, and the rest is read again. Paths in the rest differ from those in the
source, because entries of a list may be missing before them; and problems of the rest may be false, because of what is
missing beside them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from scheduler_runtime.config import Problem, explain
from scheduler_runtime.config.problems import Step, path_of, steps_of

AnyModel = TypeVar("AnyModel", bound=BaseModel)
Steps = tuple[Step, ...]
"""A path, as the steps that lead along it."""

_INDIVISIBLE = frozenset({"overrides"})
"""Lists whose entries build on one another: one bad entry makes the list unreadable."""

_NUMBERED_LISTS = frozenset({"profiles"})
"""Lists whose entries are never removed: other lists are in the same order."""

_DEPENDS = {"extenders": "engine", "nodes": "plugins", "args": "declares"}
"""Fields that cannot be judged while another one is unreadable."""


@dataclass(frozen=True, slots=True)
class Reading(Generic[AnyModel]):
    """The readable part of ``source``, and the problems of the rest."""

    source: Any
    value: AnyModel | None
    """None when nothing is readable."""
    problems: tuple[Problem, ...] = ()
    removed: frozenset[Steps] = frozenset()
    """The parts that were removed, by their path in ``source``."""
    prefix: str = ""
    """The start of every path."""

    def at_source_paths(self, problems: Iterable[Problem]) -> Iterator[Problem]:
        """Yield those ``problems`` of ``value`` that are problems of ``source`` too, at their paths there."""
        if not self.removed:
            yield from problems
            return
        path_in_source = re.compile(re.escape(self.prefix) + r"([.\[]|$)" if self.prefix else r"[\w\[]")
        for problem in problems:
            if path_in_source.match(problem.path) is None:
                yield problem  # about another object, such as a PluginConfig
                continue
            steps = _source_path(steps_of(problem.path.removeprefix(self.prefix)), self.source, self.removed)
            parent = steps if steps and isinstance(steps[-1], int) else steps[:-1]
            needed = _DEPENDS.get(str(steps[0])) if steps else None
            # A problem may come from a part that was removed there, beside it, or where it depends on: once the author
            # has corrected that part, the problem may be gone.
            is_doubtful = bool(steps) and any(
                gap[0] == needed or (bool(parent) and gap[: len(parent)] == parent) for gap in self.removed
            )
            if not is_doubtful:
                yield Problem(path_of(steps), problem.message).below(self.prefix)


def read_leniently(
    model: type[AnyModel], source: Any, prefix: str = "", validate: Callable[[Any], AnyModel] | None = None
) -> Reading[AnyModel]:
    """Read as much of ``source`` into ``model`` as is valid, and collect the problems of the rest."""
    validate = validate or model.model_validate
    reading: Reading[AnyModel] = Reading(source, None, prefix=prefix)
    while True:
        try:
            value = validate(_remove(reading.removed, source) if reading.removed else source)
        except ValidationError as error:
            # Problems of the rest that a removed part may have caused are left out by at_source_paths.
            new_problems = [problem.below(prefix) for problem in explain(error, model)]
            problems = (*reading.problems, *reading.at_source_paths(new_problems))
            details = error.errors(include_url=False)
            invalid = {_invalid_part(detail, source, reading.removed) for detail in details}
            removed = reading.removed | invalid
            if () in invalid or removed == reading.removed:  # all of it is invalid, or removing more does not help
                return Reading(source, None, problems, removed - {()}, prefix)
            reading = Reading(source, None, problems, removed, prefix)
        else:
            return Reading(source, value, reading.problems, reading.removed, prefix)


def _remove(removed: frozenset[Steps], value: Any, at: Steps = ()) -> Any:
    match value:
        case Mapping():
            items = ((key, inner) for key, inner in value.items() if (*at, key) not in removed)
            return {key: _remove(removed, inner, (*at, key)) for key, inner in items}
        case list() | tuple():
            entries = ((index, inner) for index, inner in enumerate(value) if (*at, index) not in removed)
            return [_remove(removed, inner, (*at, index)) for index, inner in entries]
    return value


def _source_path(steps: Iterable[Step], source: Any, removed: frozenset[Steps]) -> Steps:
    """Return the path in ``source`` to which ``steps`` lead in the rest, without the ``removed`` parts."""
    at: Steps = ()
    for step in steps:
        if isinstance(step, int) and isinstance(source, list | tuple):
            remaining = [index for index in range(len(source)) if (*at, index) not in removed]
            step = remaining[step] if step < len(remaining) else step
        at, source = (*at, step), _child(source, step)
    return at


_MISSING = object()


def _child(value: Any, step: Step) -> Any:
    if isinstance(value, Mapping):
        return value.get(step, _MISSING)
    exists = isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)
    return value[step] if exists else _MISSING


def _invalid_part(error: Mapping[str, Any], source: Any, removed: frozenset[Steps]) -> Steps:
    """Return the path of what to remove because of ``error``: a field, or the entry of a list that has the mistake."""
    steps = _source_path(error["loc"], source, removed)
    value = source
    for depth, step in enumerate(steps):
        value = _child(value, step)
        if value is _MISSING:  # a missing field is the mistake of what it is missing in
            steps = steps[:depth]
            break
    # Without one of several operations the others would be applied to another document than their author meant.
    if steps[:1] and steps[0] in _INDIVISIBLE:
        return steps[:1]
    # An unknown field is removed by itself, not with the entry of the list in which it stands.
    if error["type"] == "extra_forbidden":
        return steps
    first = 2 if steps and steps[0] in _NUMBERED_LISTS else 0
    entries = [depth for depth, step in enumerate(steps) if isinstance(step, int) and depth >= first]
    return steps[: entries[-1] + 1] if entries else steps
