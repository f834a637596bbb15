"""Suggestions of findings: following one removes the finding, and adds no error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Declaration, Target
from tests.support.documents import documents
from tests.support.findings_page import HEADER, OWN, PAGE, Entry, entries
from tests.support.suggestions import done

ENTRIES = entries(PAGE.read_text())
TARGETS = [Target.parse(version) for version in catalog.SUPPORTED_MINORS]
GANGS = Target.parse("1.36", {"GenericWorkload": True, "GangScheduling": True})
NONE: Mapping[str, Declaration] = {}
ANY = settings(max_examples=25, deadline=None)


def read(value: Any) -> config.Document:
    document = config.parse_document(value)
    assert isinstance(document, config.Document), document
    return document


def errors(findings: Sequence[config.Finding]) -> Counter[tuple[str, str]]:
    return Counter((finding.code, finding.message) for finding in findings if finding.severity is config.Severity.ERROR)


def newly_read(before: Sequence[config.Finding], after: Sequence[config.Finding]) -> list[config.Finding]:
    """What is said of arguments that nobody read before, as their plugin was off."""
    unread = tuple(finding.path for finding in before if finding.code == "DisabledButConfigured")
    return [finding for finding in after if unread and finding.path.startswith(unread)]


def follow_all(value: dict[str, Any], target: Target, others: Mapping[str, Declaration] = OWN) -> None:
    """Do all that is suggested, one at a time, and look again."""
    before = config.lint(read(value), target, others)
    for finding in before:
        assert finding.suggestion, finding
        for mended in done(value, finding):
            gates = {**target.feature_gates, **mended.gates}
            now = Target(target.version, gates)
            assert not catalog.gate_problems(now), finding
            after = config.lint(read(mended.document), now, others, mended.engine)
            assert is_resolved(finding, before, after), (finding, mended.document)
            if not config.CODES[finding.code].refused:  # what else is wrong could not be seen before
                new = errors(after) - errors(before) - errors(newly_read(before, after))
                assert not new, (finding, mended.document)


def is_resolved(finding: config.Finding, before: Sequence[config.Finding], after: Sequence[config.Finding]) -> bool:
    """Whether there is one place less that has the code, or the code has only another reason elsewhere."""
    codes = [other.code for other in after]
    fewer = codes.count(finding.code) < [other.code for other in before].count(finding.code)
    return fewer or (finding.code, finding.path) not in {(other.code, other.path) for other in after}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.code)
def test_the_examples_of_the_page_are_mended_by_what_is_suggested(entry: Entry) -> None:
    follow_all(yaml.safe_load(HEADER + entry.example), entry.target)


def profiles(target: Target) -> SearchStrategy[dict[str, Any]]:
    """Profiles in which plugins are off for every reason there is: by name, by asterisk, here and everywhere."""
    data = catalog.defaults(target.version)
    having = {point: [name for name, points in data.extends.items() if point in points] for point in data.points}
    having["multiPoint"] = [name for name, points in data.extends.items() if points]
    entries = {point: plugin_set(names) for point, names in having.items() if names}
    keep = [{"name": "PrioritySort"}, {"name": "DefaultBinder"}]
    return st.fixed_dictionaries({}, optional=entries).map(lambda plugins: with_indispensable(plugins, keep))


def with_indispensable(plugins: dict[str, Any], keep: list[dict[str, str]]) -> dict[str, Any]:
    """The plugins with what every profile needs: a sorter and a binder."""
    for point, line in zip(("queueSort", "bind"), keep, strict=True):
        plugins[point] = {"disabled": [{"name": "*"}], "enabled": [line]}
    return plugins


def plugin_set(names: list[str]) -> SearchStrategy[dict[str, Any]]:
    some = st.lists(st.sampled_from(names), max_size=4, unique=True)
    off = st.just(["*"]) | some | some.map(lambda plugins: ["*", *plugins])
    lines = st.fixed_dictionaries({"disabled": off, "enabled": some})
    return lines.map(lambda plugins: {field: [{"name": name} for name in listed] for field, listed in plugins.items()})


@pytest.mark.thorough
@ANY
@given(st.sampled_from([*TARGETS, GANGS]).flatmap(lambda target: st.tuples(st.just(target), profiles(target))))
def test_whyever_a_plugin_does_not_run_the_suggestion_helps(given: tuple[Target, dict[str, Any]]) -> None:
    target, plugins = given
    header = {"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}
    value = {**header, "profiles": [{"schedulerName": "default-scheduler", "plugins": plugins}]}
    if isinstance(config.parse_document(value), config.Document):
        follow_all(value, target, NONE)


def test_a_plugin_that_is_enabled_as_suggested_may_have_arguments_that_are_wrong() -> None:
    header = {"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}
    off = {"multiPoint": {"disabled": [{"name": "VolumeBinding"}]}}
    never = [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 0}}]
    profile = {"schedulerName": "default-scheduler", "plugins": off, "pluginConfig": never}
    follow_all({**header, "profiles": [profile]}, Target.parse("1.36"), NONE)


@pytest.mark.thorough
@ANY
@given(st.sampled_from(TARGETS).flatmap(lambda target: st.tuples(st.just(target), documents(target))))
def test_whatever_the_document_the_suggestions_help(given: tuple[Target, dict[str, Any]]) -> None:
    target, value = given
    if isinstance(config.parse_document(value), config.Document):
        follow_all(value, target, NONE)
