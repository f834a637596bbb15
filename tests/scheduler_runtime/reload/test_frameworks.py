"""Frameworks that stay when a document changes, and those that are built anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_runtime import config, testing
from scheduler_runtime.api import NodeTable, Plugin, Pod, Reject, declaration_of
from scheduler_runtime.catalog import Target
from scheduler_runtime.config import Document, Problems
from scheduler_runtime.config.berth_options import BerthOptions, ConfigMapSource, OwnPlugin
from scheduler_runtime.framework import PluginServices, RegistrationError
from scheduler_runtime.reload.parts import Frameworks
from scheduler_runtime.reload.plan import DocumentText, Plan, Planner, plugin_origins
from scheduler_runtime.reload.plugin_sources import PluginSources
from tests.support.distributions import install
from tests.support.scripted import Script, serving

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
    specs = [{"schedulerName": name, **profile} for name, profile in profiles.items()]
    document = config.parse_document({**HEADER, "profiles": specs})
    assert isinstance(document, Document), document
    effective = config.expand_profiles(document, TARGET, {"Own": declaration_of(own)})
    assert not isinstance(effective, Problems), str(effective)
    return Plan(
        text=DocumentText(""),
        document=document,
        extras=BerthOptions(),
        profiles=effective,
        plugins={"Own": own},
        watches=(),
        full_document={},
    )


class Binds:
    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        raise AssertionError("nothing is bound here")


SERVICES = PluginServices(Binds(), lambda *_: None, lambda _: None, testing.Objects())


def running(first: Plan) -> Frameworks:
    frameworks = Frameworks(TARGET)
    frameworks.replace(frameworks.build(first, SERVICES))
    return frameworks


def changed(profiles: Frameworks, first: Plan, to: Plan) -> frozenset[str]:
    before = dict(profiles)
    profiles.replace(profiles.build(to, SERVICES, first))
    names = before.keys() | profiles.keys()
    return frozenset(name for name in names if before.get(name) is not profiles.get(name))


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
    first = plan(a=WITH_OWN, b={})
    profiles = running(first)
    before = dict(profiles)
    assert changed(profiles, first, to) == expected
    assert set(profiles) == {profile.scheduler_name for profile in to.profiles}
    for name in set(before) - expected:
        assert profiles[name] is before[name]


def test_a_plugin_that_cannot_be_used_leaves_everything_as_it_is() -> None:
    first = plan(a=WITH_OWN)
    profiles = running(first)
    before = dict(profiles)
    with pytest.raises(RegistrationError, match="it reads metadata"):
        changed(profiles, first, plan(Wrong, a=WITH_OWN))
    assert dict(profiles) == before


EXTENDERS = [{"urlPrefix": "http://a", "filterVerb": "f"}, {"urlPrefix": "http://b", "filterVerb": "f"}]


async def planned(extras: str, **changes: Any) -> Plan | Problems:
    value = {**HEADER, "profiles": [{"schedulerName": "one"}, {"schedulerName": "two"}], "extenders": EXTENDERS}
    async with serving(Script()) as client:
        return await Planner(TARGET, PluginSources(client, "")).plan(
            DocumentText(yaml.safe_dump({**value, **changes}), extras)
        )


@pytest.mark.parametrize(
    ("extras", "expected"),
    [
        pytest.param("", {"one": ["http://a", "http://b"], "two": ["http://a", "http://b"]}, id="all-ask-all"),
        pytest.param("extenders: {two: [1]}", {"one": [], "two": ["http://b"]}, id="each-asks-its-own"),
    ],
)
async def test_whom_a_profile_asks(extras: str, expected: dict[str, list[str]]) -> None:
    plan = await planned(extras)
    assert isinstance(plan, Plan), str(plan)
    assert {
        profile.scheduler_name: [extender.url_prefix for extender in plan.extenders_of(profile)]
        for profile in plan.profiles
    } == expected


async def test_what_only_others_ask_extenders_about_is_not_ignored() -> None:
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
    plan = await planned("extenders: {two: [0]}", extenders=[{**EXTENDERS[0], "managedResources": managed}])
    assert isinstance(plan, Plan), str(plan)
    ignored = [profile.args["NodeResourcesFit"].model_dump()["ignored_resources"] for profile in plan.profiles]
    assert ignored == [(), ("example.com/gpu",)]


async def test_the_origin_of_each_own_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "origin-caps", PriceCap="PriceCap", Other="PriceCap")
    monkeypatch.syspath_prepend(tmp_path)
    first = await planned("", profiles=[{"schedulerName": "one", "pluginConfig": [{"name": "PriceCap"}]}])
    assert isinstance(first, Plan), str(first)
    assert plugin_origins(first) == ["PriceCap: origin_caps:PriceCap of origin-caps 1.0"]
    (tmp_path / "origin_caps-1.0.dist-info" / "METADATA").write_text("Name: origin-caps\nVersion: 2.0\n")
    again = await planned("", profiles=[{"schedulerName": "one", "pluginConfig": [{"name": "PriceCap"}]}])
    assert isinstance(again, Plan)
    assert plugin_origins(again) == [
        "PriceCap: origin_caps:PriceCap of origin-caps 1.0"
    ]  # what is upgraded meanwhile is not imported again
    assert plugin_origins(replace(first, plugins={"Own": Own})) == [f"Own: {__name__}:Own"]
    source = OwnPlugin(config_map=ConfigMapSource(name="caps", key="cap.py", sha256="ab12"))
    sourced = replace(first, extras=BerthOptions(plugins={"PriceCap": source}))
    assert plugin_origins(sourced) == ["PriceCap: cap.py of ConfigMap caps, SHA-256 ab12"]


async def test_extenders_that_are_not_there_are_refused() -> None:
    plan = await planned("extenders: {one: [0, 2]}")
    assert str(plan) == "berth.yaml: extenders.one[1]: the document has 2 extenders, and none at 2"


async def test_everything_that_is_wrong_is_reported_at_once() -> None:
    wrong = {
        "schedulerName": "one",
        "plugins": {"filter": {"enabled": [{"name": "PriceCup"}, {"name": "NodeAfinity"}]}},
        "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "Most"}}}],
    }
    plan = await planned("extenders: {one: [7]}", profiles=[wrong])
    assert isinstance(plan, Problems)
    assert [problem.path for problem in plan] == [
        "berth.yaml: extenders.one[0]",
        "profiles[0].plugins.filter.enabled[0].name",
        "profiles[0].plugins.filter.enabled[1].name",
        "profiles[0].pluginConfig[0].args.scoringStrategy.type",
    ]


FAULTY = """
from pydantic import Field, field_validator
from scheduler_runtime.api import NodePlugin, PluginArgs

class {name}(NodePlugin):
    {body}

    def filter_node(self, pod, node):
        return None
"""


@pytest.mark.parametrize(
    ("name", "body", "entry", "refusal"),
    [
        pytest.param(
            "Needs",
            "class Args(PluginArgs): most_hourly: float",
            None,
            "profiles[0].pluginConfig: has no entry for Needs, which needs one: mostHourly is required",
            id="an-argument-without-a-default",
        ),
        pytest.param(
            "Checks",
            "class Args(PluginArgs):\n"
            "        most: float = 1.0\n"
            "        check = field_validator('most')(lambda most: {}[most])",
            {"most": 2},
            "profiles[0].pluginConfig[0].args: cannot be checked: KeyError: 2.0",
            id="a-check-that-raises",
        ),
        pytest.param(
            "Makes",
            "class Args(PluginArgs): most: float = Field(default_factory=lambda: 1 / 0)",
            None,
            "profiles[0].pluginConfig: has no entry for Makes, which needs one: "
            "cannot be checked: ZeroDivisionError: division by zero",
            id="a-default-that-raises",
        ),
        pytest.param(
            "Watches",
            "watches = lambda args: 1 / 0",
            None,
            "plugin Watches: watches: ZeroDivisionError: division by zero",
            id="watches-that-raise",
        ),
        pytest.param(
            "Watched",
            "watches = lambda args: ('v1',)",
            None,
            "plugin Watched: watches: 'v1' is not a Watch",
            id="what-is-no-watch",
        ),
    ],
)
async def test_what_a_plugin_of_ones_own_says_wrongly_is_a_sentence(
    name: str, body: str, entry: Any, refusal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, f"faulty-{name.lower()}", FAULTY.replace("{name}", name).replace("{body}", body), **{name: name})
    monkeypatch.syspath_prepend(tmp_path)
    profile: dict[str, Any] = {"schedulerName": "one", "plugins": {"filter": {"enabled": [{"name": name}]}}}
    if entry is not None:
        profile["pluginConfig"] = [{"name": name, "args": entry}]
    assert str(await planned("", profiles=[profile])) == refusal


MOODY = FAULTY.replace("{name}", "Moody").replace(
    "{body}",
    "class Args(PluginArgs): zone: str = ''\n    watches = lambda args: 1 / 0 if args and args.zone == 'b' else ()",
)


@pytest.mark.parametrize("zones", ["ab", "ba", "bb"])
async def test_what_a_plugin_says_wrongly_for_one_profile_is_a_problem(
    zones: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "moody", MOODY, Moody="Moody")
    monkeypatch.syspath_prepend(tmp_path)
    profiles = [
        {
            "schedulerName": f"{place}-{zone}",
            "plugins": {"filter": {"enabled": [{"name": "Moody"}]}},
            "pluginConfig": [{"name": "Moody", "args": {"zone": zone}}],
        }
        for place, zone in enumerate(zones)
    ]
    problems = await planned("", profiles=profiles)
    assert str(problems) == "plugin Moody: watches: ZeroDivisionError: division by zero"


@pytest.mark.parametrize("raises", ["raise KeyError('odd')", "raise SystemExit(3)"])
async def test_whatever_else_code_raises_ends_nothing(
    raises: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = f"Written{len(raises)}"
    body = (
        "class Args(PluginArgs):\n"
        "        most: float = 1.0\n"
        "        @field_serializer('most')\n"
        "        def write(self, most):\n"
        f"            {raises}"
    )
    code = FAULTY.replace("field_validator", "field_serializer").replace("{name}", name).replace("{body}", body)
    install(tmp_path, name.lower(), code, **{name: name})
    monkeypatch.syspath_prepend(tmp_path)
    profile = {"schedulerName": "one", "plugins": {"filter": {"enabled": [{"name": name}]}}}
    assert str(await planned("", profiles=[profile])).startswith("cannot be understood: ")
    assert "Traceback" in caplog.text


async def test_a_profile_looks_at_as_many_nodes_as_the_document_says_unless_it_says_it_itself() -> None:
    profiles = [{"schedulerName": "one"}, {"schedulerName": "two", "percentageOfNodesToScore": 0}]
    plan = await planned("", percentageOfNodesToScore=30, profiles=profiles)
    assert isinstance(plan, Plan), str(plan)
    assert [profile.percentage_of_nodes_to_score for profile in plan.profiles] == [30, 0]


async def test_only_profiles_whose_extenders_are_others_are_made_anew() -> None:
    first, then = await planned("extenders: {one: [0], two: [0]}"), await planned("extenders: {one: [0], two: [1]}")
    assert isinstance(first, Plan)
    assert isinstance(then, Plan)
    assert changed(running(first), first, then) == {"two"}
