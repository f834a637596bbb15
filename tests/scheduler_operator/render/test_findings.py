"""Findings: to whom they are reported, at which path, and what becomes of those that are errors."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from scheduler_operator.render import ObjectProblems, Rendered, render, render_shared
from scheduler_operator.render.findings import Lint
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import Document, Finding, Severity
from tests.scheduler_operator.builders import NAMESPACE, V1_36, plugin_config, profile

TARGET = Target(V1_36)


def finds(*places: str, code: str = "Odd", severity: Severity = Severity.WARNING) -> Lint:
    """A linter that finds the same at these places of every document."""

    def lint(document: Document, *_: Any) -> Iterable[Finding]:
        return [Finding(code, severity, place, "is odd", "write it otherwise") for place in places]

    return lint


SHARED = plugin_config("shared", "NodeResourcesFit", ignoredResources=["example.com/a"])


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("profiles[0].plugins.score.enabled[0]", "spec.plugins.score.enabled[0]"),
        ("profiles[0].plugins.filter", "spec.plugins.filter"),
        ("profiles[0].pluginConfig[0].args.ignoredResources[0]", "PluginConfig shared: spec.args.ignoredResources[0]"),
        ("profiles[0].pluginConfig[1].args.addedAffinity", "spec.nodes"),
        ("profiles[0].schedulerName", "metadata.name"),
        ("profiles[0]", "spec"),
        ("clientConnection.qps", "spec.scheduler.clientConnection"),
        ("leaderElection.resourceName", "spec.scheduler.leaderElection"),
        ("enableProfiling", "spec.overrides[0].value"),
    ],
)
def test_a_finding_is_reported_where_its_author_wrote(place: str, path: str) -> None:
    scheduler_profile = profile(
        plugins={"score": {"enabled": [{"name": "NodeResourcesFit", "weight": 2}]}},
        pluginConfig=[{"name": "NodeResourcesFit", "ref": "shared"}],
        nodes={"matchLabels": {"a": "b"}},
        overrides=[{"op": "add", "path": "/enableProfiling", "value": False}],
    )
    outcome = render([scheduler_profile], {"shared": SHARED}, NAMESPACE, TARGET, finds(place))
    assert isinstance(outcome, Rendered), str(outcome)
    assert [finding.path for finding in outcome.findings] == [path]


def test_every_one_of_several_profiles_gets_its_own() -> None:
    outcome = render(
        [profile("a"), profile("b", joins="a")], {}, NAMESPACE, TARGET, finds("profiles[1].plugins", "parallelism")
    )
    assert isinstance(outcome, Rendered)
    paths = {name: [finding.path for finding in member.findings] for name, member in outcome.profiles.items()}
    assert paths == {"a": ["spec.scheduler.parallelism"], "b": ["spec.plugins"]}


def test_an_error_is_a_refusal_that_says_what_to_write() -> None:
    lint = finds("profiles[0].plugins", severity=Severity.ERROR)
    outcome = render([profile()], {}, NAMESPACE, TARGET, lint)
    assert isinstance(outcome, ObjectProblems)
    assert (outcome.reason, str(outcome)) == ("Invalid", "spec.plugins: is odd. Suggested: write it otherwise (Odd)")


def test_an_error_of_one_profile_keeps_only_that_one_out() -> None:
    lint = finds("profiles[1].plugins", severity=Severity.ERROR)

    def only_with_two(document: Document, *more: Any) -> Iterator[Finding]:
        yield from lint(document, *more) if len(document.profiles) > 1 else ()

    shared = render_shared(profile("a"), [profile("b", joins="a")], {}, NAMESPACE, TARGET, only_with_two)
    assert isinstance(shared.outcome, Rendered)
    assert list(shared.excluded) == ["b"]


@pytest.mark.parametrize("severity", Severity)
def test_what_the_author_allows_is_not_reported(severity: Severity) -> None:
    lint = finds("profiles[0].plugins", code="TinyQPS", severity=severity)
    outcome = render([profile(allow="WeightReset, TinyQPS")], {}, NAMESPACE, TARGET, lint)
    assert isinstance(outcome, Rendered)
    assert outcome.findings == ()
