"""Plugins whose code is in a ConfigMap: allowed, granted and pinned by its hash, and what was declared, or not run."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web

from scheduler_runtime.api import Plugin
from scheduler_runtime.config import Problems, berth_options
from scheduler_runtime.config.berth_options import BerthOptions
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.retry import Backoff
from scheduler_runtime.reload.plugin_sources import (
    PluginSources,
    PluginSourceUnavailableError,
    check_declarations,
    retry_until_available,
)
from tests.support.scripted import Answer, Script, hangs, refuses, resets, says, serving

CODE = """
from __future__ import annotations

from pydantic import BaseModel

from scheduler_runtime.api import Action, ClusterEvent, NodePlugin, PluginArgs, Watch


class Budget(PluginArgs):
    most: float = 1.0


class Odd(NodePlugin):
    "Is for another test."

    def score_node(self, pod, node):
        return 1.0


class PriceCap(NodePlugin):
    Args = Budget
    watches = (Watch("v1", "ConfigMap", "berth-system", "node-prices"),)
    events = (ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),)

    def filter_node(self, pod, node):
        return None
"""
FLAWED = f"{CODE}\n    preFilter = filter_node\n"
DECLARES = {
    "hooks": ["filter", "filterRow"],
    "argsSchema": {
        "type": "object",
        "description": "whatever people like to read",
        "properties": {"most": {"type": "number", "description": "In dollars.", "default": 1.0}},
    },
    "rules": [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "resourceNames": ["node-prices"],
            "verbs": ["watch", "list"],
            "namespace": "berth-system",
        }
    ],
    "events": [{"resource": "Node", "actions": ["UpdateNodeLabel", "Add"]}],
}


def extras_with(code: str = CODE, sha256: str = "", declares: Any = None, name: str = "PriceCap") -> BerthOptions:
    digest = sha256 or hashlib.sha256(code.encode()).hexdigest()
    source = {"name": "price-cap", "key": "price_cap.py", "sha256": digest}
    options = BerthOptions.model_validate({"plugins": {name: {"configMap": source, "declares": declares}}})
    assert isinstance(options, BerthOptions)
    return options


def holds(code: str) -> Answer:
    return says({"metadata": {"name": "price-cap"}, "data": {"price_cap.py": code}})


GRANTED = says({"status": {"allowed": True}}, 201)
DENIED = says({"status": {"allowed": False}}, 201)


def sources_of(client: Client, namespace: str = "n", grant_seconds: float = 0.0) -> PluginSources:
    return PluginSources(client, namespace, are_allowed=True, grant_seconds=grant_seconds)


async def load(options: BerthOptions, *answers: Answer, namespace: str = "n") -> Any:
    """What is loaded by a scheduler that may run the code, when the ConfigMap is answered like this."""
    async with serving(Script([GRANTED, *answers])) as client:
        return await sources_of(client, namespace).load(options)


async def price_cap() -> type[Plugin]:
    loaded = await load(extras_with(), holds(CODE))
    assert not isinstance(loaded, Problems), str(loaded)
    plugin: type[Plugin] = loaded["PriceCap"]
    return plugin


async def test_code_with_the_declared_hash_is_run_once() -> None:
    script = Script([GRANTED, holds(CODE), GRANTED])
    async with serving(script) as client:
        sources = sources_of(client)
        first, second = await sources.load(extras_with()), await sources.load(extras_with())
    assert not isinstance(first, Problems)
    assert not isinstance(second, Problems)
    assert first["PriceCap"].__name__ == "PriceCap"
    assert first["PriceCap"] is second["PriceCap"]
    assert [request.path for request in script.requests("GET")] == ["/api/v1/namespaces/n/configmaps/price-cap"]


async def test_code_is_not_even_read_by_a_scheduler_that_was_not_started_for_it() -> None:
    script = Script()
    async with serving(script) as client:
        loaded = await PluginSources(client, "n").load(extras_with())
    assert str(loaded).startswith("plugin PriceCap: ConfigMap n/price-cap: its code is not run: this scheduler was ")
    assert "--allow-plugin-sources" in str(loaded)
    assert "pluginSources.enabled=true" in str(loaded)
    assert script.received == []


async def test_the_api_server_is_asked_for_the_right_to_run_code_with_this_hash_each_time() -> None:
    script = Script([GRANTED, holds(CODE), DENIED])
    options = extras_with()
    async with serving(script) as client:
        sources = sources_of(client)
        assert not isinstance(await sources.load(options), Problems)
        again = await sources.load(options)  # executed before, but the right was taken away
    digest = hashlib.sha256(CODE.encode()).hexdigest()
    first, second = script.requests("POST")
    assert first == second
    assert first.path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    assert first.body["spec"]["resourceAttributes"] == {
        "namespace": "n",
        "verb": "run",
        "group": "berth.dev",
        "resource": "pluginsources",
        "name": digest,
    }
    assert isinstance(again, Problems)
    assert f"price_cap.py with the SHA-256 {digest} is not run, because nobody granted it" in str(again)
    assert "a Role in namespace n with verbs [run], apiGroups [berth.dev], resources [pluginsources]" in str(again)
    assert len(script.requests("GET")) == 1


async def test_no_code_of_a_document_is_run_if_a_right_to_some_of_it_is_missing() -> None:
    (plugin,) = extras_with().plugins.values()
    script = Script([GRANTED, DENIED, DENIED])
    async with serving(script) as client:
        loaded = await sources_of(client).load(BerthOptions(plugins={"PriceCap": plugin, "B": plugin, "C": plugin}))
    assert str(loaded).startswith("plugin B: ConfigMap n/price-cap: price_cap.py with the SHA-256")
    assert [request.method for request in script.received] == ["POST", "POST"]


async def test_a_right_that_was_granted_a_moment_ago_is_waited_for() -> None:
    script = Script([DENIED, DENIED, GRANTED, holds(CODE)])
    async with serving(script) as client:
        loaded = await sources_of(client, grant_seconds=60).load(extras_with())
    assert isinstance(loaded, Mapping)
    assert len(script.requests("POST")) == 3


async def test_who_may_not_ask_for_rights_runs_nothing() -> None:
    async with serving(Script([refuses(403, "Forbidden", "no right")])) as client:
        loaded = await sources_of(client).load(extras_with())
    assert "the API server cannot be asked whether its code may be run: 403 Forbidden: no right" in str(loaded)


@pytest.mark.parametrize("answer", [refuses(401), refuses(429), refuses(503), resets, says("<html>")])
async def test_an_api_server_that_does_not_say_is_asked_again_later(answer: Answer) -> None:
    async with serving(Script([answer, answer])) as client:
        with pytest.raises(PluginSourceUnavailableError, match=r"^ConfigMap n/price-cap: the API server cannot be ask"):
            await sources_of(client).load(extras_with())


@pytest.mark.parametrize(
    ("options", "answer", "words"),
    [
        pytest.param(extras_with(sha256="0" * 64), holds(CODE), f"and not {'0' * 64}; look at what changed", id="hash"),
        pytest.param(
            extras_with(), refuses(403, "Forbidden", "no right"), "cannot be read: 403 Forbidden: no right", id="403"
        ),
        pytest.param(extras_with(), says({"metadata": {}, "data": {}}), "has no price_cap.py", id="no-key"),
        pytest.param(extras_with("x = ("), holds("x = ("), "price_cap.py cannot be loaded: SyntaxError", id="syntax"),
        pytest.param(extras_with("1 / 0"), holds("1 / 0"), "ZeroDivisionError: division by zero", id="raises"),
        pytest.param(
            extras_with("import sys; sys.exit(3)"),
            holds("import sys; sys.exit(3)"),
            "SystemExit: 3",
            id="ends-the-process",
        ),
        pytest.param(
            extras_with(FLAWED),
            holds(FLAWED),
            "price_cap.py: preFilter is not a hook; did you mean pre_filter?",
            id="flawed",
        ),
        pytest.param(
            extras_with(name="Prices"),
            holds(CODE),
            "has no plugin of this name; those that it has: Odd, PriceCap",
            id="name",
        ),
    ],
)
async def test_code_that_cannot_be_used_is_a_sentence(options: BerthOptions, answer: Answer, words: str) -> None:
    loaded = await load(options, answer)
    assert isinstance(loaded, Problems)
    (problem,) = loaded
    assert str(problem).startswith(f"plugin {next(iter(options.plugins))}: ")
    assert words in problem.message


@pytest.mark.parametrize("answer", [refuses(401), refuses(429), refuses(503), resets, says("<html>")])
async def test_what_may_pass_says_nothing_about_the_code(answer: Answer) -> None:
    with pytest.raises(PluginSourceUnavailableError, match=r"^ConfigMap n/price-cap: cannot be read: "):
        await load(extras_with(), answer, answer)


async def test_code_that_cannot_be_read_yet_is_waited_for_and_that_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    reads = [refuses(503), refuses(503), resets, holds(CODE)]
    async with serving(Script([answer for read in reads for answer in (GRANTED, read)])) as client:
        sources = sources_of(client)
        loaded = await retry_until_available(lambda: sources.load(extras_with()), asyncio.Event(), Backoff(0.01, 0.02))
    assert isinstance(loaded, Mapping)
    assert loaded.keys() == {"PriceCap"}
    began, ended = (line for line in caplog.messages if "waiting for the code of plugins" in line)
    assert (began.partition(": ")[2][:9], ended[:4]) == ("ConfigMap", "over")


async def test_a_process_that_shuts_down_waits_no_longer() -> None:
    stop = asyncio.Event()
    async with serving(Script(otherwise=refuses(503))) as client:
        sources = sources_of(client)
        waiting = asyncio.create_task(retry_until_available(lambda: sources.load(extras_with()), stop))
        await asyncio.sleep(0)
        stop.set()
        assert await waiting is None


async def test_a_process_that_shuts_down_waits_for_no_answer() -> None:
    stop = asyncio.Event()

    async def stops_meanwhile(request: web.Request) -> web.StreamResponse:
        stop.set()
        return await hangs(request)

    async with serving(Script([stops_meanwhile])) as client, asyncio.timeout(20):
        assert await retry_until_available(lambda: sources_of(client).load(extras_with()), stop) is None


async def test_without_a_namespace_it_says_what_to_set() -> None:
    loaded = await load(extras_with(), namespace="")
    assert "set POD_NAMESPACE and POD_NAME, or give --config-map" in str(loaded)


async def test_code_that_is_what_was_declared_is_used() -> None:
    assert check_declarations({"PriceCap": await price_cap()}, extras_with(declares=DECLARES)) is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param({"hooks": ["filter"]}, "hooks: its code has filterRow, which is not declared", id="more-hooks"),
        pytest.param(
            {"hooks": ["filter", "filterRow", "score"]},
            "hooks: score is declared, but its code does not have it",
            id="less-hooks",
        ),
        pytest.param({"rules": []}, "rules: its code has list configmaps node-prices in berth-system", id="rules"),
        pytest.param({"events": []}, "events: its code has Node Add, Node UpdateNodeLabel", id="events"),
        pytest.param({"argsSchema": None}, "argsSchema: its code takes other arguments", id="no-arguments"),
        pytest.param(
            {"argsSchema": {"type": "object", "properties": {"most": {"type": "integer"}}}},
            "argsSchema: its code takes other arguments",
            id="other-arguments",
        ),
    ],
)
async def test_code_that_is_not_what_was_declared_is_refused(change: dict[str, Any], words: str) -> None:
    loaded = check_declarations({"PriceCap": await price_cap()}, extras_with(declares={**DECLARES, **change}))
    assert loaded is not None
    (problem,) = loaded
    assert (problem.path, problem.message.startswith(words)) == ("plugin PriceCap", True)
    assert problem.message.endswith("; berth plugins --declare FILE prints what to declare")


async def test_events_that_differ_are_listed_in_the_fewest_words() -> None:
    code = CODE.replace("Action.ADD | Action.UPDATE_NODE_LABEL", "Action.UPDATE")
    problems = check_declarations(await load(extras_with(code), holds(code)), extras_with(declares=DECLARES))
    assert str(problems).startswith(
        "plugin PriceCap: events: its code has Node Update, which is not declared, "
        "and Node Add is declared, but its code does not have it; berth"
    ), str(problems)


async def test_rules_that_raise_are_a_problem() -> None:
    code = CODE.replace("    Args = Budget\n", "    Args = Budget\n    rules = lambda args: 1 / 0\n")
    problems = check_declarations(await load(extras_with(code), holds(code)), extras_with(declares=DECLARES))
    assert str(problems) == "plugin PriceCap: rules: ZeroDivisionError: division by zero"


async def test_arguments_may_be_called_like_what_people_read() -> None:
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    code = CODE.replace("most: float = 1.0", "title: str = ''")
    loaded = await load(extras_with(code), holds(code))
    assert check_declarations(loaded, extras_with(declares={**DECLARES, "argsSchema": schema})) is None
    other = {**schema, "properties": {"default": {"type": "string"}}}
    assert check_declarations(loaded, extras_with(declares={**DECLARES, "argsSchema": other})) is not None


def test_options_of_a_plugin_are_read_strictly() -> None:
    options = berth_options.load("plugins: {PriceCap: {configMap: {name: a, key: b.py}}}", "berth.yaml")
    assert isinstance(options, Problems)
    assert "plugins.PriceCap.configMap.sha256" in str(options)
