"""Every leaf of an input is in the objects, or a remark lies on its path, or it says what holds anyway."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler_operator.migrate import Imported, import_document
from scheduler_operator.migrate.api_versions import VERSIONS
from tests.scheduler_operator.migrate.loud import KINDS, document_of, leaves, thinned

SAYS_NOTHING = {"apiVersion", "kind"}
PROGRAM = "kube-scheduler"


def dropped(source: dict[str, Any]) -> list[str]:
    """The paths of the leaves that are nowhere."""
    result = import_document(source)
    if not isinstance(result, Imported):
        return []
    messages = {str(value) for _, value in leaves(list(result.objects))} | {
        f"{key}" for key in _keys(list(result.objects))
    }
    remarked = {place for remark in result.remarks for place in (remark.path, *remark.places)} - {""}
    return [
        path
        for path, value in leaves(source)
        if path.rpartition(".")[2] not in SAYS_NOTHING
        and not _visible(value, messages)
        and not any(_covers(remark, path) for remark in remarked)
    ]


def _visible(value: Any, messages: set[str]) -> bool:
    text = str(value)
    return text in messages or text == PROGRAM or (text.startswith("--") and text.partition("=")[2] in messages)


def _covers(remark: str, path: str) -> bool:
    return path == remark or path.startswith((f"{remark}.", f"{remark}["))


def _keys(value: Any) -> set[str]:
    match value:
        case dict():
            return {*value, *(key for inner in value.values() for key in _keys(inner))}
        case list():
            return {key for inner in value for key in _keys(inner)}
    return set()


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_input_is_accounted_for(kind: str) -> None:
    assert isinstance(import_document(KINDS[kind]), Imported)
    assert dropped(KINDS[kind]) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_a_whole_document_of_any_version_is_accounted_for(version: str) -> None:
    assert isinstance(import_document(document_of(version)), Imported)
    assert dropped(document_of(version)) == []


@pytest.mark.thorough
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from([*KINDS.values(), *map(document_of, VERSIONS)]).flatmap(thinned))
def test_any_part_of_an_input_is_accounted_for(findings_of: dict[str, Any]) -> None:
    assert dropped(findings_of) == []


@pytest.mark.thorough
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_nothing_that_a_document_can_hold_breaks_the_import(data: st.DataObject) -> None:
    """Refusals name a place; nothing is raised."""
    source = data.draw(st.sampled_from(sorted(KINDS)).flatmap(lambda kind: thinned(KINDS[kind])))
    anything = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
        max_leaves=4,
    )
    places = [path for path, _ in leaves(source)]
    _put(source, data.draw(st.sampled_from(places)), data.draw(st.integers(0, 9)), data.draw(anything))
    result = import_document(source)
    assert isinstance(result, Imported) or all(problem.message for problem in result)


def _put(value: Any, path: str, depth: int, new: Any) -> None:
    """Put ``new`` on the way to ``path``, at most ``depth`` steps down."""
    keys = [int(part) if part.isdigit() else part for part in path.replace("]", "").replace("[", ".").split(".")]
    keys = keys[: depth + 1]
    for key in keys[:-1]:
        value = value[key]
    value[keys[-1]] = new
