"""``check(PriceCap)``: does a plugin keep what the contract promises in its name?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler_runtime.api import Node, Plugin, PluginArgs, Pod, declaration_of
from scheduler_runtime.catalog import Target
from scheduler_runtime.framework import PluginError, RegistrationError
from scheduler_runtime.testing.checks import CHECKS, Case
from scheduler_runtime.testing.checks.declaring import flaws, hooks, model, round_trip
from scheduler_runtime.testing.formatting import place_of, shortened, told
from scheduler_runtime.testing.objects import Objects
from scheduler_runtime.testing.plugin_under_test import PluginUnderTest
from scheduler_runtime.testing.random_objects import RandomObjects
from scheduler_runtime.testing.recorded_answers import RecordedAnswers

CLUSTERS = 60
AFTER_A_BREACH = 10
"""So many clusters more are asked about when something is wrong, to tell what else is."""
_CASE = 400
"""So much of a case is shown; a breach has all of it."""
_TO_MEND_FIRST = ("error", *(each.__name__ for each in CHECKS))


@dataclass(frozen=True, slots=True)
class Breach:
    """A promise that a plugin does not keep."""

    check: str
    """Which promise: the name of the check, for tests."""
    sentence: str
    """What was seen, and what to do."""
    case: str = ""
    """The pod and the cluster with which it was seen."""
    where: str = ""
    """The place in the author's code, as ``file:line``: of the hook, or of the class."""

    def __str__(self) -> str:
        return "\n    ".join(filter(None, (self.told, shortened(self.case, _CASE))))

    @property
    def told(self) -> str:
        """The sentence, and the place."""
        return f"{self.sentence} ({self.where})" if self.where else self.sentence


class ContractError(AssertionError):
    """A plugin breaks the contract. ``breaches`` are all that were found, the first of each kind.

    They stand in the order in which to mend them: what makes others untrue comes first.
    """

    def __init__(self, plugin: str, breaches: Sequence[Breach]) -> None:
        super().__init__("\n".join(f"{plugin}: {told}" for told in _each(breaches)))
        self.breaches = tuple(breaches)


def _each(breaches: Sequence[Breach]) -> Iterator[str]:
    """The breaches, with a case told once where the next has the same."""
    for before, breach in zip((None, *breaches), breaches, strict=False):
        again = breach.case and before is not None and before.case == breach.case
        yield f"{breach.told}\n    the same cluster and pod" if again else str(breach)


def check(
    plugin: type[Plugin],
    args: Mapping[str, Any] | PluginArgs | None = None,
    *,
    nodes: Sequence[Node] = (),
    pods: Sequence[Pod] = (),
    objects: Sequence[Any] = (),
    version: str = "v1.36.4",
    seed: int = 1,
) -> None:
    """Ask ``plugin`` about generated clusters, and raise ContractError with every promise that it breaks.

    ``args`` are its arguments, as in a document. Half of the nodes and pods are like the examples in ``nodes`` and
    ``pods``, if there are any: give some that the plugin cares about. ``objects`` are what it watches, as in YAML.
    The same ``seed`` gives the same clusters. Hooks that wait for the network (pre_bind, bind, post_bind) are not run.
    """
    found = breaches(plugin, args, nodes=nodes, pods=pods, objects=objects, version=version, seed=seed)
    if found:
        raise ContractError(declaration_of(plugin).name, found)


def breaches(
    plugin: type[Plugin],
    args: Mapping[str, Any] | PluginArgs | None = None,
    *,
    nodes: Sequence[Node] = (),
    pods: Sequence[Pod] = (),
    objects: Sequence[Any] = (),
    version: str = "v1.36.4",
    seed: int = 1,
) -> list[Breach]:
    """As :func:`check`, but return the promises that are broken, the first breach of each."""
    declared = [_breach(plugin, "flaws", sentence) for sentence in flaws(plugin)] or [
        _breach(plugin, each.__name__, sentence) for each in (hooks, model) for sentence in each(plugin)
    ]
    if declared:
        return declared  # An object cannot be made of it.
    watched = Objects(*objects)
    try:
        subject = PluginUnderTest.of(plugin, args, watched, version, seed)
    except ValueError as error:
        return [Breach("args", f"these args are refused: {error}")]
    try:
        subject.fresh()
    except RegistrationError as error:
        return [_unmade(subject, error)]
    return [*_of_args(subject, version), *_of_answers(subject, RandomObjects(seed, nodes, pods))]


def _breach(kind: type[Plugin], check: str, sentence: str, case: str = "") -> Breach:
    return Breach(check, sentence, case, place_of(kind, sentence))


def _unmade(subject: PluginUnderTest, error: RegistrationError) -> Breach:
    """That no object can be made of the class."""
    if error.__cause__ is None:
        return _breach(subject.kind, "error", str(error).removeprefix(f"plugin {subject.name}: "))
    return Breach("error", f"it cannot be made: {told(error.__cause__, subject.kind)}")


def _of_args(subject: PluginUnderTest, version: str) -> Iterator[Breach]:
    if isinstance(subject.args, PluginArgs):
        for sentence in round_trip(subject.args, Target.parse(version)):
            yield _breach(subject.kind, "round_trip", sentence)


def _of_answers(subject: PluginUnderTest, chance: RandomObjects) -> list[Breach]:
    found: dict[str, Breach] = {}
    seen = Seen()
    number, last = 0, CLUSTERS
    while number < last:
        case = Case(number, chance.scene(), chance.pod(), chance, subject.fresh())
        for breach in _of_case(subject, case, seen, found):
            found.setdefault(breach.check, breach)
            last = min(last, number + AFTER_A_BREACH)
        number += 1
    if not found:
        return list(seen.breaches(subject))
    return sorted(found.values(), key=lambda breach: _TO_MEND_FIRST.index(breach.check))


def _of_case(subject: PluginUnderTest, case: Case, seen: Seen, found: Mapping[str, Breach]) -> Iterator[Breach]:
    """What is wrong in one case, of the kinds that were not ``found`` yet."""
    try:
        seen.note(case.asked.about_pod(case.pod, case.cluster))
        for each in CHECKS:
            sentence = None if each.__name__ in found else next(each(subject, case), None)
            if sentence:
                yield _breach(subject.kind, each.__name__, sentence, str(case))
        if "purity" not in found and (changed := case.changed()):
            yield _breach(subject.kind, "purity", f"one of its hooks changed {changed}; hooks only read", str(case))
    except PluginError as error:
        yield _failed(subject, error, str(case))


def _failed(subject: PluginUnderTest, error: PluginError, case: str) -> Breach:
    """That a hook raised, or answered what the contract does not know."""
    if error.__cause__ is None:
        return _breach(subject.kind, "error", str(error).removeprefix(f"plugin {error.plugin} "), case)
    return Breach("error", f"failed in {error.hook}: {told(error.__cause__, subject.kind)}", case)


@dataclass(slots=True)
class Seen:
    """Whether the clusters brought out anything: a filter that never rejects makes every check of it empty."""

    rejected: int = 0
    accepted: int = 0
    differently: int = 0

    def note(self, said: RecordedAnswers) -> None:
        """Count what the plugin said of one pod."""
        verdicts = [bool(said.whole or reasons) for reasons in said.reasons.values()] or [bool(said.whole)]
        self.rejected += any(verdicts)
        self.accepted += not all(verdicts)
        self.differently += len(set(said.raw.values())) > 1

    def breaches(self, subject: PluginUnderTest) -> Iterator[Breach]:
        """What was never seen."""
        todo = "give check() examples for which it does, as nodes=[…], pods=[…] or args"
        if subject.has("filter") and not self.rejected:
            yield Breach("seen", f"in {CLUSTERS} clusters it rejected no node, so hardly anything was checked; {todo}")
        if subject.has("filter") and not self.accepted:
            yield Breach("seen", f"in {CLUSTERS} clusters it accepted no node, so hardly anything was checked; {todo}")
        if subject.has("score") and not self.differently:
            yield Breach("seen", f"in {CLUSTERS} clusters it scored no two nodes differently; {todo}")
