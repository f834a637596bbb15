"""A document means here what it means to the real kube-scheduler: same verdict, same defaults, same plugins.

``make oracle`` asks about thousands of documents; here it is a hundred for each version.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, assume, given, seed, settings
from hypothesis import strategies as st

from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.target import gates_of
from tests.oracle.config.exceptions import EXCEPTIONS, NEVER, exempt
from tests.oracle.config.templates import HEADER
from tests.oracle.config.trap_files import FILES
from tests.oracle.config.trap_values import VALUES
from tests.oracle.config.trap_words import WORDS
from tests.support.documents import documents, mutated
from tests.support.kube_scheduler import Answer, KubeScheduler

COUNT = int(os.environ.get("ORACLE_DOCUMENTS", "24"))
"""How many documents of each version are made up."""
SEED = int(os.environ.get("ORACLE_SEED", "0"))
ALL_TRAPS = 1000
TRAPS: list[str | bytes] = [*(HEADER + text for text in (*VALUES, *WORDS)), *FILES]
GATES = (
    "StorageCapacityScoring",
    "GenericWorkload",
    "GangScheduling",
    "NodeDeclaredFeatures",
    "TopologyAwareWorkloadScheduling",
    "InPlacePodVerticalScalingSchedulerPreemption",
    "DRASchedulerFilterTimeout",
    "DRADeviceBindingConditions",
    "DynamicResourceAllocation",
    "OpportunisticBatching",
    "NoSuchGate",
    "AllAlpha",
    "AllBeta",
)
"""Those that change what a document means, and some that can or cannot be set."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What we make of a document."""

    refusal: str
    document: dict[str, Any] | None = None
    profiles: tuple[config.EffectiveProfile, ...] = ()


def judged(text: str | bytes, target: Target) -> Judged:
    if problems := catalog.gate_problems(target):
        return Judged("\n".join(problems))
    document = config.load(text)
    if isinstance(document, config.Problems):
        return Judged(str(document))
    profiles = config.expand_profiles(document, target)
    if isinstance(profiles, config.Problems):
        return Judged(str(profiles))
    return Judged("", config.with_defaults(document, target), profiles)


def named_at(profile: config.EffectiveProfile, point: str) -> list[tuple[str, int]]:
    return [(plugin.name, plugin.weight) for plugin in profile.points[point]]


def agree(text: str | bytes, ours: Judged, theirs: Answer) -> None:
    """Fail unless both say the same of ``text``."""
    if (not ours.refusal) != (not theirs.refusal):
        assert exempt(ours.refusal, theirs.refusal), f"{text!r}\nours: {ours.refusal}\ntheirs: {theirs.refusal}"
    elif not ours.refusal:
        assert ours.document == theirs.document, repr(text)


@pytest.fixture(
    params=[
        pytest.param(minor, marks=pytest.mark.cluster(kubernetes=minor, binaries=("kube-scheduler",)))
        for minor in catalog.SUPPORTED_MINORS
    ]
)
def minor(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.timeout(600)
def test_traps(minor: str) -> None:
    texts = (
        TRAPS
        if COUNT >= ALL_TRAPS
        else TRAPS[catalog.SUPPORTED_MINORS.index(minor) :: 2 * len(catalog.SUPPORTED_MINORS)]
    )
    for text, theirs in zip(texts, KubeScheduler.of(minor).ask_all(texts), strict=True):
        agree(text, judged(text, Target.parse(minor)), theirs)


def test_every_exception_is_one() -> None:
    """One that no trap needs any more is a promise that nobody keeps."""
    refusals = "\n".join(judged(text, Target.parse(catalog.NEWEST_MINOR)).refusal for text in TRAPS)
    for exception in EXCEPTIONS:
        assert exception.theirs != NEVER or re.search(exception.ours, refusals), exception.what


def test_every_exception_is_in_the_documentation_and_nothing_else_is() -> None:
    page = Path("docs/compared.md").read_text()
    rows = re.findall(
        r"^\| (.+?) \|.*\| (.+?) \|$", page.partition("## Documents")[2].partition("## ")[0], re.MULTILINE
    )
    assert rows[1:] == [(exception.what, exception.why) for exception in EXCEPTIONS]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["as written", "after a slip"])
def test_documents(minor: str, kind: str) -> None:
    target, real = Target.parse(minor), KubeScheduler.of(minor)
    source = documents(target) if kind == "as written" else mutated(documents(target))

    @seed(SEED)
    @settings(max_examples=COUNT // 2, database=None, phases=[Phase.generate, Phase.shrink])
    @given(source, st.booleans())
    def agreed(document: Mapping[str, Any], as_json: bool) -> None:
        text = json.dumps(document) if as_json else config.to_yaml(document)
        agree(text, judged(text, target), real.ask(text))

    agreed()


@pytest.mark.timeout(900)
def test_feature_gates(minor: str) -> None:
    version, real = Target.parse(minor).version, KubeScheduler.of(minor)

    @seed(SEED)
    @settings(max_examples=max(COUNT // 8, 8), database=None, phases=[Phase.generate, Phase.shrink])
    @given(st.dictionaries(st.sampled_from(GATES), st.booleans(), max_size=3), st.data())
    def agreed(turned: dict[str, bool], data: st.DataObject) -> None:
        target = Target(version, turned)
        text = config.to_yaml(data.draw(documents(target)))
        agree(text, judged(text, target), real.ask(text, turned))

    agreed()


@pytest.mark.timeout(900)
def test_every_gate_alone(minor: str) -> None:
    """Turned either way: which are known, which are locked, and what needs which."""
    minors = catalog.SUPPORTED_MINORS
    gates = sorted({gate for every in minors for gate in gates_of(every)})
    turned = [{gate: on} for gate in gates for on in (True, False)]
    settings = turned if COUNT >= ALL_TRAPS else turned[minors.index(minor) :: 2 * len(minors)]
    for gate, theirs in zip(settings, KubeScheduler.of(minor).ask_gates(HEADER, settings), strict=True):
        ours = catalog.gate_problems(Target.parse(minor, gate))
        assert bool(ours) == bool(theirs.refusal), f"{gate}\nours: {ours}\ntheirs: {theirs.refusal}"


@pytest.mark.timeout(900)
def test_the_plugins_that_it_starts_with(minor: str) -> None:
    target, real = Target.parse(minor), KubeScheduler.of(minor)

    @seed(SEED)
    @settings(max_examples=max(COUNT // 10, 8), database=None, phases=[Phase.generate, Phase.shrink])
    @given(documents(target))
    def agreed(document: Mapping[str, Any]) -> None:
        text = config.to_yaml(document)
        ours, theirs = judged(text, target), real.ask(text, verbosity=2)
        assume(not ours.refusal)
        for profile, named in zip(ours.profiles, theirs.plugins, strict=True):
            named.pop("multiPoint", None)
            assert {point: named_at(profile, point) for point in named} == named

    agreed()
