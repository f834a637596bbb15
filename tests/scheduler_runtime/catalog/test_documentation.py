"""Every plugin and every argument has its sentence, and no sentence is about something that is gone."""

from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_runtime import catalog
from scheduler_runtime.catalog.documentation import ARGUMENTS, SUMMARIES
from scheduler_runtime.catalog.target import SUPPORTED_MINORS


def paths(schema: dict[str, Any], node: dict[str, Any], prefix: str = "") -> Iterator[str]:
    if "anyOf" in node:
        node = next(option for option in node["anyOf"] if option != {"type": "null"})
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    if node.get("type") == "array":
        yield from paths(schema, node["items"], f"{prefix}[]")
    for name, below in node.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        yield path
        yield from paths(schema, below, path)


def test_every_plugin_of_every_version_has_a_sentence() -> None:
    plugins = {name for minor in SUPPORTED_MINORS for name in catalog.defaults(catalog.Version.parse(minor)).extends}
    assert set(SUMMARIES) == plugins | set(catalog.in_tree())


@pytest.mark.parametrize("plugin", list(catalog.IN_TREE_ARGS))
def test_every_argument_has_a_sentence(plugin: str) -> None:
    schema = catalog.IN_TREE_ARGS[plugin].model_json_schema(by_alias=True)
    assert set(ARGUMENTS[plugin]) == set(paths(schema, schema))


def test_sentences_end() -> None:
    texts = [*SUMMARIES.values(), *(text for arguments in ARGUMENTS.values() for text in arguments.values())]
    assert [text for text in texts if not text.endswith(".") or not text[0].isupper()] == []
