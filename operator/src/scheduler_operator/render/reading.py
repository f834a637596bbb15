"""What somebody wrote, as a model, as far as it can be read: one mistake must not hide the next.

What a model refuses is left out, and the rest is read again. Places in the rest are other places in what was written,
because an entry of a list may be missing before them; and what is said of the rest may be wrong, because of what is
missing beside it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from scheduler_runtime.config import Problem, explain
from scheduler_runtime.config.paths import Step, path_of, steps_of

AnyModel = TypeVar("AnyModel", bound=BaseModel)
Place = tuple[Step, ...]

_INDIVISIBLE = frozenset({"overrides"})
"""Lists whose entries build on one another."""

_OWN_ENTRIES = frozenset({"profiles"})
"""Lists whose entries stay, however wrong they are, because others are counted by them."""

_DEPENDS = {"extenders": "engine", "nodes": "plugins", "args": "declares"}
"""Fields of which nothing can be said while another one cannot be read."""


@dataclass(frozen=True, slots=True)
class Reading(Generic[AnyModel]):
    """What could be read of ``written``."""

    written: Any
    value: AnyModel | None
    """None when nothing could."""
    problems: tuple[Problem, ...] = ()
    lost: frozenset[Place] = frozenset()
    """What was left out, at its place in ``written``."""
    prefix: str = ""
    """What stands before every path."""

    def as_written(self, problems: Iterable[Problem]) -> Iterator[Problem]:
        """Those of the ``problems`` of ``value`` that are of what was written as well, at their places there."""
        for problem in problems:
            place = self._place(problem.path)
            if place is None or not self.lost:
                yield problem
            elif not self._is_doubtful(place):
                yield Problem(path_of(place), problem.message).below(self.prefix)

    def _place(self, path: str) -> Place | None:
        """Where ``path`` leads to in what was written; None when it leads elsewhere."""
        if re.match(re.escape(self.prefix) + r"([.\[]|$)" if self.prefix else r"[\w\[]", path) is None:
            return None
        return _in_full(steps_of(path.removeprefix(self.prefix)), self.written, self.lost)

    def _is_doubtful(self, place: Place) -> bool:
        """Whether something is missing at ``place``, or beside it, that what is said of it may depend on."""
        if not place:
            return False
        whole = place if isinstance(place[-1], int) else place[:-1]
        needed = _DEPENDS.get(str(place[0]))
        return any(each[0] == needed or (bool(whole) and each[: len(whole)] == whole) for each in self.lost)


def read_leniently(
    model: type[AnyModel], written: Any, prefix: str = "", validate: Callable[[Any], AnyModel] | None = None
) -> Reading[AnyModel]:
    """As much of ``written`` as is a ``model``, and what is wrong with the rest."""
    validate = validate or model.model_validate
    reading: Reading[AnyModel] = Reading(written, None, prefix=prefix)
    while True:
        try:
            value = validate(_without(reading.lost, written))
        except ValidationError as error:
            found = [problem.below(prefix) for problem in explain(error, model)]
            told = (*reading.problems, *reading.as_written(found))
            blamed = {_blamed(each, written, reading.lost) for each in error.errors(include_url=False)}
            lost = reading.lost | blamed
            if () in blamed or lost == reading.lost:
                return Reading(written, None, told, lost - {()}, prefix)
            reading = Reading(written, None, told, lost, prefix)
        else:
            return Reading(written, value, reading.problems, reading.lost, prefix)


def _without(lost: frozenset[Place], value: Any, at: Place = ()) -> Any:
    match value:
        case Mapping():
            return {key: _without(lost, inner, (*at, key)) for key, inner in value.items() if (*at, key) not in lost}
        case list() | tuple():
            inside = ((index, inner) for index, inner in enumerate(value) if (*at, index) not in lost)
            return [_without(lost, inner, (*at, index)) for index, inner in inside]
    return value


def _in_full(steps: Iterable[Step], value: Any, lost: frozenset[Place]) -> Place:
    """The place in ``value`` to which ``steps`` lead when what is ``lost`` is not there."""
    at: Place = ()
    for step in steps:
        if isinstance(step, int) and isinstance(value, list | tuple):
            left = [index for index in range(len(value)) if (*at, index) not in lost]
            step = left[step] if step < len(left) else step
        at, value = (*at, step), _inside(value, step)
    return at


_NOTHING = object()


def _inside(value: Any, step: Step) -> Any:
    if isinstance(value, Mapping):
        return value.get(step, _NOTHING)
    is_there = isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)
    return value[step] if is_there else _NOTHING


def _blamed(error: Mapping[str, Any], written: Any, lost: frozenset[Place]) -> Place:
    """What to leave out because of an ``error``: a field, or the entry of a list that the mistake is in."""
    place = _existing(_in_full(error["loc"], written, lost), written)
    if place[:1] and place[0] in _INDIVISIBLE:
        return place[:1]
    if error["type"] == "extra_forbidden":
        return place
    first = 2 if place and place[0] in _OWN_ENTRIES else 0
    entries = [depth for depth, step in enumerate(place) if isinstance(step, int) and depth >= first]
    return place[: entries[-1] + 1] if entries else place


def _existing(place: Place, value: Any) -> Place:
    """As much of ``place`` as is there: a field that is missing is the mistake of what it is missing in."""
    for depth, step in enumerate(place):
        value = _inside(value, step)
        if value is _NOTHING:
            return place[:depth]
    return place
