"""User stories, written once and run in any ``world``: on process nodes and on kind."""

import json
from typing import Any

import pytest

from examples.demo.installation import NAMESPACE
from tests.support.world import UNHURRIED, World, overcommitted

GENERATED = [
    ("serviceaccount", NAMESPACE),
    ("clusterrole", ""),
    ("clusterrolebinding", ""),
    ("role", NAMESPACE),
    ("rolebinding", NAMESPACE),
    ("configmap", NAMESPACE),
    ("lease", NAMESPACE),
    ("deployment", NAMESPACE),
    ("service", NAMESPACE),
    ("poddisruptionbudget", NAMESPACE),
]


def running_profile(world: World, name: str, **spec: Any) -> str:
    """A profile whose scheduler is at work; the name of the objects made for it."""
    world.apply(world.profile(name, **spec))
    world.eventually(lambda: world.is_ready(name), 60)
    world.eventually(lambda: world.holder(f"berth-{name}"), 30)
    return f"berth-{name}"


def object_name(world: World, kind: str, profile: str) -> str:
    """The name of an object that was made for a profile: its ConfigMap has another one for each pod template."""
    if kind != "configmap":
        return f"berth-{profile}"
    return str((world.get("schedulerprofile", profile) or {})["status"]["configMap"])


def test_a_profiles_own_scheduler_binds_its_pods(world: World) -> None:
    berth = running_profile(world, "story")
    world.apply(world.deployment("told", "story", 5, {"cpu": "10m"}))
    world.eventually(lambda: len(world.bound("told")) == 5, 30)

    assert world.pod(world.holder(berth))["spec"]["serviceAccountName"] == berth
    uids = {pod["metadata"]["uid"] for pod in world.pods("told")}

    def bindings() -> set[str]:
        events = world.kubectl.items("events", "--namespace=default", "--field-selector=reason=Scheduled")
        return {e["involvedObject"]["uid"] for e in events if e["reportingComponent"] == "story"}

    world.eventually(lambda: uids <= bindings(), 30)
    assert not overcommitted(world.kubectl.items("nodes"), world.kubectl.items("pods", "--all-namespaces"))


@pytest.mark.parametrize(("kind", "namespace"), GENERATED, ids=[kind for kind, _ in GENERATED])
def test_a_deleted_object_is_back(world: World, kind: str, namespace: str) -> None:
    running_profile(world, "story")
    name = object_name(world, kind, "story")
    before = world.eventually(lambda: world.get(kind, name, namespace), 30)

    where = [f"--namespace={namespace}"] if namespace else []
    world.kubectl("delete", kind, name, "--wait=false", *where)

    def is_another_one() -> bool:
        now = world.get(kind, name, namespace)
        return now is not None and now["metadata"]["uid"] != before["metadata"]["uid"]

    world.eventually(is_another_one, 20)


def test_an_unknown_plugin_stalls_the_profile_and_names_the_nearest(world: World) -> None:
    world.apply(world.profile("mistaken", plugins={"score": {"enabled": [{"name": "NodeResourceFit", "weight": 2}]}}))

    stalled = world.eventually(lambda: world.condition("mistaken", "Stalled"), 30)

    assert (stalled["status"], stalled["reason"]) == ("True", "PluginUnknown")
    assert "NodeResourceFit" in stalled["message"]
    assert "NodeResourcesFit" in stalled["message"]
    assert world.condition("mistaken", "Ready")["status"] == "False"
    world.kubectl("delete", "schedulerprofile", "mistaken")


def test_scheduling_goes_on_when_the_leading_scheduler_is_killed(world: World) -> None:
    berth = running_profile(world, "story")
    before = world.identity(berth)

    world.kill(world, world.pod(world.holder(berth)))

    world.apply(world.deployment("after-a-kill", "story", 3, {"cpu": "10m"}))
    world.eventually(lambda: len(world.bound("after-a-kill")) == 3, 40)
    world.eventually(lambda: world.identity(berth) not in ("", before), 40)


def test_a_document_edited_to_nonsense_is_put_back_and_stops_nobody(world: World) -> None:
    berth = running_profile(world, "story")

    name = object_name(world, "configmap", "story")

    def document() -> str:
        return str((world.get("configmap", name, NAMESPACE) or {})["data"]["config.yaml"])

    original = document()
    nonsense = json.dumps({"data": {"config.yaml": "profiles: [nonsense"}})
    world.kubectl("patch", "configmap", name, f"--namespace={NAMESPACE}", "--type=merge", f"--patch={nonsense}")
    world.kill(world, world.pod(world.holder(berth)))

    world.eventually(lambda: document() == original, 20)
    world.apply(world.deployment("after-nonsense", "story", 3, {"cpu": "10m"}))
    world.eventually(lambda: len(world.bound("after-nonsense")) == 3, 40)
    world.eventually(lambda: world.is_ready("story"), 60)


def test_a_changed_profile_is_followed_by_the_schedulers_that_run(world: World) -> None:
    berth = running_profile(world, "changing", scheduler=UNHURRIED)
    before = world.identity(berth)
    fewer = {"multiPoint": {"disabled": [{"name": "ImageLocality"}]}}
    world.apply(world.profile("changing", scheduler=UNHURRIED, plugins=fewer))

    def goes_by() -> set[str]:
        status = (world.get("schedulerprofile", "changing") or {})["status"]
        current = world.is_ready("changing")
        return (
            {member["configHash"] for member in status["members"]} ^ {status["configHash"]} if current else {"not yet"}
        )

    world.eventually(lambda: not goes_by(), 30)
    assert world.identity(berth) == before
    world.apply(world.deployment("after-a-change", "changing", 3, {"cpu": "10m"}))
    world.eventually(lambda: len(world.bound("after-a-change")) == 3, 30)
    world.kubectl("delete", "schedulerprofile", "changing")


def test_profiles_are_served_when_the_leading_operator_is_killed(world: World) -> None:
    before = world.eventually(lambda: world.identity("berth-operator"), 30)

    world.kill(world, world.pod(world.holder("berth-operator")))

    world.apply(world.profile("late"))
    world.eventually(lambda: world.is_ready("late"), 90)
    assert world.identity("berth-operator") not in ("", before)
    world.kubectl("delete", "schedulerprofile", "late")


def test_deleting_a_profile_leaves_nothing(world: World) -> None:
    berth = running_profile(world, "short-lived")

    world.kubectl("delete", "schedulerprofile", "short-lived")

    def remains() -> list[str]:
        kinds = [kind for kind, namespace in GENERATED if world.get(kind, berth, namespace)]
        pods = world.kubectl.items("pods", f"--namespace={NAMESPACE}", "--selector=berth.dev/profile=short-lived")
        return kinds + [pod["metadata"]["name"] for pod in pods]

    # The garbage collector notices a kind up to 40 s after its CRD was made; a quick world is a second's matter.
    world.eventually(lambda: not remains(), 60)
