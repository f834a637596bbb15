"""Objects in memory are what a process would show to plugins."""

from __future__ import annotations

from typing import Any

import pytest

from scheduler_runtime import testing
from scheduler_runtime.api import Watch
from scheduler_runtime.state import objects as wire

PRICES = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "prices", "namespace": "shop"},
    "data": {"a": "1"},
}
TEAM = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"tier": "gold"}}}


@pytest.mark.parametrize(
    ("watch", "expected"),
    [
        pytest.param(Watch("v1", "Secret"), [PRICES], id="all-of-a-kind"),
        pytest.param(Watch("v1", "Secret", namespace="shop", name="prices"), [PRICES], id="by-name"),
        pytest.param(Watch("v1", "Secret", namespace="elsewhere"), [], id="other-namespace"),
        pytest.param(Watch("v1", "Secret", name="other"), [], id="other-name"),
        pytest.param(Watch("v2", "Secret"), [], id="other-version"),
    ],
)
def test_a_watch_selects_objects(watch: Watch, expected: list[Any]) -> None:
    objects = testing.Objects(PRICES, TEAM)
    assert list(objects.list(watch)) == expected
    assert objects.get(watch) == (expected[0] if expected else None)


def test_find_looks_by_name_and_the_revision_grows_with_changes() -> None:
    objects, watch = testing.Objects(PRICES), Watch("v1", "Secret")
    before = objects.revision(watch)
    dearer = {**PRICES, "data": {"a": "2"}}
    objects.put(dearer)
    assert objects.find(watch, "prices", "shop") == dearer
    assert objects.find(watch, "prices") is None
    assert len(list(objects.list(watch))) == 1
    objects.remove(dearer)
    assert objects.get(watch) is None
    assert objects.revision(watch) == before + 2
    with pytest.raises(ValueError, match="there is no Secret shop/prices to remove"):
        objects.remove(dearer)


def test_a_kind_with_a_struct_is_always_a_struct() -> None:
    struct = wire.Namespace(metadata=wire.ObjectMeta(name="team", labels={"tier": "gold"}))
    watch = Watch("v1", "Namespace")
    assert testing.Objects(TEAM).get(watch) == testing.Objects(struct).get(watch) == struct


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"kind": "Secret", "metadata": {}}, "an object lacks apiVersion"),
        (wire.Toleration(), r"Toleration is neither a pod, a node nor one of state\.objects\.KINDS"),
    ],
)
def test_an_object_without_a_kind_is_refused(manifest: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        testing.Objects(manifest)
