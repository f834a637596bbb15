"""Attacks by the author of profiles and PluginConfigs, on the operator and on the process that a profile joins.

Each is a coroutine that goes on until it is cancelled. What an author writes that the API server refuses is in
``refused_writes``.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

from bench.hostile_tenants.attacker import Object, Outcomes, Target, attacker
from bench.hostile_tenants.tenant_attacks import PODS, pod

PROFILES = "/apis/berth.dev/v1alpha1/schedulerprofiles"
PLUGIN_CONFIGS = "/apis/berth.dev/v1alpha1/pluginconfigs"
DECLARED_PLUGIN = "Declared"
"""The plugin that an honest PluginConfig has declared, for an honest profile."""
CREDENTIAL = "sekret-of-the-extender"
"""A password in a profile: it may stand there, and nowhere else."""
LARGE_PLUGIN_CONFIGS = 60
"""Of a megabyte each."""
MOST_ENTRIES = 2000
"""Of one list: the chart's policy refuses more."""
ARGS = "/profiles/0/pluginConfig/0/args"
STANDING_PODS = 50
"""Pods of a profile with a hostile extender that wait at the same time."""


def profile(name: str, **spec: Any) -> Object:
    return {"apiVersion": "berth.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": {"name": name}, "spec": spec}


def plugin_config(name: str, **spec: Any) -> Object:
    return {"apiVersion": "berth.dev/v1alpha1", "kind": "PluginConfig", "metadata": {"name": name}, "spec": spec}


def expensive_profiles() -> Iterator[Object]:
    """Profiles that are small to write and expensive to judge, or as large as they may be.

    None of them starts a scheduler: how many processes an author may start is up to a ResourceQuota.
    """
    base = {"op": "add", "path": "/profiles/0/pluginConfig", "value": [{"name": "NodeAffinity", "args": {"a": 1}}]}
    copies = [{"op": "copy", "from": ARGS, "path": f"{ARGS}/b{number}"} for number in range(26)]
    yield profile("copies", engine="ConfigMap", overrides=[base, *copies])
    values = list(range(MOST_ENTRIES))
    wide = [{"op": "add", "path": f"{ARGS}/w{number}", "value": values} for number in range(16)]
    small = [{"op": "add", "path": f"{ARGS}/s{number}", "value": number} for number in range(MOST_ENTRIES - 100)]
    yield profile("overridden", engine="ConfigMap", overrides=[base, *wide, *small])
    requirements = [{"key": f"k{number}", "operator": "In", "values": ["a", "b", "c"]} for number in range(100)]
    terms = [{"matchExpressions": requirements} for _ in range(50)]
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    args = [{"name": "NodeAffinity", "args": {"addedAffinity": affinity}}]
    yield profile("huge", engine="ConfigMap", pluginConfig=args)
    yield profile("odd", engine="ConfigMap", plugins={"filter": {"enabled": [{"name": "a\0b"}]}})


def expensive_plugin_configs() -> Iterator[Object]:
    """PluginConfigs whose schemas take long: to say what is wrong, to compare entries, to match patterns."""
    enum = {"type": "string", "enum": [f"value-{number}" for number in range(1000)]}
    schema = {"type": "object", "additionalProperties": enum}
    yield _declaring("messages", schema, {f"a{number}": "wrong" for number in range(1900)})
    unique = {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}
    schema = {"type": "object", "additionalProperties": unique}
    yield _declaring("unique", schema, {f"a{number}": list(range(MOST_ENTRIES)) for number in range(10)})
    for number in range(4):
        patterns = [f"^({number}|[a-z0-9]{{1,90}}[0-9a-f]?){{1,40}}X{index}$" for index in range(20)]
        properties = {
            f"p{index}": {"type": "array", "items": {"type": "string", "pattern": pattern}}
            for index, pattern in enumerate(patterns)
        }
        texts = {f"p{index}": [f"{'ab1' * 1000}{text}" for text in range(12)] for index in range(20)}
        yield _declaring(f"matching-{number}", {"type": "object", "properties": properties}, texts)


def _declaring(name: str, schema: Mapping[str, Any], args: Mapping[str, Any]) -> Object:
    declares = {"hooks": ["filter"], "argsSchema": schema}
    return plugin_config(name, plugin=name.title().replace("-", ""), declares=declares, args=args)


async def bombs(target: Target, outcomes: Outcomes) -> None:
    """Expensive profiles and PluginConfigs that change again and again, beside many large ones."""
    async with attacker("bombs for the operator", target.server("author"), outcomes) as author:
        for number in range(LARGE_PLUGIN_CONFIGS):
            large = plugin_config(f"large-{number}", plugin="NodeResourcesFit", args={"a": "x" * 1_000_000})
            await author.post(PLUGIN_CONFIGS, large)
        for body in expensive_profiles():
            await author.post(PROFILES, body)
        for body in expensive_plugin_configs():
            await author.post(PLUGIN_CONFIGS, body)
        for turn in itertools.count():
            # A changed spec: what is known of the one before does not help.
            for body in expensive_profiles():
                change: Object = {"spec": {"percentageOfNodesToScore": turn % 100}}
                await author.patch(f"{PROFILES}/{body['metadata']['name']}", change)
            for body in expensive_plugin_configs():
                change = {"spec": {"args": {"turn": [f"{turn}"]}}}
                await author.patch(f"{PLUGIN_CONFIGS}/{body['metadata']['name']}", change)
            widened = {"spec": {"args": {"b": turn}}}
            await author.patch(f"{PLUGIN_CONFIGS}/large-{turn % LARGE_PLUGIN_CONFIGS}", widened)
            await asyncio.sleep(5)


async def spoiler(target: Target, outcomes: Outcomes) -> None:
    """A PluginConfig that declares a plugin which others use already, differently each time."""
    async with attacker("spoiler of a declaration", target.server("author"), outcomes) as author:
        declares = {"hooks": ["bind"], "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["list"]}]}
        await author.post(PLUGIN_CONFIGS, plugin_config("a-spoiler", plugin=DECLARED_PLUGIN, declares=declares))
        for hook in itertools.cycle(("bind", "permit", "reserve")):
            await author.patch(f"{PLUGIN_CONFIGS}/a-spoiler", {"spec": {"declares": {"hooks": [hook]}}})
            await asyncio.sleep(5)


# Extenders of profiles that join the honest one's process.


async def endless_extender(target: Target, outcomes: Outcomes) -> None:
    """An extender that never ends its answers, or gives enormous ones, and whose address has a password in it."""
    answer = functools.partial(endless_answers, target.nodes[0])
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        extender = {
            "urlPrefix": f"http://user:{CREDENTIAL}@127.0.0.1:{port}",
            "filterVerb": "filter",
            "httpTimeout": "5s",
        }
        await _keep_pods("endless", extender, target, outcomes)


async def silent_extender(target: Target, outcomes: Outcomes) -> None:
    """An extender that takes each question and never answers, of a profile beside the honest one."""
    async with await asyncio.start_server(silence, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        extender = {"urlPrefix": f"http://127.0.0.1:{port}", "filterVerb": "filter", "httpTimeout": "30s"}
        await _keep_pods("silent", extender, target, outcomes)


async def _keep_pods(name: str, extender: Object, target: Target, outcomes: Outcomes) -> None:
    """Have a profile with the extender join, and a tenant's pods wait for it."""
    async with (
        attacker(f"{name} extender", target.server("author"), outcomes) as author,
        attacker(f"pods of the {name} extender", target.server("tenant"), outcomes) as tenant,
    ):
        await author.post(PROFILES, profile(name, joins=target.profile, extenders=[extender]))
        for number in itertools.count():
            await tenant.post(PODS, pod(f"{name}-{number}", name, containers=[{"name": "c", "image": "x"}]))
            await asyncio.sleep(1)
            if number >= STANDING_PODS:
                await tenant.delete(f"{PODS}/{name}-{number - STANDING_PODS}")


async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read what an extender's client asks, and say nothing."""
    with contextlib.suppress(OSError, asyncio.CancelledError):
        while await reader.read(65536):
            pass
    writer.close()


async def endless_answers(node: str, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer an extender's client without end, with a body, a head or interim answers; or with a reason of 3 MB."""
    kind = random.choice(("body", "head", "interim", "reason"))
    reason = json.dumps({"FailedNodes": {node: "x" * 3_000_000}}).encode()
    beginnings = {
        "body": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        "head": b"HTTP/1.1 200 OK\r\n",
        "interim": b"",
        "reason": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(reason), reason),
    }
    more = {
        "body": b"10000\r\n" + b" " * 65536 + b"\r\n",
        "head": b"X-A: " + b"a" * 1000 + b"\r\n",
        "interim": b"HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n",
    }
    with contextlib.suppress(OSError, asyncio.CancelledError):  # cancelled when the attacks end
        writer.write(beginnings[kind])
        while kind in more and not writer.is_closing():
            writer.write(more[kind])
            await writer.drain()
        await writer.drain()
    writer.close()
