"""However objects refer to each other: no look at one asks for a look at another without end."""

import asyncio
import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from scheduler_operator.cluster.user_objects import StoredObject, UserObjects
from scheduler_operator.reconcile.reconciler import Key, Reconciler
from scheduler_operator.reconcile.scheduler_state import SchedulerState
from scheduler_operator.reconcile.status import MAX_USERS
from scheduler_operator.render import ObjectProblems, SharedProcess, check, render, render_shared
from scheduler_operator.resources import kinds
from scheduler_operator.resources.user_object import Status, UserObject
from scheduler_runtime.catalog import Target
from tests.scheduler_operator.builders import NAMESPACE, RELEASE, V1_36, declaring, plugin_config

NAMES = ("a", "b", "c")
LOOKS = 60
"""More than enough for three profiles and two PluginConfigs."""


class World:
    """The reconciler with objects, and nothing else of a cluster: what is applied runs at once."""

    def __init__(self, *objects: UserObject) -> None:
        self.users = UserObjects()
        self.waiting: dict[Key, None] = {}
        self.looks = 0
        self.statuses = 0
        self.meanwhile: Callable[[], None] = lambda: None
        """What happens while a PluginConfig is being checked, once."""
        for kind in (kinds.PROFILE, kinds.PLUGIN_CONFIG):
            self.users.put_page(kind, [], is_first=True, is_last=True)
        any_self = cast("Any", self)
        self.reconciler = Reconciler(any_self, any_self, RELEASE, V1_36, any_self, any_self, any_self)
        for item in objects:
            self.put(item)

    def put(self, item: UserObject) -> None:
        """Write an object, as its author does."""
        kind = kinds.PROFILE if item.kind == kinds.PROFILE.name else kinds.PLUGIN_CONFIG
        self.users.put(kind, stored(item))
        self.add(Key(item.kind, item.name))

    def delete(self, name: str) -> None:
        """Delete a profile, as its author does."""
        self.users.remove(kinds.PROFILE, name)
        self.add(Key(kinds.PROFILE.name, name))

    def settle(self) -> int:
        """Look until nothing waits; return how often that was."""
        self.looks = 0
        while self.waiting:
            key = next(iter(self.waiting))
            del self.waiting[key]
            self.looks += 1
            assert self.looks < LOOKS, f"still waiting: {[*self.waiting]}"
            asyncio.run(self.reconciler.reconcile(key))
        return self.looks

    # The queue.

    def add(self, key: Key, in_bulk: bool = False) -> None:
        self.waiting[key] = None

    def charge(self, key: Key, seconds: float) -> None:
        pass

    # The cluster and the events.

    crds = SimpleNamespace(remark="")

    async def report(self, user_object: UserObject, status: Status) -> bool:
        if status == user_object.status:
            return False
        self.statuses += 1
        kind = kinds.PROFILE if user_object.kind == kinds.PROFILE.name else kinds.PLUGIN_CONFIG
        known = self.users.of(kind)[user_object.name]
        written = UserObject(
            user_object.kind, user_object.name, user_object.uid, user_object.generation, known.decode().spec, status
        )
        self.users.put(kind, stored(written))  # the watch brings nothing new then
        return True

    async def grants(self) -> list[Any]:
        return []

    async def record_ready_change(self, *_: Any) -> None:
        pass

    # Rendering.

    async def render_shared(self, owner: StoredObject, joiners: Any, configs: Any, *_: Any) -> SharedProcess:
        decoded = {name: config.decode() for name, config in configs.items()}
        return render_shared(owner.decode(), [j.decode() for j in joiners], decoded, NAMESPACE, Target(V1_36))

    async def problems_alone(self, profile: StoredObject, *_: Any) -> tuple[Any, ...]:
        outcome = render([profile.decode()], {}, NAMESPACE, Target(V1_36))
        return outcome.problems if isinstance(outcome, ObjectProblems) else ()

    async def check(self, config: StoredObject, configs: Any, *_: Any) -> ObjectProblems | None:
        self.meanwhile()
        self.meanwhile = lambda: None
        return check(config.decode(), {n: c.decode() for n, c in configs.items()}, NAMESPACE, Target(V1_36))

    # Rollouts.

    is_complete = True

    async def roll_out(self, *_: Any) -> SchedulerState:
        return SchedulerState()

    async def maintain(self, _: UserObject) -> None:
        return None

    def forget(self, name: str) -> None:
        pass

    def is_contested(self, name: str) -> bool:
        return False


def stored(item: UserObject) -> StoredObject:
    raw = {
        "kind": item.kind,
        "metadata": {"name": item.name, "uid": item.uid, "generation": item.generation, "resourceVersion": "1"},
        "spec": item.spec,
        "status": item.status,
    }
    return StoredObject.from_object(raw)


def joining(name: str, target: str, **spec: Any) -> UserObject:
    joins = {"joins": target} if target else {}
    return UserObject("SchedulerProfile", name, f"uid-of-{name}", 1, {**joins, **spec}, {})


@pytest.mark.parametrize("targets", [*itertools.product(("", *NAMES, "absent"), repeat=3)], ids=" ".join)
def test_every_shape_of_joins_comes_to_rest(targets: tuple[str, ...]) -> None:
    world = World(*(joining(name, target) for name, target in zip(NAMES, targets, strict=True)))
    world.settle()
    statuses = world.statuses
    for name in NAMES:
        world.add(Key("SchedulerProfile", name))
    assert world.settle() <= 2 * len(NAMES)
    assert world.statuses == statuses, "a second look writes nothing"


def test_profiles_that_join_each_other_are_told_so() -> None:
    world = World(joining("a", "b"), joining("b", "a"))
    world.settle()
    reasons = {name: item.relations.status["conditions"][0]["reason"] for name, item in world.users.profiles.items()}
    assert reasons == {"a": "JoinConflict", "b": "JoinConflict"}


def test_a_profile_whose_owner_joins_another_is_told_when_that_changes() -> None:
    world = World(joining("a", ""), joining("b", ""), joining("c", "b"))
    world.settle()
    assert world.users.profiles["c"].relations.status["conditions"][0]["status"] == "True"
    world.put(joining("b", "a"))
    world.settle()
    assert world.users.profiles["c"].relations.status["conditions"][0]["reason"] == "JoinConflict"


def test_a_plugin_config_has_no_look_for_each_look_at_its_users() -> None:
    fit = plugin_config("fit", "NodeResourcesFit")
    users = [joining(name, "", pluginConfig=[{"name": "NodeResourcesFit", "ref": "fit"}]) for name in NAMES]
    world = World(fit, declaring("own", "Own", {"hooks": ["filter"]}), *users)
    world.settle()
    world.add(Key("PluginConfig", "fit"))
    assert world.settle() == 1


def test_a_plugin_config_forgets_a_user_that_is_deleted_while_it_is_being_checked() -> None:
    world = World(plugin_config("fit", "NodeResourcesFit"))
    world.settle()
    world.put(joining("a", "", pluginConfig=[{"name": "NodeResourcesFit", "ref": "fit"}]))
    world.waiting = {Key("PluginConfig", "fit"): None}
    world.meanwhile = lambda: world.delete("a")
    # The look at the profile that is gone comes before the status is written.
    report = world.report

    async def late(user_object: UserObject, status: Status) -> bool:
        if user_object.name == "fit" and world.waiting.pop(Key("SchedulerProfile", "a"), 0) is None:
            await world.reconciler.reconcile(Key("SchedulerProfile", "a"))
        return await report(user_object, status)

    world.report = late  # type: ignore[method-assign]
    world.settle()
    assert world.users.plugin_configs["fit"].relations.status.get("usedBy", []) == []


def test_a_plugin_config_with_more_users_than_its_status_lists_comes_to_rest() -> None:
    others = [f"other-{number}" for number in range(MAX_USERS)]
    crowded = plugin_config("fit", "NodeResourcesFit", status={"usedBy": others})
    world = World(crowded, joining("z", "", pluginConfig=[{"name": "NodeResourcesFit", "ref": "fit"}]))
    world.add(Key("SchedulerProfile", "z"))
    assert world.settle() < LOOKS


def test_code_that_changes_is_told_to_its_users_once() -> None:
    digest = "4f" * 32
    source = {"configMap": {"name": "cap", "key": "cap.py", "sha256": digest}}
    config = declaring("cap", "PriceCap", {"hooks": ["filter"]}, source=source)
    spec = {"engine": "ConfigMap", "plugins": {"filter": {"enabled": [{"name": "PriceCap"}]}}}
    world = World(UserObject("SchedulerProfile", "a", "uid-of-a", 1, spec, {}), config)
    code = world.users.code
    code.is_known = True
    code.put("cap", {"cap.py": digest})
    world.settle()

    def ready(kind: kinds.ResourceKind, name: str) -> Any:
        return world.users.of(kind)[name].relations.status["conditions"][0]

    assert ready(kinds.PLUGIN_CONFIG, "cap")["status"] == "True"
    code.remove("cap")
    world.reconciler.queue_users_of_code("other")
    assert world.settle() == 0
    world.reconciler.queue_users_of_code("cap")
    world.settle()
    assert ready(kinds.PLUGIN_CONFIG, "cap")["reason"] == "NotLoaded"
    assert ready(kinds.PROFILE, "a")["message"].endswith("no scheduler can start: see PluginConfig cap")
    code.put("cap", {"cap.py": digest})
    world.reconciler.queue_users_of_code(None)
    world.settle()
    assert ready(kinds.PLUGIN_CONFIG, "cap")["status"] == "True"
    assert "PluginConfig" not in ready(kinds.PROFILE, "a")["message"]
