"""The check of the plugin contract: ``check(PriceCap)`` runs a plugin on random clusters, and names broken promises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler_runtime.api import Node, Plugin, PluginArgs, Pod, declaration_of
from scheduler_runtime.catalog import Target
from scheduler_runtime.framework import PluginError, RegistrationError
from scheduler_runtime.testing.checks import CHECKS, Case, PluginUnderTest
from scheduler_runtime.testing.checks.declaration import flaws, hooks, model, round_trip
from scheduler_runtime.testing.driver import RecordedAnswers
from scheduler_runtime.testing.formatting import format_exception, shortened, source_location
from scheduler_runtime.testing.objects import Objects
from scheduler_runtime.testing.random_objects import RandomObjects

CLUSTERS = 60
"""The number of clusters that a plugin without breaches is tried on."""
CLUSTERS_AFTER_A_BREACH = 10
"""The number of clusters that are still tried after the first breach: the author sees other breaches at once."""
_MOST_OF_A_CASE = 400
"""The length at which an error cuts a case; the breach has all of it."""
_FIRST_TO_FIX = ("error", *(check.__name__ for check in CHECKS))


@dataclass(frozen=True, slots=True)
class Breach:
    """A promise that a plugin does not keep."""

    check: str
    """The name of the check, for tests."""
    sentence: str
    """What happened, and what to do."""
    case: str = ""
    """The pod and the cluster with which it happened."""
    where: str = ""
    """The place in the author's code, as ``file:line``: of the hook, or of the class."""

    def __str__(self) -> str:
        return "\n    ".join(filter(None, (self.summary, shortened(self.case, _MOST_OF_A_CASE))))

    @property
    def summary(self) -> str:
        """The sentence, and the place."""
        return f"{self.sentence} ({self.where})" if self.where else self.sentence


class ContractError(AssertionError):
    """A plugin breaks the contract; ``breaches`` has the first breach of each promise.

    They are in the order in which to fix them: what makes others untrue comes first. An AssertionError, so that test
    frameworks show it as a failed test.
    """

    def __init__(self, plugin: str, breaches: Sequence[Breach]) -> None:
        """``plugin`` is the name of the plugin. The text shows a case once where several breaches in a row have it."""
        lines = [
            f"{breach.summary}\n    the same cluster and pod"
            if breach.case and previous is not None and previous.case == breach.case
            else str(breach)
            for previous, breach in zip((None, *breaches), breaches, strict=False)
        ]
        super().__init__("\n".join(f"{plugin}: {line}" for line in lines))
        self.breaches = tuple(breaches)


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
    """Run ``plugin`` on random clusters, and raise ContractError with every promise that it breaks.

    ``args`` are its arguments, as in a document. Half of the nodes and pods are like the examples in ``nodes`` and
    ``pods``, if there are any: give some that make a difference to the plugin. ``objects`` are what it watches, as in
    YAML. The same ``seed`` gives the same clusters. Hooks that wait for the network (pre_bind, bind, post_bind) are not
    run. Raises ValueError when one of ``objects`` lacks its kind or its metadata.
    """
    broken = breaches(plugin, args, nodes=nodes, pods=pods, objects=objects, version=version, seed=seed)
    if broken:
        raise ContractError(declaration_of(plugin).name, broken)


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
    """As :func:`check`, but return the breaches, the first of each promise, without cutting what is long."""
    # In stages: a class with flaws cannot be instantiated, and without an object no hook can run.
    declared = [_breach(plugin, "flaws", sentence) for sentence in flaws(plugin)] or [
        _breach(plugin, check.__name__, sentence) for check in (hooks, model) for sentence in check(plugin)
    ]
    if declared:
        return declared
    watched = Objects(*objects)
    try:
        subject = PluginUnderTest.configure(plugin, args, watched, version, seed)
    except ValueError as error:
        return [Breach("args", f"these args are refused: {error}")]
    try:
        subject.new_driver()
    except RegistrationError as error:
        if error.__cause__ is None:
            return [_breach(plugin, "error", str(error).removeprefix(f"plugin {subject.name}: "))]
        return [Breach("error", f"it cannot be created: {format_exception(error.__cause__, plugin)}")]
    of_args = round_trip(subject.args, Target.parse(version)) if isinstance(subject.args, PluginArgs) else ()
    return [
        *(_breach(plugin, "round_trip", sentence) for sentence in of_args),
        *_breaches_in_clusters(subject, RandomObjects(seed, nodes, pods)),
    ]


def _breach(kind: type[Plugin], check: str, sentence: str, case: str = "") -> Breach:
    return Breach(check, sentence, case, source_location(kind, sentence))


def _breaches_in_clusters(plugin: PluginUnderTest, random_objects: RandomObjects) -> list[Breach]:
    """Return the first breach of each promise in the order in which to fix them.

    Where there is none, the breaches are those of :class:`Coverage`.
    """
    broken: dict[str, Breach] = {}
    coverage = Coverage()
    number, last = 0, CLUSTERS
    while number < last:
        case = Case(number, random_objects.scene(), random_objects.pod(), random_objects, plugin.new_driver())
        for breach in _breaches_in_case(plugin, case, coverage, broken):
            broken.setdefault(breach.check, breach)
            last = min(last, number + CLUSTERS_AFTER_A_BREACH)
        number += 1
    if not broken:
        return list(coverage.breaches(plugin))
    return sorted(broken.values(), key=lambda breach: _FIRST_TO_FIX.index(breach.check))


def _breaches_in_case(
    plugin: PluginUnderTest, case: Case, coverage: Coverage, broken: Mapping[str, Breach]
) -> Iterator[Breach]:
    """Yield the breaches of promises that are not ``broken`` yet; a hook that fails ends the case."""
    try:
        coverage.count(case.driver.record(case.pod, case.cluster))
        for check in CHECKS:
            sentence = None if check.__name__ in broken else next(check(plugin, case), None)
            if sentence:
                yield _breach(plugin.kind, check.__name__, sentence, str(case))
        # Again after all hooks have run: the check of this name runs those up to the scores only.
        if "purity" not in broken and (changed := case.first_change()):
            yield _breach(plugin.kind, "purity", f"one of its hooks changed {changed}; hooks only read", str(case))
    except PluginError as error:
        if error.__cause__ is None:
            sentence = str(error).removeprefix(f"plugin {error.plugin} ")
            yield _breach(plugin.kind, "error", sentence, str(case))
        else:
            sentence = f"failed in {error.hook}: {format_exception(error.__cause__, plugin.kind)}"
            yield Breach("error", sentence, str(case))


@dataclass(slots=True)
class Coverage:
    """Counts of the answers that the clusters brought out.

    A filter that rejects no node passes every check of filters: the plugin was not checked, and its author must know.
    """

    rejections: int = 0
    acceptances: int = 0
    unequal_scores: int = 0

    def count(self, answers: RecordedAnswers) -> None:
        """Count the answers about one pod."""
        rejected = [answers.rejects(name) for name in answers.reasons] or [bool(answers.pod_rejection)]
        self.rejections += any(rejected)
        self.acceptances += not all(rejected)
        self.unequal_scores += len(set(answers.raw.values())) > 1

    def breaches(self, plugin: PluginUnderTest) -> Iterator[Breach]:
        """Yield a breach for each kind of answer that the plugin should have given and never gave."""
        remedy = "give check() examples for which it does, as nodes=[…], pods=[…] or args"
        if plugin.has("filter") and not self.rejections:
            sentence = f"in {CLUSTERS} clusters it rejected no node, so hardly anything was checked; {remedy}"
            yield Breach("coverage", sentence)
        if plugin.has("filter") and not self.acceptances:
            sentence = f"in {CLUSTERS} clusters it accepted no node, so hardly anything was checked; {remedy}"
            yield Breach("coverage", sentence)
        if plugin.has("score") and not self.unequal_scores:
            yield Breach("coverage", f"in {CLUSTERS} clusters it scored no two nodes differently; {remedy}")
