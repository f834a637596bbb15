"""Monitors, alerts and dashboards of the chart."""

import json
from typing import Any

import pytest
import yaml

from scheduler_operator.desired import workload
from scheduler_operator.resources.names import APP, APP_LABEL, PROFILE_LABEL
from tests.helm.test_chart import CHART, METRICS_READER, helm, operator, template

pytestmark = pytest.mark.cluster  # of which they need one binary: helm is built as those of a control plane are

OPTIONS = ("serviceMonitors", "podMonitors", "rules", "dashboards")
TOKEN = "monitoring.tokenSecret.name=collector"
OPERATOR, SCHEDULERS = "berth-operator", "berth-schedulers"


def enabled(*options: str) -> dict[tuple[str, str], Any]:
    return template(*(f"monitoring.{option}.enabled=true" for option in options), TOKEN)


def test_nothing_of_it_is_there_by_default_but_a_role() -> None:
    default = template()
    kinds = {kind for kind, _ in default}
    assert kinds.isdisjoint({"ServiceMonitor", "PodMonitor", "PrometheusRule"})
    assert not [name for kind, name in default if kind == "ConfigMap"]
    assert default["ClusterRole", METRICS_READER]["rules"] == [
        {"nonResourceURLs": ["/metrics", "/metrics/resources", "/metrics/slis"], "verbs": ["get"]}
    ]
    assert ("ClusterRoleBinding", METRICS_READER) not in default


def test_readers_are_bound_to_the_role() -> None:
    reader = ("monitoring.readers[0].name=prometheus-k8s", "monitoring.readers[0].namespace=monitoring")
    binding = template(*reader)["ClusterRoleBinding", METRICS_READER]
    assert binding["roleRef"]["name"] == METRICS_READER
    account = {"kind": "ServiceAccount", "name": "prometheus-k8s", "namespace": "monitoring"}
    assert binding["subjects"] == [account]


@pytest.mark.parametrize("kind", ["ServiceMonitor", "PodMonitor"])
def test_monitors_find_what_is_there(kind: str) -> None:
    objects = enabled(f"{kind[0].lower()}{kind[1:]}s")
    service = objects["Service", OPERATOR]
    labels = {OPERATOR: service["metadata"]["labels"], SCHEDULERS: {APP_LABEL: APP, PROFILE_LABEL: "packing"}}
    ports = {OPERATOR: operator(objects)["containers"][0]["ports"][0]["name"], SCHEDULERS: workload.PORT_NAME}
    for name in (OPERATOR, SCHEDULERS):
        spec = objects[kind, name]["spec"]
        assert spec["selector"]["matchLabels"].items() <= labels[name].items()
        (endpoint,) = spec["endpoints"] if kind == "ServiceMonitor" else spec["podMetricsEndpoints"]
        assert (endpoint["port"], endpoint["scheme"], endpoint["path"]) == (ports[name], "https", "/metrics")
        assert endpoint["authorization"] == {"credentials": {"name": "collector", "key": "token"}}
    assert not labels[SCHEDULERS].items() >= objects[kind, OPERATOR]["spec"]["selector"]["matchLabels"].items()


def test_service_monitors_use_prometheus_own_token_unless_a_secret_is_named() -> None:
    objects = template("monitoring.serviceMonitors.enabled=true")
    for name in (OPERATOR, SCHEDULERS):
        (endpoint,) = objects["ServiceMonitor", name]["spec"]["endpoints"]
        assert endpoint["bearerTokenFile"] == "/var/run/secrets/kubernetes.io/serviceaccount/token"
        assert "authorization" not in endpoint


def test_pod_monitors_name_jobs_as_service_monitors_do_and_need_a_token() -> None:
    objects = enabled("podMonitors")
    (rule,) = objects["PodMonitor", SCHEDULERS]["spec"]["podMetricsEndpoints"][0]["relabelings"]
    assert rule["sourceLabels"] == ["__meta_kubernetes_pod_label_berth_dev_profile"]
    assert rule["replacement"].replace("$1", "packing") == "berth-packing"  # the Service of the profile
    answer = helm("template", "berth", str(CHART), "--set", "monitoring.podMonitors.enabled=true")
    assert answer.returncode != 0
    assert "monitoring.podMonitors needs monitoring.tokenSecret.name" in answer.stderr


def test_rules_and_dashboards_are_those_of_the_files_and_carry_labels() -> None:
    label = "monitoring.labels.release=prometheus"
    objects = template(*(f"monitoring.{option}.enabled=true" for option in OPTIONS), TOKEN, label)
    rule = objects["PrometheusRule", "berth"]
    assert rule["spec"] == yaml.safe_load((CHART / "monitoring/rules.yaml").read_text())
    for kind, name in (("PrometheusRule", "berth"), ("ServiceMonitor", OPERATOR), ("PodMonitor", SCHEDULERS)):
        assert objects[kind, name]["metadata"]["labels"]["release"] == "prometheus"
    for name in ("operator", "schedulers"):
        config_map = objects["ConfigMap", f"dashboard-berth-{name}"]
        assert config_map["metadata"]["labels"]["grafana_dashboard"] == "1"
        (text,) = config_map["data"].values()
        assert json.loads(text) == json.loads((CHART / f"monitoring/{name}.json").read_text())


@pytest.mark.parametrize(
    "value",
    ["monitoring.readers[0].name=a", "monitoring.interval=often", "monitoring.rules=true", "monitoring.dashboard=x"],
)
def test_a_value_that_does_not_fit_is_refused(value: str) -> None:
    answer = helm("template", "berth", str(CHART), "--set", value)
    assert answer.returncode != 0
    assert "values don't meet the specifications of the schema" in answer.stderr
