"""The rendered text: what it says is the document, whatever its comments are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler_operator.render.origins import Fields, Origin, with_origins
from scheduler_operator.render.yaml_text import format_document, format_scalar
from scheduler_runtime import config
from tests.scheduler_operator.builders import profile, rendered

TEXT = st.text(max_size=12) | st.sampled_from(["y", "No", "1_000", "0x1F", "1e3", "~", "a: b", "# c", "- d", "15s", ""])
JSON = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


def parsed(text: str) -> Any:
    """What the reader of documents makes of a text."""
    document = config.load(text)
    assert isinstance(document, config.Document), document
    return document.profiles[0].plugin_config[0].args


def around(args: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": config.API_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "x", "pluginConfig": [{"name": "A", "args": args}]}],
    }


@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_reading_the_text_gives_the_document_back(args: dict[str, Any]) -> None:
    document = around(args)
    assert parsed(format_document(document, with_origins(document, Origin("said", "spec", "x")), "heading")) == args


@pytest.mark.parametrize("word", ["yes", "Off", "null", "1", "-5", ".5", "1.0", "0o7", "a b", "a:b", "it's", "\u2028"])
def test_text_that_reads_as_something_else_is_quoted(word: str) -> None:
    assert format_scalar(word).startswith('"')


@pytest.mark.parametrize("word", ["NodeResourcesFit", "15s", "100ms", "example.com/gpu", "a-b_c", "berth-x"])
def test_plain_words_stay_plain(word: str) -> None:
    assert format_scalar(word) == word


def test_a_comment_stands_where_all_that_is_below_has_one_origin() -> None:
    one, other = Origin("one", "", ""), Origin("other", "", "")
    tree = Fields(
        one, {"a": with_origins({"b": 1, "c": [2]}, one), "d": Fields(one, {"e": one, "f": other}), "g": other}
    )
    assert format_document({"a": {"b": 1, "c": [2]}, "d": {"e": 3, "f": 4}, "g": {}}, tree, "said\ntwice") == (
        "# said\n# twice\na:  # one\n  b: 1\n  c:\n  - 2\nd:\n  e: 3  # one\n  f: 4  # other\ng: {}  # other\n"
    )


def test_the_document_says_where_every_part_came_from() -> None:
    text = rendered(
        profile(
            percentageOfNodesToScore=40,
            nodes={"matchLabels": {"pool": "batch"}},
            overrides=[{"op": "add", "path": "/enableProfiling", "value": False}],
            scheduler={"parallelism": 4},
        )
    ).text
    for line in (
        "# SchedulerProfile bin-packing, for Kubernetes 1.36. Written by berth: change the profile, not this text.",
        "  leaderElect: true  # berth's default",
        "  resourceName: berth-bin-packing  # berth's own",
        "parallelism: 4  # spec.scheduler.parallelism",
        "- schedulerName: bin-packing  # metadata.name",
        "  percentageOfNodesToScore: 40  # spec.percentageOfNodesToScore",
        "  pluginConfig:  # spec.nodes",
        "enableProfiling: false  # spec.overrides[0]",
    ):
        assert line in text.splitlines()
