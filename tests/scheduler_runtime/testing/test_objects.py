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
    ("watch", "found"),
    [
        pytest.param(Watch("v1", "Secret"), [PRICES], id="all-of-a-kind"),
        pytest.param(Watch("v1", "Secret", namespace="shop", name="prices"), [PRICES], id="by-name"),
        pytest.param(Watch("v1", "Secret", namespace="elsewhere"), [], id="other-namespace"),
        pytest.param(Watch("v1", "Secret", name="other"), [], id="other-name"),
        pytest.param(Watch("v2", "Secret"), [], id="other-version"),
    ],
)
def test_objects_are_found_by_what_a_watch_names(watch: Watch, found: list[Any]) -> None:
    objects = testing.Objects(PRICES, TEAM)
    assert list(objects.list(watch)) == found
    assert objects.get(watch) == (found[0] if found else None)


def test_an_object_is_found_by_its_name_and_its_revision_tells_of_changes() -> None:
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


def test_kinds_that_have_a_struct_come_as_one_however_they_are_written() -> None:
    struct = wire.Namespace(metadata=wire.ObjectMeta(name="team", labels={"tier": "gold"}))
    watch = Watch("v1", "Namespace")
    assert testing.Objects(TEAM).get(watch) == testing.Objects(struct).get(watch) == struct


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"kind": "Secret", "metadata": {}}, "an object lacks apiVersion"),
        (wire.Toleration(), r"Toleration is not among wire\.KINDS"),
    ],
)
def test_what_does_not_say_what_it_is_is_refused(written: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        testing.Objects(written)
