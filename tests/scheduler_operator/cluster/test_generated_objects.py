"""Copies of generated objects: the newest version counts, whoever told of it."""

from typing import Any

import pytest

from scheduler_operator.cluster.generated_objects import GeneratedObjects
from scheduler_operator.resources import kinds
from scheduler_runtime.config import LoadReport

HASH = "4f" * 32


def raw(name: str = "berth-calm", version: int = 1, uid: str = "first", profile: str = "calm", **more: Any) -> Any:
    labels = {"berth.dev/profile": profile}
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version), "labels": labels}, **more}


def versions(generated: GeneratedObjects, *wanted: kinds.ResourceKind) -> list[str]:
    return [item["metadata"]["resourceVersion"] for item in generated.of("calm", *(wanted or kinds.WATCHED))]


def test_an_older_version_changes_nothing() -> None:
    generated = GeneratedObjects()
    generated.put_written(kinds.ROLE, raw(version=5))
    assert not generated.put(kinds.ROLE, raw(version=4))
    assert versions(generated) == ["5"]
    assert generated.put(kinds.ROLE, raw(version=3, uid="second"))  # another object of that name
    assert versions(generated) == ["3"]


def test_the_answer_to_a_write_does_not_bring_back_what_was_deleted_meanwhile() -> None:
    generated = GeneratedObjects()
    generated.put(kinds.ROLE, raw())
    generated.remove(kinds.ROLE, "berth-calm", "first")
    generated.put_written(kinds.ROLE, raw(version=9))
    assert versions(generated) == []


def test_the_deletion_of_an_object_leaves_its_successor() -> None:
    generated = GeneratedObjects()
    generated.put(kinds.ROLE, raw(version=2, uid="second"))
    generated.remove(kinds.ROLE, "berth-calm", "first")
    assert versions(generated) == ["2"]


def test_after_a_list_nothing_is_left_that_was_not_in_it() -> None:
    generated = GeneratedObjects()
    generated.put(kinds.ROLE, raw("berth-calm.old"))
    generated.put_page(kinds.ROLE, [raw("berth-calm.a")], is_first=True, is_last=False)
    assert not generated.is_complete
    generated.put_page(kinds.ROLE, [raw("berth-calm.b")], is_first=False, is_last=True)
    assert [item["metadata"]["name"] for item in generated.of("calm", kinds.ROLE)] == ["berth-calm.a", "berth-calm.b"]


def test_it_is_complete_when_every_kind_was_listed() -> None:
    generated = GeneratedObjects()
    for kind in kinds.WATCHED:
        generated.put_page(kind, [], is_first=True, is_last=True)
    assert not generated.is_complete
    generated.mark_listed(kinds.READER_BINDING)
    assert generated.is_complete


def test_an_object_that_changes_its_profile_is_that_profiles() -> None:
    generated = GeneratedObjects()
    generated.put(kinds.ROLE, raw(version=1))
    generated.put(kinds.ROLE, raw(version=2, profile="other"))
    assert (generated.of("calm", kinds.ROLE), len(generated.of("other", kinds.ROLE))) == ([], 1)


def test_a_lease_matters_when_another_holds_it_and_not_when_it_is_renewed() -> None:
    generated = GeneratedObjects()

    def matters(version: int, holder: str | None, renewed: str = "") -> bool:
        return generated.put(kinds.LEASE, raw(version=version, spec={"holderIdentity": holder, "renewTime": renewed}))

    story = [(1, None, ""), (2, "a", "1"), (3, "a", "2"), (4, "b", "3"), (5, "b", "4")]
    assert [matters(*step) for step in story] == [True, True, False, True, False]
    assert versions(generated) == ["5"]


@pytest.mark.parametrize("kind", [kinds.POD, kinds.REVISION])
def test_what_nobody_reads_of_an_object_is_not_kept(kind: kinds.ResourceKind) -> None:
    generated = GeneratedObjects()
    item = raw(data={"objects": []}, status={"conditions": [LoadReport(HASH, "2026-01-01T00:00:00Z").condition()]})
    item["metadata"]["managedFields"] = [{"manager": "x"}]
    generated.put(kind, item)
    (stored,) = generated.of("calm", kind)
    assert stored.keys() == {"apiVersion", "kind", "metadata", "status"}
    assert "managedFields" not in stored["metadata"]
