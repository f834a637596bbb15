"""Profiles and PluginConfigs that would take an operator's time and memory: each is refused in a sentence, at once."""

import resource
import time
from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_operator.render import check
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.bounds import MAX_MESSAGE
from tests.scheduler_operator.builders import NAMESPACE, V1_36, declaring, document, plugin_config, problems, profile


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Less time and memory than any of these took without a bound."""
    seconds, kilobytes = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.process_time() - seconds < 10
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - kilobytes < 300_000


def checked(config: UserObject) -> list[str]:
    result = check(config, {config.name: config}, NAMESPACE, Target(V1_36))
    assert result is not None
    assert all(len(problem.message) <= MAX_MESSAGE for problem in result.problems)
    return [str(problem) for problem in result.problems]


def doubling(copies: int) -> list[dict[str, Any]]:
    args = "/profiles/0/pluginConfig/0/args"
    first = {"op": "add", "path": "/profiles/0/pluginConfig", "value": [{"name": "NodeName", "args": {"a": 1}}]}
    return [first, *({"op": "copy", "from": args, "path": f"{args}/b{number}"} for number in range(copies))]


def test_overrides_that_double_the_document_are_refused_where_it_becomes_too_large() -> None:
    refused = problems(profile(overrides=doubling(60)))
    (problem,) = refused.problems
    assert (problem.path, problem.message) == (
        "spec.overrides[15]",
        "makes a document that has more than 50,000 values; a document has no more",
    )


def test_what_an_override_copies_is_not_changed_by_the_next_one() -> None:
    spread = {"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": []}}
    path = "/profiles/0/pluginConfig"
    overrides = [
        {"op": "add", "path": path, "value": [spread]},
        {"op": "copy", "from": f"{path}/0", "path": f"{path}/1"},
        {"op": "replace", "path": f"{path}/1/name", "value": "NodeAffinity"},
        {"op": "replace", "path": f"{path}/1/args", "value": {}},
    ]
    assert document(profile(overrides=overrides))["profiles"][0]["pluginConfig"] == [
        spread,
        {"name": "NodeAffinity", "args": {}},
    ]


def test_a_document_is_refused_that_no_config_map_holds() -> None:
    deep: Any = list(range(20_000))
    for _ in range(60):
        deep = {"a": deep}
    name = "NodeName"
    refused = problems(profile(pluginConfig=[{"name": name, "args": deep}]))
    assert "NodeName takes no arguments" in str(refused)
    labels = {"matchLabels": {"a": "b"}}
    terms = [{"matchExpressions": [{"key": "k" * 60, "operator": "In", "values": ["v" * 60]}]}] * 4000
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    args = {"addedAffinity": affinity}
    refused = problems(profile(nodes=labels, pluginConfig=[{"name": "NodeAffinity", "args": args}]))
    assert "bytes, indented and with comments; a ConfigMap holds 1,048,576" in str(refused)


def test_a_spec_beyond_the_bounds_is_refused_with_its_largest_part() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "enum": [str(n) for n in range(60_000)]}}}
    config = declaring("large", "Own", {"hooks": ["filter"], "argsSchema": schema})
    place = "spec.declares.argsSchema.properties.a"
    assert checked(config) == [f"spec: has more than 50,000 values; write less of {place}, which has 60,003 of them"]
    refused = problems(profile(pluginConfig=[{"name": "Own", "ref": "large"}]), config)
    assert str(refused).startswith("PluginConfig large: spec: has more than 50,000 values")


def test_an_enum_stands_in_no_message_as_a_whole() -> None:
    schema = {
        "type": "object",
        "additionalProperties": {"type": "string", "enum": [f"value-{number}" for number in range(1000)]},
    }
    wrong = {f"a{number}": "wrong" for number in range(3000)}
    messages = checked(declaring("large", "Own", {"hooks": ["filter"], "argsSchema": schema}, args=wrong))
    assert len(messages) == 101
    assert messages[0].startswith("spec.args.a0: 'wrong' is not one of value-0, value-1, ")
    assert "value-20" not in messages[0]
    assert messages[-1] == "spec.args: more than 100 problems: the others are left out; correct these first"


def test_an_enum_of_thirty_thousand_values_is_refused() -> None:
    enum = [f"value-{number}" for number in range(30_000)]
    schema = {"type": "object", "properties": {"a": {"type": "string", "enum": enum}}}
    (message,) = checked(declaring("large", "Own", {"hooks": ["filter"], "argsSchema": schema}))
    assert message.endswith("is not a list of 1 to 1,000 values")


def test_unique_items_are_compared_in_linear_time() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "uniqueItems": True, "items": {"type": "number"}}},
    }
    numbers = [*range(40_000), 7.0]
    messages = checked(declaring("large", "Own", {"hooks": ["filter"], "argsSchema": schema}, args={"a": numbers}))
    assert messages == ["spec.args.a[40000]: 7.0 is there already"]


def test_patterns_have_a_bound_by_their_number_and_by_the_text_that_they_are_matched_with() -> None:
    properties: dict[str, Any] = {f"a{n}": {"type": "string", "pattern": rf"(\w{{20}}){{{n}}}"} for n in range(1, 40)}
    schema = {"type": "object", "properties": properties}
    messages = checked(declaring("large", "Own", {"hooks": ["filter"], "argsSchema": schema}))
    assert any("is one of more than 32 different patterns; leave some out" in message for message in messages)
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a?){500}$"}}}
    text = "a" * 100_000
    (message,) = checked(declaring("large", "Own", {"hooks": ["filter"], "argsSchema": schema}, args={"a": text}))
    assert message == "spec.args.a: is 100,000 characters long; a pattern is matched with at most 4,096"


def test_a_long_key_above_many_values_does_not_stand_in_a_path_for_each() -> None:
    values: Any = list(range(40_000))
    for _ in range(8):
        values = {"k" * 100_000: values}
    refused = problems(profile(pluginConfig=[{"name": "NodeName", "args": values}]))
    assert "NodeName takes no arguments" in str(refused)


def test_joined_profiles_share_the_bounds_of_one_document() -> None:
    from scheduler_operator.render import Rendered, render_shared

    terms = [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}] * 7000
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    args = {"addedAffinity": affinity}
    large = [profile(name, pluginConfig=[{"name": "NodeAffinity", "args": args}]) for name in ("one", "two")]
    shared = render_shared(profile(), large, {}, NAMESPACE, Target(V1_36))
    assert isinstance(shared.outcome, Rendered)
    assert list(shared.excluded) == ["two"]
    assert "with this profile the document of bin-packing has more than 50,000 values" in str(shared.excluded["two"])


def test_a_shared_config_is_refused_only_for_its_users() -> None:
    config = plugin_config("large", "NodeResourcesFit", a=list(range(60_000)))
    assert document(profile(), config)
