"""Objects that nest deeper than an API server, or Python, can read: refused, or told and gone around."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from devcluster import Cluster, Spec
from scheduler_runtime.catalog.bounds import describe_excess
from tests.integration.operator.running import (
    Installed,
    RunningOperator,
    apply_crds_before_controllers,
    installation,
    plugin_config,
    profile,
)
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster
POLICY = ("validatingadmissionpolicybinding", "berth-nesting")
KINDS = {"PluginConfig": "pluginconfigs", "SchedulerProfile": "schedulerprofiles"}


def nested(levels: int) -> str:
    return '{"a":' * levels + "{}" + "}" * levels


def post(installed: Installed, kind: str, name: str, spec: str, metadata: str = "", query: str = "") -> str:
    """Create an object whose spec is given as text, and return what the API server says against it."""
    body = (
        f'{{"apiVersion":"berth.dev/v1alpha1","kind":"{kind}","metadata":{{"name":"{name}"{metadata}}},"spec":{spec}}}'
    )
    path = f"/apis/berth.dev/v1alpha1/{KINDS[kind]}{query}"
    return installed.cluster.kubectl("create", "--raw", path, "-f", "-", input=body, check=False).stderr


DEEP = {
    "args": ("PluginConfig", '{"plugin":"NodeName","args":%s}'),
    "argsSchema": ("PluginConfig", '{"plugin":"Own","declares":{"hooks":["filter"],"argsSchema":%s}}'),
    "profile's args": ("SchedulerProfile", '{"pluginConfig":[{"name":"NodeName","args":%s}]}'),
    "override": ("SchedulerProfile", '{"overrides":[{"op":"add","path":"/profiles/0/x","value":%s}]}'),
    "affinity": ("SchedulerProfile", '{"scheduler":{"affinity":%s}}'),
}


def deep(place: str, levels: int) -> str:
    """The text of a spec."""
    return DEEP[place][1] % nested(levels)


def is_enforced(installed: Installed) -> bool:
    """Whether the policy is in force: an API server needs a moment for that."""
    return "levels of nesting" in post(installed, "PluginConfig", "try", deep("args", 150), query="?dryRun=All")


@pytest.fixture
def enforced(installed: Installed) -> None:
    eventually(lambda: is_enforced(installed), 30)


@pytest.mark.usefixtures("enforced")
@pytest.mark.parametrize("place", DEEP)
def test_deep_nesting_is_refused_before_it_is_stored(installed: Installed, place: str) -> None:
    kind = DEEP[place][0]
    for levels in (107, 300, 9500):
        assert "more than 100 levels of nesting" in post(installed, kind, "deep", deep(place, levels)), levels
    # So deep that one kind of field is refused as no object at all, and others were stored for ever.
    assert post(installed, kind, "deep", deep(place, 9996))
    assert installed.get(kind.lower(), "deep") is None
    assert post(installed, kind, "deep", deep(place, 30)) == ""
    installed.delete(kind.lower(), "deep")


@pytest.mark.usefixtures("enforced")
@pytest.mark.parametrize("place", DEEP)
def test_a_spec_within_the_bounds_is_not_too_deep_with_its_managed_fields(installed: Installed, place: str) -> None:
    levels = max(levels for levels in range(101) if not describe_excess(json.loads(deep(place, levels)), "spec"))
    kind = DEEP[place][0]
    assert post(installed, kind, "deep", deep(place, levels)) == ""
    installed.delete(kind.lower(), "deep")


@pytest.mark.usefixtures("enforced")
def test_deep_or_wide_objects_are_refused_wherever_they_are_so(installed: Installed) -> None:
    entry = '"manager":"m","operation":"Update","apiVersion":"berth.dev/v1alpha1","fieldsType":"FieldsV1"'
    deep_fields = nested(300).replace("a", "f:a")  # what is no field of an object is dropped
    fields = f',"managedFields":[{{{entry},"fieldsV1":{deep_fields}}}]'
    assert "levels of nesting" in post(installed, "PluginConfig", "deep", '{"plugin":"NodeName"}', fields)
    wide = json.dumps({"plugin": "NodeName", "args": {"a": list(range(2001))}})
    assert "more than 2000 entries in one list" in post(installed, "PluginConfig", "wide", wide)
    installed.apply(plugin_config("grows", "NodeName"))
    change = f'{{"spec":{{"args":{nested(200)}}}}}'
    patched = installed.cluster.kubectl("patch", "pluginconfig", "grows", "--type=merge", "-p", change, check=False)
    assert "levels of nesting" in patched.stderr
    installed.delete("pluginconfig", "grows")


@pytest.fixture
def without_policy(installed: Installed) -> Iterator[None]:
    """An API server without the policy, as before an upgrade of the chart."""
    binding = json.loads(installed.cluster.kubectl("get", *POLICY, "-o", "json").stdout)
    installed.cluster.kubectl("delete", *POLICY)
    eventually(lambda: not is_enforced(installed), 30)
    yield
    installed.apply({**binding, "metadata": {"name": POLICY[1]}})
    eventually(lambda: is_enforced(installed), 30)


@pytest.mark.usefixtures("operator", "enforced", "without_policy")
def test_what_only_python_cannot_read_is_told_and_others_are_reconciled(installed: Installed) -> None:
    for levels in (300, 1500, 9000):
        spec = deep("profile's args", levels)
        assert post(installed, "SchedulerProfile", f"deep-{levels}", spec) == ""
    assert post(installed, "PluginConfig", "deep", deep("args", 1500)) == ""
    installed.apply(profile("beside"))
    eventually(lambda: installed.is_ready("beside"), 60)
    for levels in (300, 1500, 9000):
        name = f"deep-{levels}"
        stalled = eventually(partial(reason, installed, "schedulerprofile", name), 60)
        assert "is nested more than 100 deep; write less of spec.pluginConfig[0].args" in stalled
        installed.delete("schedulerprofile", name)
    assert "is nested more than 100 deep" in eventually(lambda: reason(installed, "pluginconfig", "deep"), 60)
    installed.delete("pluginconfig", "deep")
    installed.delete("schedulerprofile", "beside")


def reason(installed: Installed, kind: str, name: str) -> str:
    """Why an object is stalled, asked for without the object itself: nobody here could read it."""
    path = "{.status.conditions[?(@.type=='Stalled')].message}"
    return installed.cluster.kubectl("get", kind, name, "-o", f"jsonpath={path}").stdout


def is_stored_unreadable(installed: Installed, name: str, spec: str) -> bool:
    return "exceeded max depth" in post(installed, "PluginConfig", name, spec)


@pytest.fixture
def poisoned(cluster_factory: Callable[[Spec], Cluster], tmp_path: Path) -> Iterator[tuple[Installed, RunningOperator]]:
    """A cluster of its own, with two objects that only etcd can get rid of, and an operator that starts afterwards."""
    cluster = cluster_factory(Spec(fake_nodes=1, node="none"))
    apply_crds_before_controllers(cluster)
    with installation(cluster, tmp_path) as installed:
        cluster.kubectl("delete", *POLICY)
        installed.apply(plugin_config("a-shared", "NodeResourcesFit", scoringStrategy={"type": "MostAllocated"}))
        for neighbour in ("b", "m-p.1", "m-p.3"):
            installed.apply(plugin_config(neighbour, "NodeResourcesFit"))
        spec = deep("args", 9996)
        for name in ("b0", "m-p.2"):
            eventually(partial(is_stored_unreadable, installed, name, spec), 30)
        process = installed.operator("poisoned")
        try:
            yield installed, process.until_leading()
        finally:
            process.end()


def test_what_no_api_server_can_read_is_named_and_all_else_is_reconciled(
    poisoned: tuple[Installed, RunningOperator],
) -> None:
    installed, operator = poisoned
    listed = installed.cluster.kubectl("get", "pluginconfigs", check=False)
    assert "exceeded max depth" in listed.stderr  # for an administrator, too
    reference: Any = {"name": "NodeResourcesFit"}

    installed.apply(profile("plain"), profile("shares", pluginConfig=[{**reference, "ref": "a-shared"}]))
    installed.apply(profile("between", pluginConfig=[{**reference, "ref": "m-p.1"}]))
    installed.apply(profile("late", pluginConfig=[{**reference, "ref": "z-late"}]))

    eventually(lambda: installed.is_ready("plain") and installed.is_ready("shares"), 60, explain=lambda: operator.log)
    assert installed.document("shares")["profiles"][0]["pluginConfig"][0]["args"]["scoringStrategy"]
    eventually(lambda: installed.is_stalled_for("late", "PluginConfigMissing"), 60, explain=lambda: operator.log)
    # No watch tells of it, and no list at once.
    installed.apply(plugin_config("z-late", "NodeResourcesFit"))
    eventually(lambda: installed.is_ready("late"), 60, explain=lambda: operator.log)
    assert installed.is_ready("between")
    sentence = "the API server cannot read PluginConfig b0, m-p.2"
    assert operator.log.count(sentence) == 1
    assert sentence in operator.answers("/readyz")[1]
    assert operator.answers("/readyz")[0] == 200
