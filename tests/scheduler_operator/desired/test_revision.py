"""Revisions: kept as JSON, known by a digest, and applied beside each other."""

import json
from typing import Any

import pytest

from scheduler_operator.desired.revision import KeptRevision, Revision, controller_revision
from scheduler_operator.resources.names import UidOf, is_owned_by, owner_reference
from tests.scheduler_operator.builders import NAMESPACE, profile


def role(name: str, *resources: str) -> dict[str, Any]:
    rules = [{"apiGroups": [""], "resources": [resource], "verbs": ["get"]} for resource in resources]
    return {"kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


def thing(kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name}, **more}


def revision(*objects: dict[str, Any], document: str = "4f") -> Revision:
    return Revision(objects, document, {"calm": {"plugins": "default"}})


def test_a_revision_that_was_kept_is_the_same() -> None:
    made = revision(thing("Deployment", "a", spec={"account": UidOf("ServiceAccount", "a"), "list": [1, {"b": None}]}))
    read = Revision.from_data(json.loads(json.dumps(made.to_data())))
    assert (read.objects, read.document, read.reports) == (made.objects, made.document, made.reports)
    assert read.digest == made.digest


def test_the_digest_is_of_the_objects() -> None:
    one, same, other = revision(role("a", "pods")), revision(role("a", "pods")), revision(role("a", "nodes"))
    assert one.digest == same.digest != other.digest


def test_together_roles_grant_what_either_needs_and_nothing_is_missing() -> None:
    running = revision(role("a", "pods", "nodes"), thing("ConfigMap", "a.1"), thing("Deployment", "a", image="old"))
    wanted = revision(role("a", "nodes", "leases"), thing("ConfigMap", "a.2"), thing("Deployment", "a", image="new"))
    both = running.together(wanted)
    by_name = {(item["kind"], item["metadata"]["name"]): item for item in both.objects}
    assert [rule["resources"] for rule in by_name["ClusterRole", "a"]["rules"]] == [["nodes"], ["leases"], ["pods"]]
    assert by_name.keys() == {("ClusterRole", "a"), ("ConfigMap", "a.1"), ("ConfigMap", "a.2"), ("Deployment", "a")}
    assert by_name["Deployment", "a"]["image"] == "new"
    assert (both.document, both.reports) == (wanted.document, wanted.reports)


def test_the_newest_of_those_that_the_profile_owns_counts() -> None:
    def kept(owner: str, number: int, text: str) -> dict[str, Any]:
        one = revision(thing("ConfigMap", text))
        return controller_revision(profile(owner), one, KeptRevision(number, one.digest), NAMESPACE)

    foreign = kept("other", 9, "forged")
    newest = KeptRevision.newest(profile(), [kept("bin-packing", 1, "one"), kept("bin-packing", 2, "two"), foreign])
    assert newest == KeptRevision(2, revision(thing("ConfigMap", "two")).digest)
    assert KeptRevision.newest(profile(), [foreign]) is None


def test_what_was_made_and_what_failed_is_remembered_with_it() -> None:
    kept = KeptRevision(3, revision().digest, "4f", "no image", {("ConfigMap", "a"): "u", ("Role", "a"): "v"})
    assert KeptRevision.newest(profile(), [controller_revision(profile(), revision(), kept, NAMESPACE)]) == kept


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "PluginConfig"),
        ("apiVersion", "example.com/v1"),
        ("name", "other"),
        ("uid", "x"),
        ("controller", False),
    ],
)
def test_a_profile_owns_what_names_it_as_its_controller_in_every_respect(field: str, value: Any) -> None:
    def owned(**changed: Any) -> bool:
        reference = {**owner_reference(profile()), **changed}
        return is_owned_by(profile(), {"metadata": {"ownerReferences": [reference]}})

    assert owned()
    assert not owned(**{field: value})
