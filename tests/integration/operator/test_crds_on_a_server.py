"""The CRDs on a real API server: accepted and refused objects, with the messages."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

import devcluster
from devcluster import Cluster, Spec
from scheduler_operator.cluster.api import ApiConnection, RequestError
from scheduler_operator.cluster.credentials import Credentials
from scheduler_operator.resources import kinds
from tests.integration.operator.running import NAMESPACE, Object, apply_crds, plugin_config, profile
from tests.support.manifests import documented_manifests

pytestmark = pytest.mark.cluster

EVERYTHING = profile(
    "everything",
    engine="KubeScheduler",
    paused=False,
    replacesDefaultScheduler=False,
    percentageOfNodesToScore=50,
    plugins={
        point: {"enabled": [{"name": "Some", "weight": 1}], "disabled": [{"name": "*"}]}
        for point in (
            *("preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve"),
            *("permit", "preBind", "bind", "postBind", "multiPoint"),
            *("placementGenerate", "placementScore", "podGroupPostFilter"),
        )
    },
    pluginConfig=[{"name": "A", "args": {"any": {"thing": [1, None]}}}, {"name": "B", "ref": "b"}],
    nodes={"matchLabels": {"pool": "batch"}, "matchExpressions": [{"key": "gpu", "operator": "In", "values": ["yes"]}]},
    extenders=[
        {
            "urlPrefix": "https://extender.example:8888/scheduler",
            **{verb: verb for verb in ("filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb")},
            "weight": 2,
            "enableHTTPS": True,
            "tlsConfig": {
                "insecure": False,
                "serverName": "extender.example",
                "certFile": "/tls/cert",
                "keyFile": "/tls/key",
                "caFile": "/tls/ca",
                "certData": "YQ==",
                "keyData": "YQ==",
                "caData": "YQ==",
            },
            "httpTimeout": "5s",
            "nodeCacheCapable": True,
            "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
            "ignorable": True,
        }
    ],
    overrides=[
        {"op": "add", "path": "/enableProfiling", "value": False},
        {"op": "replace", "path": "/profiles/0/plugins/score/enabled", "value": [{"name": "A"}]},
        {"op": "test", "path": "/a~1b", "value": None},
        {"op": "remove", "path": "/a"},
        {"op": "move", "from": "/a", "path": "/b"},
        {"op": "copy", "from": "/a", "path": "/b"},
    ],
    scheduler={
        "replicas": 3,
        "image": "mine:1",
        "kubernetesVersion": "v1.36.4",
        "leaderElection": {"leaseDuration": "1m30s", "renewDeadline": "10s", "retryPeriod": "2s"},
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 10,
        "parallelism": 16,
        "clientConnection": {"qps": -1, "burst": 0},
        "featureGates": {"SchedulerAsyncAPICalls": True},
        "events": "Failures",
        "logLevel": 4,
        "resources": {"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"cpu": "1500m"}},
        "nodeSelector": {"pool": "infra"},
        "tolerations": [{"key": "infra", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}],
        "priorityClassName": "important",
        "podLabels": {"team": "a"},
        "podAnnotations": {"note": "b"},
    },
)

DECLARES = {
    "hooks": ["preFilter", "filter", "score", "normalizeScore"],
    "argsSchema": {"type": "object", "properties": {"maxHourlyPrice": {"type": "number", "exclusiveMinimum": True}}},
    "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["node-prices"], "verbs": ["get"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"], "namespace": NAMESPACE},
    ],
    "events": [{"resource": "Node", "actions": ["Add", "UpdateNodeLabel"]}],
}
SOURCE = {"configMap": {"name": "price-cap", "key": "price_cap.py", "sha256": "0123456789abcdef" * 4}}


def declaring(**more: Any) -> Object:
    """A PluginConfig whose spec has these fields too."""
    manifest = plugin_config("prices", "PriceCap", maxHourlyPrice=2.5)
    return {**manifest, "spec": {**manifest["spec"], **more}}


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(version, marks=pytest.mark.cluster(kubernetes=version)) for version in ("1.35", "1.36", "1.37")
    ],
)
def server(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """An API server that has the CRDs."""
    spec = Spec(kubernetes=request.param, node="none", scheduler=False, controller_manager=False)
    with devcluster.running(spec) as cluster:
        apply_crds(cluster)
        yield cluster


def attempt(server: Cluster, manifest: Object) -> str:
    """What the server says to ``written``; empty when it would take it."""
    kind = kinds.PROFILE if manifest["kind"] == kinds.PROFILE.name else kinds.PLUGIN_CONFIG
    query = {"dryRun": "All", "fieldValidation": "Strict"}

    async def create() -> str:
        api = ApiConnection(Credentials(str(server.kubeconfig)), "test")
        try:
            await api.request("POST", kind.collection(NAMESPACE), manifest, query=query)
        except RequestError as error:
            return error.message
        finally:
            await api.finish()
        return ""

    return asyncio.run(create())


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(EVERYTHING, id="every-field"),
        pytest.param(profile("empty"), id="no-field"),
        pytest.param(profile("a" * 52), id="longest-name"),
        pytest.param(
            profile("default-scheduler", replacesDefaultScheduler=True), id="the-default-scheduler-on-purpose"
        ),
        pytest.param(profile("given", pluginConfig=[{"name": "A", "args": {}}]), id="empty-args-are-given"),
        pytest.param(profile("nulls", plugins=None, nodes=None), id="nulls-are-absent"),
        pytest.param(profile("joiner", joins="other"), id="joins"),
        pytest.param(profile("joiner", joins="other", engine="KubeScheduler", nodes={}), id="joins-with-more"),
        pytest.param(profile("x", extenders=[{"urlPrefix": "http://a", "bindVerb": "bind"}]), id="one-extender-binds"),
        pytest.param(
            profile("x", extenders=[{"urlPrefix": "https://a", "tlsConfig": {"serverName": "b"}}]),
            id="tls-without-enable-https",
        ),
        pytest.param(plugin_config("packed", "NodeResourcesFit", anything=1), id="plugin-config"),
        pytest.param(declaring(declares=DECLARES, source=SOURCE), id="plugin-config-with-everything"),
        pytest.param(declaring(declares={"hooks": ["filter"]}), id="plugin-config-with-one-hook"),
    ],
)
def test_is_accepted(server: Cluster, manifest: Object) -> None:
    assert attempt(server, manifest) == ""


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        pytest.param(profile("a" * 53), "metadata.name: Too long: may not be more than 52 bytes", id="long-name"),
        pytest.param(profile("with.dot"), "metadata.name in body should match", id="dot-in-name"),
        pytest.param(profile("default-scheduler"), "set spec.replacesDefaultScheduler: true", id="reserved-name"),
        pytest.param(profile("operator"), "berth needs the names", id="the-operators-own-name"),
        pytest.param(profile("x", engine="Rust"), 'supported values: "Python", "KubeScheduler"', id="engine"),
        pytest.param(profile("x", plugin={}), 'unknown field "spec.plugin"', id="unknown-field"),
        pytest.param(profile("x", percentageOfNodesToScore=101), "less than or equal to 100", id="percentage"),
        pytest.param(profile("x", pluginConfig=[{"name": "A"}]), "give exactly one of args and ref", id="no-args"),
        pytest.param(
            profile("x", pluginConfig=[{"name": "A", "args": {}, "ref": "a"}]), "give exactly one of args", id="both"
        ),
        pytest.param(
            profile("x", pluginConfig=[{"name": "A", "ref": "a"}, {"name": "A", "ref": "b"}]), "Duplicate", id="twice"
        ),
        pytest.param(
            profile("x", plugins={"score": {"enabled": [{"name": "A"}, {"name": "A"}]}}),
            "Duplicate",
            id="enabled-twice",
        ),
        pytest.param(
            profile("x", nodes={"matchExpressions": [{"key": "a", "operator": "In"}]}),
            "In and NotIn need values",
            id="in-without-values",
        ),
        pytest.param(profile("x", scheduler={"replicas": 33}), "less than or equal to 32", id="replicas"),
        pytest.param(profile("x", scheduler={"kubernetesVersion": "latest"}), "kubernetesVersion", id="version"),
        pytest.param(
            profile("x", scheduler={"leaderElection": {"leaseDuration": "5s"}}),
            "leaseDuration (default 15s) must be longer than renewDeadline (default 10s)",
            id="lease-duration",
        ),
        pytest.param(
            profile("x", scheduler={"leaderElection": {"retryPeriod": "9s"}}),
            "renewDeadline (default 10s) must be longer than 1.2 times retryPeriod",
            id="retry-period",
        ),
        pytest.param(
            profile("x", scheduler={"leaderElection": {"retryPeriod": "0s"}}), "at least 100ms", id="no-retry-period"
        ),
        pytest.param(
            profile("x", scheduler={"leaderElection": {"leaseDuration": "876000h"}}),
            "leaseDuration must be from 1s to 24h",
            id="lease-of-a-century",
        ),
        pytest.param(
            profile(
                "x",
                scheduler={
                    "leaderElection": {"leaseDuration": "999ms", "renewDeadline": "900ms", "retryPeriod": "100ms"}
                },
            ),
            "leaseDuration must be from 1s to 24h",
            id="lease-of-less-than-a-second",
        ),
        pytest.param(
            profile(
                "x",
                extenders=[
                    {"urlPrefix": "http://a", "filterVerb": "f", "httpTimeout": "2h"},
                ],
            ),
            "httpTimeout must be at most 1h",
            id="extender-without-end",
        ),
        pytest.param(
            profile("x", scheduler={"leaderElection": {"retryPeriod": "1 day"}}), "retryPeriod", id="not-a-go-duration"
        ),
        pytest.param(
            profile("x", scheduler={"podInitialBackoffSeconds": 20}),
            "podMaxBackoffSeconds (default 10) must not be less than podInitialBackoffSeconds",
            id="backoff",
        ),
        pytest.param(
            profile("x", scheduler={"podLabels": {"berth.dev/profile": "other"}}), "berth sets", id="reserved-label"
        ),
        pytest.param(
            profile("x", scheduler={"podAnnotations": {"berth.dev/config-hash": "other"}}),
            "berth sets",
            id="reserved-note",
        ),
        pytest.param(profile("x", scheduler={"resources": {"limits": {"cpu": "much"}}}), "limits.cpu", id="quantity"),
        pytest.param(
            profile("x", joins="other", scheduler={"replicas": 1}),
            "spec.scheduler: Invalid value: a profile that joins another runs in its process: leave out scheduler",
            id="joins-and-scheduler",
        ),
        pytest.param(
            profile("x", joins="other", overrides=[{"op": "remove", "path": "/a"}]),
            "spec.overrides: Invalid value: overrides change the document of a process",
            id="joins-and-overrides",
        ),
        pytest.param(profile("x", joins="x"), "spec.joins: Invalid value: a profile cannot join itself", id="itself"),
        pytest.param(profile("x", joins="Other"), "spec.joins", id="joins-what-is-no-name"),
        pytest.param(
            profile("x", extenders=[{"urlPrefix": "http://a", "prioritizeVerb": "score"}]),
            "an extender with a prioritizeVerb needs a weight of at least 1",
            id="extender-without-weight",
        ),
        pytest.param(
            profile("x", extenders=[{"urlPrefix": "http://a", "bindVerb": "b"}, {"urlPrefix": "c", "bindVerb": "d"}]),
            "spec.extenders: Invalid value: only one extender may have a bindVerb",
            id="two-extenders-bind",
        ),
        pytest.param(
            profile("x", overrides=[{"op": "move", "path": "/a"}]), "move and copy need from", id="move-from-nowhere"
        ),
        pytest.param(
            profile("x", overrides=[{"op": "remove", "path": "/a", "from": "/b"}]),
            "move and copy need from; the other operations take none",
            id="remove-from-somewhere",
        ),
        pytest.param(profile("x", overrides=[{"op": "remove", "path": "a"}]), "overrides[0].path", id="not-a-pointer"),
        pytest.param(
            profile("x", scheduler={"events": "Some"}), 'supported values: "All", "Failures", "None"', id="events"
        ),
        pytest.param(profile("x", scheduler={"featureGates": {"A": "on"}}), "featureGates.A", id="gate-not-a-switch"),
        pytest.param(
            declaring(source=SOURCE),
            "spec.declares: Invalid value: a plugin with a source needs declares",
            id="source-without-declares",
        ),
        pytest.param(declaring(declares={"hooks": []}), "spec.declares.hooks", id="no-hook"),
        pytest.param(declaring(declares={"hooks": ["filters"]}), 'Unsupported value: "filters"', id="odd-hook"),
        pytest.param(
            declaring(
                declares={"hooks": ["bind"], "rules": [{"apiGroups": ["*"], "resources": ["a"], "verbs": ["b"]}]}
            ),
            "write out apiGroups, resources and verbs",
            id="wildcard-rule",
        ),
        pytest.param(
            declaring(declares={"hooks": ["bind"], "events": [{"resource": "Node", "actions": ["Added"]}]}),
            'Unsupported value: "Added"',
            id="odd-event",
        ),
        pytest.param(
            declaring(
                declares={"hooks": ["bind"]}, source={"configMap": {"name": "a", "key": "a.py", "sha256": "latest"}}
            ),
            "spec.source.configMap.sha256",
            id="source-without-its-hash",
        ),
        pytest.param({**profile("x"), "spec": None}, "spec: Required value", id="no-spec"),
        pytest.param(plugin_config("x", ""), "spec.plugin", id="plugin-config-without-plugin"),
    ],
)
def test_is_refused(server: Cluster, manifest: Object, words: str) -> None:
    assert words in attempt(server, manifest)


def test_fields_are_explained(server: Cluster) -> None:
    text = server.kubectl("explain", "schedulerprofile.spec.scheduler.replicas").stdout
    assert "Number of processes" in text


def test_kinds_have_short_names_and_a_category(server: Cluster) -> None:
    resources: Any = server.kubectl("api-resources", "--categories=berth", "-o", "wide").stdout
    assert " sp " in resources
    assert " plc " in resources


def test_every_documented_manifest_is_accepted(server: Cluster) -> None:
    refused = {
        f"{place} {manifest['metadata']['name']}": attempt(server, manifest)
        for place, all_ in documented_manifests().items()
        for manifest in all_
    }
    assert {where: words for where, words in refused.items() if words} == {}


def test_the_columns_show_what_the_status_says(server: Cluster) -> None:
    server.kubectl(
        "apply", "--server-side", "-f", "-", input=yaml.safe_dump(profile("columns", engine="KubeScheduler"))
    )
    condition = {"type": "Ready", "status": "True", "reason": "Scheduling", "message": "all is well"}
    status = {
        "conditions": [{**condition, "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "warningCount": 3,
        "leader": "berth-columns-0",
        "plugins": "+PriceCap",
        "configHash": "4f1c",
    }
    patch = yaml.safe_dump({"status": status})
    server.kubectl("patch", "sp", "columns", "--subresource=status", "--type=merge", f"--patch={patch}")
    heading, line = server.kubectl("get", "sp", "-o", "wide").stdout.splitlines()
    assert heading.split() == [
        "NAME",
        "ENGINE",
        "READY",
        "REASON",
        "WARNINGS",
        "LEADER",
        "AGE",
        "PLUGINS",
        "MESSAGE",
    ]
    words = line.split()
    assert words[:6] == ["columns", "KubeScheduler", "True", "Scheduling", "3", "berth-columns-0"]
    assert words[7:] == ["+PriceCap", "all", "is", "well"]


def test_those_who_join_a_profile_can_be_listed(server: Cluster) -> None:
    for name, spec in {"joined": {}, "guest": {"joins": "joined"}, "other": {"joins": "another"}}.items():
        server.kubectl("apply", "--server-side", "-f", "-", input=yaml.safe_dump(profile(name, **spec)))
    names = server.kubectl("get", "sp", "--field-selector=spec.joins=joined", "-o", "name").stdout.split()
    assert names == ["schedulerprofile.berth.dev/guest"]
