"""Profiles and PluginConfigs made to take an operator's time and memory, beside an honest profile."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any

import pytest

from tests.integration.operator.running import Installed, Object, RunningOperator, plugin_config, profile
from tests.scheduler_operator.builders import matching_long_texts
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster
ARGS = "/profiles/0/pluginConfig/0/args"
MEGABYTE = "x" * 1_000_000


def create(installed: Installed, *objects: Object) -> None:
    """Create objects that would be twice as large with the annotation or managed fields of an apply."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    installed.cluster.kubectl("create", "-f", "-", input=text)


def declaring(name: str, schema: dict[str, Any], args: dict[str, Any]) -> Object:
    """A PluginConfig for a plugin of its own name."""
    spec = {"plugin": name, "declares": {"hooks": ["filter"], "argsSchema": schema}, "args": args}
    return {**plugin_config(name, name), "spec": spec}


BOMB = profile(
    "bomb",
    overrides=[
        {"op": "add", "path": "/profiles/0/pluginConfig", "value": [{"name": "NodeAffinity", "args": {"a": 1}}]},
        *({"op": "copy", "from": ARGS, "path": f"{ARGS}/b{number}"} for number in range(26)),
    ],
)
ENUM = {"type": "string", "enum": [f"value-{number}" for number in range(1000)]}
MESSAGES = declaring(
    "messages",
    {"type": "object", "additionalProperties": ENUM},
    {f"a{number}": "wrong" for number in range(1900)},
)
UNIQUE = declaring(
    "unique",
    {"type": "object", "additionalProperties": {"type": "array", "uniqueItems": True, "items": {"type": "integer"}}},
    {f"a{number}": list(range(2000)) for number in range(10)},
)


def test_an_honest_profile_is_answered_beside_hostile_ones(installed: Installed, operator: RunningOperator) -> None:
    before = operator.peak_memory
    large = [plugin_config(f"large-{number}", "NodeName", text=MEGABYTE) for number in range(60)]
    # A few at a time: all of them are 60 MB.
    for hostile in (large[:20], large[20:40], large[40:], [BOMB, MESSAGES, UNIQUE]):
        create(installed, *hostile)
    installed.apply(profile("honest"))

    eventually(lambda: installed.is_ready("honest"), 30, explain=lambda: operator.log)

    refused = eventually(lambda: installed.is_stalled_for("bomb", "Invalid"), 60)
    sentence = "spec.overrides[15]: makes a document that has more than 50,000 values; a document has no more"
    assert sentence in refused["message"]
    wrong = eventually(lambda: installed.condition("messages", "Stalled", "pluginconfig"), 60)
    assert wrong["message"].startswith("101 problems:\n      - spec.args.a0: 'wrong' is not one of value-0, value-1, ")
    assert len(wrong["message"]) <= 4096
    eventually(lambda: installed.condition("unique", "Ready", "pluginconfig").get("status") == "True", 60)
    eventually(lambda: installed.condition("large-19", "Ready", "pluginconfig"), 60)
    # They are held as they were sent: 20 MB, and some for what is under way.
    assert operator.peak_memory - before < 150 * 2**20
    assert operator.metric("berth_unrenderable_total") == 0
    for name in ("bomb", "honest"):
        installed.delete("schedulerprofile", name)
    names = ["messages", "unique", *(f"large-{number}" for number in range(60))]
    installed.cluster.kubectl("delete", "pluginconfig", "--wait=false", *names)


def test_an_honest_profile_is_answered_while_expensive_plugin_configs_change_all_the_time(
    installed: Installed, operator: RunningOperator
) -> None:
    names, ended = [f"matching-{number}" for number in range(16)], Event()
    hostile = [declaring(name, *matching_long_texts(number)) for number, name in enumerate(names)]
    # A few at a time: all of them are 12 MB.
    for index in range(0, len(hostile), 4):
        create(installed, *hostile[index : index + 4])

    def change_them() -> int:
        changes = 0
        while not ended.wait(0.4):
            texts = [f"{changes}{'ab1' * 1000}"] * 12
            installed.patch("pluginconfig", names[changes % len(names)], {"spec": {"args": {"p0": texts}}})
            changes += 1
        return changes

    def be_answered(name: str) -> None:
        installed.apply(profile(name, engine="ConfigMap"))
        eventually(lambda: installed.is_ready(name), 15, explain=lambda: operator.log)

    with ThreadPoolExecutor(1) as pool:
        changing = pool.submit(change_them)
        began = time.monotonic()
        try:
            be_answered("beside-1")
            be_answered("beside-2")
            eventually(lambda: time.monotonic() - began > 6, 10)
            be_answered("beside-3")
        finally:
            ended.set()
        assert changing.result() > 3
    # Their author is answered, too.
    refused = eventually(lambda: installed.condition(names[0], "Stalled", "pluginconfig"), 60)
    assert "makes the patterns larger than 50,000 items" in refused["message"]
    for number in (1, 2, 3):
        installed.delete("schedulerprofile", f"beside-{number}")
    for name in names:
        installed.delete("pluginconfig", name)


def test_an_impossible_name_of_a_plugin_is_told_to_its_author(installed: Installed, operator: RunningOperator) -> None:
    name = "A\0B"
    config = {**declaring("impossible", {"type": "object"}, {"a\0": 1}), "kind": "PluginConfig"}
    config["spec"] = {**config["spec"], "plugin": name}
    enabling = profile(
        "impossible",
        plugins={"filter": {"enabled": [{"name": name}]}},
        pluginConfig=[{"name": name, "ref": "impossible"}],
    )
    create(installed, config, enabling)
    for kind in ("pluginconfig", "schedulerprofile"):
        stalled = eventually(partial(installed.condition, "impossible", "Stalled", kind), 30)
        assert "A" in stalled["message"] or "is not a field" in stalled["message"]
        installed.delete(kind, "impossible")
    eventually(lambda: operator.is_idle, 30)
    assert "Traceback" not in operator.log
