"""The CRDs as text: in step with the models, and limited everywhere. What a server makes of them is tested on one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
import yaml
from pydantic import Field

from scheduler_operator.generate import crds
from scheduler_operator.models import schema_revision
from scheduler_operator.models.fields import Model
from scheduler_runtime.catalog.openapi_schema import structural_schema

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", crds.texts())
def test_the_files_are_what_the_models_say(name: str) -> None:
    assert (ROOT / "crds" / name).read_text() == crds.texts()[name], "run: make crds"


def test_a_schema_that_has_changed_has_a_new_revision() -> None:
    assert crds.digest() == schema_revision.DIGEST, "run: make crds"


def test_a_revision_is_about_what_is_admitted_and_not_about_words(monkeypatch: pytest.MonkeyPatch) -> None:
    before, profile = crds.digest(), crds.profile_crd()
    properties = profile["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    monkeypatch.setattr(crds, "profile_crd", lambda: profile)
    properties["spec"]["description"] = "Other words."
    assert crds.digest() == before
    properties["spec"]["properties"]["paused"] = {"type": "integer"}
    assert crds.digest() != before


def test_a_changed_schema_raises_the_revision_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "schema_revision.py"
    file.write_text('"""Words."""\n\nREVISION = 6\nDIGEST = "of before"\n')
    monkeypatch.setattr(schema_revision, "__file__", str(file))
    monkeypatch.setattr(schema_revision, "REVISION", 6)
    monkeypatch.setattr(schema_revision, "DIGEST", "of before")
    crds.main(str(tmp_path))
    assert file.read_text() == f'"""Words."""\n\nREVISION = 7\nDIGEST = "{crds.digest()}"\n'
    written = yaml.safe_load((tmp_path / "schedulerprofiles.berth.dev.yaml").read_text())
    assert written["metadata"]["annotations"] == {"berth.dev/schema-revision": "7"}

    monkeypatch.setattr(schema_revision, "REVISION", 7)
    monkeypatch.setattr(schema_revision, "DIGEST", crds.digest())
    crds.main(str(tmp_path))
    assert "REVISION = 7" in file.read_text()


def test_there_is_no_file_without_a_model() -> None:
    assert {file.name for file in (ROOT / "crds").iterdir()} == set(crds.texts())


def nodes(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if isinstance(schema.get(inner), dict):
            yield from nodes(schema[inner], f"{path}[]")


SCHEMAS = {
    f"{crd['spec']['names']['kind']}.{part}": schema
    for crd in (crds.profile_crd(), crds.plugin_config_crd())
    for part, schema in crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"].items()
    if part in ("spec", "status")
}
NODES = {path: node for name, schema in SCHEMAS.items() for path, node in nodes(schema, name)}


def test_every_field_is_explained() -> None:
    assert [path for path, node in NODES.items() if not path.endswith("]") and not node.get("description")] == []


def test_every_list_and_every_text_has_an_end() -> None:
    endless = [
        path
        for path, node in NODES.items()
        if (node.get("type") == "array" and "maxItems" not in node)
        or (node.get("type") == "string" and not {"maxLength", "enum", "format"} & set(node))
    ]
    assert endless == []


def test_every_list_says_how_it_is_merged() -> None:
    assert [
        p for p, node in NODES.items() if node.get("type") == "array" and "x-kubernetes-list-type" not in node
    ] == []


class Numbers(Model):
    """Numbers."""

    positive: Annotated[int, Field(gt=0)] | None = None
    below: float = Field(lt=1.5)


def test_bounds_that_exclude_their_value_follow_openapi() -> None:
    properties = structural_schema(Numbers)["properties"]
    assert properties["positive"] == {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
    assert properties["below"] == {"type": "number", "maximum": 1.5, "exclusiveMaximum": True}
    assert structural_schema(Numbers)["required"] == ["below"]


class Either(Model):
    """A number or a text."""

    value: int | str


def test_what_a_structural_schema_cannot_say_is_an_error() -> None:
    with pytest.raises(TypeError, match="one type"):
        structural_schema(Either)
