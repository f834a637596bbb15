"""PluginConfigs: the profiles that use them and what they declare, on a real API server."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.integration.operator.running import Installed, plugin_config, profile
from tests.support.eventually import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("operator")]


def users(installed: Installed, plugin_config: str) -> Any:
    item = installed.get("pluginconfig", plugin_config) or {}
    return item.get("status", {}).get("usedBy", [])


def test_a_plugin_config_reaches_its_users_and_knows_them(installed: Installed) -> None:
    installed.apply(profile("referring", pluginConfig=[{"name": "NodeResourcesFit", "ref": "shared"}]))
    eventually(lambda: installed.is_stalled_for("referring", "PluginConfigMissing"), 30)

    installed.apply(plugin_config("shared", "NodeResourcesFit", scoringStrategy={"type": "MostAllocated"}))

    eventually(lambda: installed.is_ready("referring"), 30)
    args = installed.document("referring")["profiles"][0]["pluginConfig"][0]["args"]
    assert args == {"scoringStrategy": {"type": "MostAllocated"}}
    eventually(lambda: users(installed, "shared") == ["referring"], 30)

    installed.apply(plugin_config("shared", "NodeResourcesFit", scoringStrategy={"type": "Most"}))
    stalled = eventually(lambda: installed.is_stalled_for("referring", "Invalid"), 30)
    assert "PluginConfig shared: spec.args.scoringStrategy.type" in stalled["message"]
    assert installed.condition("shared", "Stalled", "pluginconfig")["reason"] == "Invalid"

    installed.delete("schedulerprofile", "referring")
    eventually(lambda: users(installed, "shared") == [], 30)
    installed.delete("pluginconfig", "shared")


DECLARING: dict[str, Any] = {
    "apiVersion": "berth.dev/v1alpha1",
    "kind": "PluginConfig",
    "metadata": {"name": "declaring"},
    "spec": {
        "plugin": "PriceCap",
        "declares": {
            "hooks": ["filter"],
            "rules": [{"apiGroups": ["example.com"], "resources": ["prices"], "verbs": ["get", "list", "watch"]}],
        },
    },
}


ENABLED = {"filter": {"enabled": [{"name": "PriceCap"}]}}


def test_a_right_that_a_plugin_config_declares_is_granted_when_an_administrator_allows_it(installed: Installed) -> None:
    image = "registry.example.com/kube-scheduler:v1"
    installed.apply(DECLARING, profile("declared", engine="KubeScheduler", scheduler={"image": image}, plugins=ENABLED))

    stalled = eventually(lambda: installed.is_stalled_for("declared", "PermissionMissing"), 30)

    assert 'APIGroups:["example.com"], Resources:["prices"], Verbs:["get", "list", "watch"]' in stalled["message"]
    assert users(installed, "declaring") == ["declared"]
    metadata: dict[str, Any] = {"name": "prices", "labels": {"berth.dev/aggregate-to-operator": "true"}}
    allowance = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": metadata,
        "rules": DECLARING["spec"]["declares"]["rules"],
    }
    installed.apply(allowance)
    eventually(lambda: "(ClusterRole prices has them, " in installed.condition("declared", "Stalled")["message"], 60)
    metadata["annotations"] = {"berth.dev/for-plugin": "PriceCap", "berth.dev/for-image": image}
    installed.apply(allowance)
    eventually(lambda: installed.is_ready("declared"), 60)
    assert allowance["rules"][0] in installed.generated("declared")["ClusterRole"]["rules"]

    installed.patch(
        "schedulerprofile", "declared", {"spec": {"scheduler": {"image": "registry.example.com/another:v1"}}}
    )
    stalled = eventually(lambda: installed.is_stalled_for("declared", "PermissionMissing"), 30)
    assert "berth.dev/for-image: registry.example.com/another:v1 (ClusterRole prices has them" in stalled["message"]
    (container,) = installed.generated("declared")["Deployment"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == image

    # Processes of the image of before may end late: what the other image is granted they never have.
    before = installed.generated("declared")["ServiceAccount"]["metadata"]["name"]
    metadata["annotations"]["berth.dev/for-image"] = "registry.example.com/another:v1"
    installed.apply(allowance)
    eventually(lambda: installed.is_ready("declared"), 60)
    generated = installed.generated("declared")
    names = {
        generated[kind]["metadata"]["name"] for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role")
    }
    assert names == {generated["Deployment"]["spec"]["template"]["spec"]["serviceAccountName"]}
    assert before not in names
    assert installed.get("serviceaccount", before) is None
    installed.delete("schedulerprofile", "declared")
    installed.cluster.kubectl("delete", "clusterrole", "prices")


def test_a_newer_declaration_spoils_nothing_and_counts_when_the_older_one_is_gone(installed: Installed) -> None:
    older = {**DECLARING, "metadata": {"name": "older"}, "spec": {"plugin": "Own", "declares": {"hooks": ["filter"]}}}
    image = "registry.example.com/kube-scheduler:v1"
    plugins = {"filter": {"enabled": [{"name": "Own"}]}}
    installed.apply(older, profile("using", engine="KubeScheduler", scheduler={"image": image}, plugins=plugins))
    eventually(lambda: installed.is_ready("using"), 60)
    created = installed.get("pluginconfig", "older")
    assert created is not None
    eventually(lambda: datetime.now(UTC).isoformat() > created["metadata"]["creationTimestamp"].replace("Z", ".999"), 5)

    installed.apply(
        {**older, "metadata": {"name": "a-newer"}, "spec": {"plugin": "Own", "declares": {"hooks": ["bind"]}}}
    )

    stalled = eventually(lambda: installed.condition("a-newer", "Stalled", "pluginconfig"), 30)
    assert "PluginConfig older declares Own differently, and counts, because it is older" in stalled["message"]
    installed.patch("schedulerprofile", "using", {"spec": {"percentageOfNodesToScore": 50}})
    eventually(lambda: installed.is_ready("using"), 60)
    installed.delete("pluginconfig", "older")
    eventually(lambda: installed.condition("a-newer", "Ready", "pluginconfig").get("status") == "True", 30)
    eventually(lambda: installed.is_stalled_for("using", "Invalid"), 30)
    installed.delete("schedulerprofile", "using")
    installed.delete("pluginconfig", "a-newer")


def test_code_in_a_config_map_is_not_run_unless_the_chart_allows_it(installed: Installed) -> None:
    source = {"configMap": {"name": "price-cap", "key": "price_cap.py", "sha256": "0" * 64}}
    spec = {**DECLARING["spec"], "declares": {"hooks": ["filter"]}, "source": source}
    installed.apply({**DECLARING, "spec": spec}, profile("loading", plugins=ENABLED))
    stalled = eventually(lambda: installed.is_stalled_for("loading", "NotLoaded"), 30)
    assert "the code in ConfigMap price-cap is not run" in stalled["message"]
    assert "pluginSources.enabled=true" in stalled["message"]
    installed.delete("schedulerprofile", "loading")
    installed.delete("pluginconfig", "declaring")
