"""The comparison of rights with requests notices what it is for."""

import pytest

from tests.support.rights import Right, differences, refused, used

LEASES = Right("update", "coordination.k8s.io", "leases", "berth-system")
EVENTS = Right("create", "events.k8s.io", "events")


def is_users(name: str) -> bool:
    return name.startswith("tenant")


@pytest.mark.parametrize(
    ("grant", "uses", "words"),
    [
        pytest.param(EVENTS, [], "create events.events.k8s.io: unused", id="unused"),
        pytest.param(
            EVENTS,
            [Right("create", "events.k8s.io", "events", "default")],
            "create events.events.k8s.io: used in default only",
            id="too-many-namespaces",
        ),
        pytest.param(
            LEASES,
            [Right("update", "coordination.k8s.io", "leases", "berth-system", "one")],
            "update leases.coordination.k8s.io in berth-system: used for one only",
            id="too-many-names",
        ),
        pytest.param(EVENTS, [Right("create", "events.k8s.io", "events", "tenant-a")], "", id="wherever-users-are"),
        pytest.param(
            LEASES,
            [Right("update", "coordination.k8s.io", "leases", "elsewhere", "one")],
            "update leases.coordination.k8s.io in berth-system: unused",
            id="another-namespace",
        ),
    ],
)
def test_a_right_without_a_use_as_wide_is_reported(grant: Right, uses: list[Right], words: str) -> None:
    assert differences([grant], uses, is_users) == ({words} if words else set())


def test_requests_are_read_as_rights() -> None:
    def record(verb: str, code: int, decision: str = "allow", **what: str) -> dict[str, object]:
        return {
            "verb": verb,
            "user": {"username": "system:serviceaccount:ns:me"},
            "objectRef": {"resource": "pods", **what},
            "responseStatus": {"code": code},
            "annotations": {"authorization.k8s.io/decision": decision},
        }

    records = [
        record("create", 201, namespace="a", name="p"),
        record("create", 201, namespace="a", name="p", subresource="binding"),
        record("patch", 201, resource="leases", apiGroup="coordination.k8s.io", namespace="a", name="l"),
        record("delete", 403, "forbid", namespace="a", name="p"),
    ]
    assert sorted(map(str, used(records, "ns/me"))) == [
        "create leases.coordination.k8s.io l in a",
        "create pods in a",
        "create pods/binding p in a",
        "patch leases.coordination.k8s.io l in a",
    ]
    assert list(map(str, refused(records, "ns/me"))) == ["delete pods p in a"]
