"""A file into documents: what the words mean, where they stand, and that the work stays bounded."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_runtime import config
from scheduler_runtime.config import Problems, Source
from scheduler_runtime.config.document_text import dumper

TWO = """\
# berth: allow TinyQPS
apiVersion: v1
profiles:
- schedulerName: a
  plugins:
    score:
      enabled:
      - name: NodeAffinity   # berth: allow WeightReset, PercentageTooLow
        weight: 5
---
leaderElection: &one {leaderElect: true}
other: *one
"""


def sources(text: str | bytes) -> tuple[Source, ...]:
    sources = config.read_yaml(text)
    assert not isinstance(sources, Problems), str(sources)
    return sources


def refusal(text: str | bytes) -> str:
    problems = config.read_yaml(text)
    assert isinstance(problems, Problems), problems
    return str(problems)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("", 2),
        ("apiVersion", 2),
        ("profiles", 3),
        ("profiles[0]", 4),
        ("profiles[0].plugins.score.enabled[0].weight", 9),
        ("profiles[0].plugins.score.enabled[1].weight", 7),
        ("profiles[0].plugins.filter.enabled", 5),
        ("nothing", 2),
    ],
)
def test_the_line_of_a_path_or_of_the_nearest_thing_above_it(path: str, line: int) -> None:
    assert sources(TWO)[0].line(path) == line


def test_a_file_may_hold_several_documents_with_their_own_lines_and_allowances() -> None:
    first, second = sources(TWO)
    assert first.allowed_codes == {"TinyQPS", "WeightReset", "PercentageTooLow"}
    assert second.allowed_codes == frozenset()
    assert second.value == {"leaderElection": {"leaderElect": True}, "other": {"leaderElect": True}}
    assert (second.start_line, second.line("other.leaderElect")) == (10, 11)


def test_empty_documents_between_others_are_passed_over() -> None:
    assert [source.value for source in sources("---\n# nothing\n---\na: 1\n---\n---\nb: 2\n")] == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("5.0", 5),
        ("1e1", 10),
        ("010", 8),
        ("0o17", 15),
        ("0x10", 16),
        ("1_000", 1000),
        ("08", 8),
        ("1e22", 1e22),
        ("y", True),
        ("Off", False),
        ("oN", "oN"),
        ("2001-01-01", "2001-01-01"),
        ("1:30", "1:30"),
        ("=", "="),
        ("~", None),
        ("!!str 5", "5"),
        ("!!float 5", 5.0),
        ("!!binary YQ==", "a"),
        ("'5'", "5"),
        ("99999999999999999999", 10**20),
    ],
)
def test_a_plain_word_is_what_kubernetes_takes_it_for(word: str, value: Any) -> None:
    result = sources(f"a: {word}")[0].value["a"]
    assert result == value
    assert isinstance(result, bool) is isinstance(value, bool)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; there is no document in it"),
        ("# only a comment\n", "is empty; there is no document in it"),
        ("a: 1\na: 2\nb: {c: 1, c: 2}\n", "line 2: the key a is there already\nb: line 3: the key c is there already"),
        ("a:\n- .nan\n", "a[0]: line 2: .nan is not a number that a document can hold"),
        ("a: [1,\n", "is not YAML: line 2: did not find expected node content"),
        ("a:\n\tb: 1\n", "is not YAML: line 2: there is a tab; YAML is indented by spaces"),
        ("a: *b", "is not YAML: line 1: there is no anchor b"),
        ("a: &b [*b]", "is not YAML: line 1: the anchor b contains itself"),
        ("a: 1\n---\n[", "is not YAML after its first document: line 4: did not find expected node content"),
        ("x: {<<: [1]}", "is not YAML: line 1: only mappings can be merged"),
        (b"a: \xff\n", "is not text: line 1: the byte 0xff is not UTF-8"),
        ("a: \x00", "is not YAML: line 1: the character U+0000 is not allowed"),
        ("{a: 1}", "begins with '{' and is therefore read as JSON, which it is not: line 1: "),
        ('{"a": 1, "a": 2}', "the key a is there twice"),
        ("# c\n%YAML 1.2\n---\na: 1", "is not YAML: line 2: says it is not YAML 1.1, which Kubernetes reads"),
        ('{"a": 1E400}', "begins with '{' and is therefore read as JSON, which it is not: 1E400 is larger than any"),
        ('{"a": NaN}', "begins with '{' and is therefore read as JSON, which it is not: NaN is not a number"),
    ],
)  # fmt: skip
def test_unreadable_text_is_reported_with_its_line(text: str | bytes, message: str) -> None:
    assert refusal(text).startswith(message)


def test_a_mapping_is_merged_and_may_not_repeat() -> None:
    assert sources("a: &a {b: 1}\nc: {<<: *a, d: 2}")[0].value["c"] == {"b": 1, "d": 2}
    assert "the key b is there already" in refusal("a: &a {b: 1}\nc: {<<: *a, b: 2}")


def test_json_has_lines_too() -> None:
    source = sources(json.dumps({"a": {"b": [1, {"c": 1.0}]}}, indent=1))[0]
    assert (source.value, source.line("a.b[1].c")) == ({"a": {"b": [1, {"c": 1.0}]}}, 6)


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(20)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: " + "x" * 10_000_000, "bytes long; a document has at most 1,048,576", id="10 MB"),
        pytest.param(BOMB, "has more than 50,000 values, aliases expanded", id="aliases"),
        pytest.param("[" * 1_000_000, "is nested more than 100 deep", id="deep"),
        pytest.param('{"a":' * 100_000, "begins with '{' and is therefore read as JSON", id="deep json"),
        pytest.param("- " * 500_000, "is nested more than 100 deep", id="deep blocks"),
        pytest.param("a: 1\n" * 40_000, "the key a is there already", id="repeated"),
    ],
)
def test_the_work_is_bounded(text: str, message: str) -> None:
    start = time.process_time()
    assert message in refusal(text)
    assert time.process_time() - start < 2.5


ODD = ("y", "<<", "=", "1_0", "0x1", "2001-01-01", "a: b", "a #b", "- a", " a", "a\nb", "@", "é", "~", "1e3", "!a")
WORDS = st.sampled_from(ODD)
SCALARS = WORDS | st.integers(-(2**63), 2**64 - 1) | st.booleans()


def mappings(texts: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    values = st.recursive(
        SCALARS | texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "on"]), inner, max_size=2),
        max_leaves=6,
    )
    return st.dictionaries(st.sampled_from(["spec", "y", "1e3"]), values, min_size=1)


@pytest.mark.thorough
@settings(max_examples=150)
@given(mappings(st.text(st.characters(exclude_categories=["Cs"]), max_size=20)))
def test_printed_values_are_read_back(value: dict[str, Any]) -> None:
    assert sources(config.to_yaml(value))[0].value == value


@pytest.mark.thorough
@settings(max_examples=100)
@given(mappings(st.text("aB0-_./:#'\"é \n", max_size=20)))
def test_libyaml_writes_what_python_alone_would(value: dict[str, Any]) -> None:
    alone = yaml.dump(value, Dumper=dumper(yaml.SafeDumper), sort_keys=False, allow_unicode=True, width=2**31 - 1)
    assert config.to_yaml(value) == alone
