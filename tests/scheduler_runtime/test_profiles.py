"""Which frameworks stay when a document changes, and which are made anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from scheduler_runtime import config, testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject, declaration_of
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import Document, Problems
from scheduler_runtime.extras import Extras
from scheduler_runtime.following import Found
from scheduler_runtime.framework import RegistrationError, Services
from scheduler_runtime.plans import Plan
from scheduler_runtime.profiles import Profiles

TARGET = Target.parse("v1.36.4")
HEADER = {"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}


class Own(Plugin):
    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterable[Reject]:
        return ()


class Newer(Own):
    name = "Own"


class Wrong(Own):
    name = "Own"
    reads = ("metadata.annotations",)


WITH_OWN = {"plugins": {"filter": {"enabled": [{"name": "Own"}]}}}
SPREAD = {"pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}]}


def plan(own: type[Plugin] = Own, **profiles: Mapping[str, Any]) -> Plan:
    written = [{"schedulerName": name, **profile} for name, profile in profiles.items()]
    document = config.document({**HEADER, "profiles": written})
    assert isinstance(document, Document), document
    effective = config.effective_profiles(document, TARGET, {"Own": declaration_of(own)})
    assert not isinstance(effective, Problems), str(effective)
    return Plan(found=Found(""), document=document, extras=Extras(), profiles=effective, plugins={"Own": own})


def running(first: Plan) -> Profiles:
    class Binds:
        async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
            raise AssertionError("nothing is bound here")

    made = Profiles(Services(Binds(), lambda *_: None, lambda _: None, testing.Objects()), TARGET)
    made.replace(first, made.made(first))
    return made


def changed(profiles: Profiles, to: Plan) -> frozenset[str]:
    return profiles.replace(to, profiles.made(to))


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        pytest.param(plan(a=WITH_OWN, b={}), set(), id="nothing"),
        pytest.param(plan(a=WITH_OWN, b=SPREAD), {"b"}, id="arguments"),
        pytest.param(plan(Newer, a=WITH_OWN, b={}), {"a"}, id="code"),
        pytest.param(plan(a={}, b={}), {"a"}, id="plugins"),
        pytest.param(plan(a=WITH_OWN, c={}), {"b", "c"}, id="profiles"),
    ],
)
def test_only_what_is_other_is_made_anew(to: Plan, expected: set[str]) -> None:
    profiles = running(plan(a=WITH_OWN, b={}))
    before = dict(profiles)
    assert changed(profiles, to) == expected
    assert set(profiles) == {profile.scheduler_name for profile in to.profiles}
    for name in set(before) - expected:
        assert profiles[name] is before[name]


def test_a_plugin_that_cannot_be_used_leaves_everything_as_it_is() -> None:
    profiles = running(plan(a=WITH_OWN))
    before = dict(profiles)
    with pytest.raises(RegistrationError, match="it reads metadata"):
        changed(profiles, plan(Wrong, a=WITH_OWN))
    assert dict(profiles) == before
