"""Flaws of plugin classes: declarations that are none, and misspelt hooks."""

from __future__ import annotations

from functools import partial, wraps
from typing import Any

import pytest

from examples.plugins.price_cap.price_cap import PriceCap
from scheduler_runtime import testing
from scheduler_runtime.api import Action, ClusterEvent, NodePlugin, Plugin, Watch, flaws_of, highest_is_best
from scheduler_runtime.plugins import IN_TREE
from tests.support.sound_plugin import Sound, breach_of, broken


def like_filter(self: Any, pod: Any, nodes: Any, state: Any) -> Any:
    return ()


def filters_node(self: Any, pod: Any, node: Any) -> Any:
    return None


def with_nodes(self: Any, nodes: Any) -> Any:
    return nodes


def at_once(self: Any, pod: Any, node: Any, state: Any) -> Any:
    return None


@wraps(filters_node)
def traced(*arguments: Any) -> Any:
    return ()


def with_more(self: Any, args: Any, handle: Any, more: int = 1) -> None:
    pass


class Raises:
    def __get__(self, instance: object, owner: object) -> None:
        raise KeyError(self)


class Counts(type):
    def __call__(cls, *arguments: Any) -> Any:
        return super().__call__(*arguments, 1)


class Counted(NodePlugin, metaclass=Counts):
    def __init__(self, args: Any, handle: Any, count: int) -> None:
        super().__init__(args, handle)

    def filter_node(self, pod: Any, node: Any) -> None:
        return None


WATCH = Watch("v1", "Service")


def with_args(self: Any, args: Any) -> None:
    pass


async def waits(self: Any, *_: Any) -> Any:
    return None


async def yields_later(self: Any, *_: Any) -> Any:
    yield None


NOBODY_AWAITS = "is a coroutine, and nobody awaits it; write def, and wait for nothing in it"
OWN = "A method of your own takes a name that begins with _"
NO_HOOK = "it has no hook that a profile can enable, so it never runs; write one"
FLAWS = [
    pytest.param(
        broken(Args=type("Args", (), {})), "Args is Args, not a PluginArgs; write class Args(PluginArgs)", id="args"
    ),
    pytest.param(broken(watches=("v1",)), "watches[0] is 'v1', not a Watch; write Watch(…)", id="watches"),
    pytest.param(broken(rules=("get",)), "rules[0] is 'get', not a Rule; write Rule(…)", id="rules"),
    pytest.param(
        broken(events=("Node",)), "events[0] is 'Node', not a ClusterEvent; write ClusterEvent(…)", id="events"
    ),
    pytest.param(broken(events="Node"), "events is 'Node', not a tuple; write events = (ClusterEvent(…),)", id="text"),
    pytest.param(
        broken(preFilter=like_filter), f"preFilter is not a hook; did you mean pre_filter? {OWN}", id="camel-case"
    ),
    pytest.param(
        broken(normalizeScore=highest_is_best),
        f"normalizeScore is not a hook; did you mean normalize_score? {OWN}",
        id="borrowed",
    ),
    pytest.param(broken(filterr=like_filter), f"filterr is not a hook; did you mean filter? {OWN}", id="misspelt"),
    pytest.param(
        broken(NodePlugin, filter_nodes=filters_node),
        f"filter_nodes is not a hook; did you mean filter_node? {OWN}",
        id="of-a-node-plugin",
    ),
    pytest.param(broken(Plugin, bind=at_once), "bind is not a coroutine; write async def bind", id="bind-at-once"),
    pytest.param(broken(Plugin, permit=waits), f"permit {NOBODY_AWAITS}", id="permit-that-waits"),
    pytest.param(broken(filter=yields_later), f"filter {NOBODY_AWAITS}", id="filter-that-waits"),
    pytest.param(
        broken(Plugin, score=with_nodes),
        "score is called with (pod, nodes, state); write def score(self, pod, nodes, state)",
        id="too-few-arguments",
    ),
    pytest.param(
        broken(NodePlugin, filter_node=at_once),
        "filter_node is called with (pod, node); write def filter_node(self, pod, node)",
        id="too-many-arguments",
    ),
    pytest.param(
        broken(filter=staticmethod(like_filter)),
        "filter is called with (pod, nodes, state); write def filter(self, pod, nodes, state)",
        id="self-of-a-static-method",
    ),
    pytest.param(
        broken(__init__=with_args),
        "__init__ is called with (args, handle); write def __init__(self, args, handle)",
        id="made-of-arguments-alone",
    ),
    pytest.param(
        broken(NodePlugin, filter_node=filters_node, eventz=()),
        "eventz is unknown; did you mean events? Names of your own begin with _",
        id="misspelt-declaration",
    ),
    pytest.param(
        broken(NodePlugin, filter_node=filters_node, row_locale=True),
        "row_locale is unknown; did you mean row_local? Names of your own begin with _",
        id="misspelt-promise",
    ),
    pytest.param(
        broken(events=(ClusterEvent("ConfigMap", Action.ADD),)),
        "events[0] is of ConfigMap, which it does not watch; add the kind to its watches",
        id="unheard-event",
    ),
    pytest.param(
        broken(events=(ClusterEvent("Nodee", Action.ADD),)),
        "events[0] is of Nodee, which it does not watch; did you mean Node?",
        id="misspelt-event",
    ),
    pytest.param(
        broken(events=(ClusterEvent(None, Action.ADD),)),  # type: ignore[arg-type]
        "events[0] is of None; write the kind that it is about",
        id="event-of-nothing",
    ),
    pytest.param(broken(reads=True), "reads is True, not a tuple; write reads = (str(…),)", id="reads"),
    pytest.param(broken(Plugin), NO_HOOK, id="no-hook"),
    pytest.param(broken(NodePlugin, signature=with_nodes), NO_HOOK, id="no-hook-that-runs"),
    pytest.param(broken(NodePlugin, filter_node=waits), f"filter_node {NOBODY_AWAITS}", id="filter-node-that-waits"),
]


@pytest.mark.parametrize(("plugin", "flaw"), FLAWS)
def test_a_flaw_names_what_to_write(plugin: type[Plugin], flaw: str) -> None:
    assert list(flaws_of(plugin)) == [flaw]


@pytest.mark.parametrize(("plugin", "flaw"), FLAWS)
def test_the_kit_tells_of_it(plugin: type[Plugin], flaw: str) -> None:
    assert breach_of(plugin, "flaws") == flaw


@pytest.mark.parametrize(("plugin", "flaw"), FLAWS)
def test_no_framework_accepts_it(plugin: type[Plugin], flaw: str) -> None:
    with pytest.raises(ValueError, match="plugin Broken: ") as refused:
        testing.framework({"plugins": {"multiPoint": {"enabled": [{"name": "Broken"}]}}}, plugin)
    assert str(refused.value) == f"plugin Broken: {flaw}"


@pytest.mark.parametrize(
    "plugin",
    [
        *IN_TREE.values(),
        PriceCap,
        Sound,
        broken(scores=with_nodes, _filterr=like_filter, rows_of=with_nodes),
        broken(watches=lambda _: (Watch("v1", "Service"),), events=(ClusterEvent("Service", Action.ADD),)),
        broken(watches=(Watch("v1", "Service"),), events=(ClusterEvent("Service", Action.ADD),)),
        broken(score=staticmethod(lambda *_: 0), own=5),
        broken(filter=lambda *_args, **_more: ()),
        broken(filter=partial(like_filter, None)),
        broken(filter=traced),
        broken(__init__=with_more),
        broken(__slots__=("event",), __annotations__={"watched": int}),
        *[broken(NodePlugin, filter_node=filters_node, **{name: 5}) for name in ("event", "row_locale", "read")],
        broken(NodePlugin, filter_node=filters_node, watch=WATCH, watches=(WATCH,), rule="x", name_s=(1,)),
        broken(NodePlugin, filter_node=filters_node, events=(ClusterEvent("*", Action.ALL),)),
        broken(NodePlugin, filter_node=filters_node, _events=(1,), _row_local=True),
        broken(NodePlugin, filter_node=filters_node, odd=Raises()),
        Counted,
    ],
)
def test_a_sound_class_has_no_flaw(plugin: type[Plugin]) -> None:
    assert list(flaws_of(plugin)) == []
