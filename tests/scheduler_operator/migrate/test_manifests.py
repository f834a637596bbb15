"""Manifests that run kube-scheduler: flags, placing, and the configuration they mount."""

import json
from typing import Any

import pytest

from scheduler_operator.migrate.flags import CARRIED, EXPLAINED
from tests.scheduler_operator.migrate.results import (
    document,
    one_profile,
    outcome,
    outcome_of_all,
    profiles,
    refusals,
    remarks,
    spec,
)

EVERY_FLAG = (
    "address algorithm-provider allow-metric-labels allow-metric-labels-manifest authentication-kubeconfig "
    "authentication-skip-lookup authentication-token-webhook-cache-ttl authentication-tolerate-lookup-failure "
    "authorization-always-allow-paths authorization-kubeconfig authorization-webhook-cache-authorized-ttl "
    "authorization-webhook-cache-unauthorized-ttl bind-address cert-dir client-ca-file config contention-profiling "
    "disable-http2-serving disabled-metrics emulated-version experimental-logging-sanitization feature-gates "
    "hard-pod-affinity-symmetric-weight help http2-max-streams-per-connection kube-api-burst kube-api-content-type "
    "kube-api-qps kubeconfig leader-elect leader-elect-lease-duration leader-elect-renew-deadline "
    "leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace leader-elect-retry-period "
    "lock-object-name lock-object-namespace log-flush-frequency log-json-info-buffer-size log-json-split-stream "
    "log-text-info-buffer-size log-text-split-stream logging-format master min-compatibility-version "
    "permit-address-sharing permit-port-sharing pod-max-in-unschedulable-pods-duration policy-config-file "
    "policy-configmap policy-configmap-namespace port profiling requestheader-allowed-names "
    "requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers "
    "requestheader-uid-headers requestheader-username-headers scheduler-name secure-port "
    "show-hidden-metrics-for-version tls-cert-file tls-cipher-suites tls-curve-preferences tls-min-version "
    "tls-private-key-file tls-sni-cert-key use-legacy-policy-config v version vmodule write-config-to"
)
"""What --help of the releases 1.18 to 1.37 lists."""

GATES = {"featureGates": {"AllAlpha": True, "SchedulerAsyncPreemption": False}}
STOCK = "registry.k8s.io/kube-scheduler:v1.36.4"
MOUNTED = {
    "volumes": [{"name": "config", "configMap": {"name": "its-config"}}],
    "containers": [{"volumeMounts": [{"name": "config", "mountPath": "/etc/scheduler"}]}],
}


def pod(*flags: str, **spec: Any) -> dict[str, Any]:
    """A static pod of kube-scheduler with these flags; ``containers`` adds to the fields of its container."""
    container = {"name": "it", "image": STOCK, "command": ["kube-scheduler", *flags]}
    (more,) = spec.pop("containers", [{}])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kube-scheduler"},
        "spec": {**spec, "containers": [{**container, **more}]},
    }


def deployment(*flags: str, **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"tier": "control-plane"}}, "spec": pod(*flags, **spec)["spec"]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 3, "template": template}}


def config_map(text: str, name: str = "its-config", key: str = "config.yaml") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {key: text}}


@pytest.mark.parametrize("name", EVERY_FLAG.split())
def test_every_flag_there_ever_was_is_carried_over_or_explained(name: str) -> None:
    assert (name in CARRIED) != (name in EXPLAINED)


@pytest.mark.parametrize("name", sorted(EXPLAINED))
def test_a_flag_that_finds_no_place_is_reported_with_the_reason(name: str) -> None:
    assert EXPLAINED[name] in remarks(pod(f"--{name}=x"))["spec.containers[0].command[1]"]


@pytest.mark.parametrize(
    ("flags", "scheduler"),
    [
        pytest.param(["--v=4"], {"logLevel": 4}, id="verbosity"),
        pytest.param(["-v", "4"], {"logLevel": 4}, id="apart"),
        pytest.param(
            ["--kube-api-qps=20", "--kube-api-burst=30"], {"clientConnection": {"qps": 20, "burst": 30}}, id="rates"
        ),
        pytest.param(["--leader-elect-lease-duration=30s"], {"leaderElection": {"leaseDuration": "30s"}}, id="lease"),
        pytest.param(["--leader_elect=false"], {"replicas": 1}, id="underscores"),
        pytest.param(["--feature-gates=AllAlpha=true,kube:SchedulerAsyncPreemption=false"], GATES, id="gates"),
        pytest.param(["--leader-elect", "--v=2"], None, id="defaults"),
    ],
)
def test_flags_of_the_process_go_to_its_scheduler(flags: list[str], scheduler: dict[str, Any] | None) -> None:
    assert spec(pod(*flags)).get("scheduler") == scheduler


def test_flags_of_the_only_profile_go_to_it() -> None:
    result = profiles(outcome(pod("--scheduler-name=batch", "--hard-pod-affinity-symmetric-weight=7")))["batch"]
    assert result["pluginConfig"] == [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 7}}]


@pytest.mark.parametrize(
    ("gate", "sentence"),
    [
        pytest.param(
            "EvenPodsSpread=true", "EvenPodsSpread is left out: no kube-scheduler since Kubernetes 1.35", id="gone"
        ),
        pytest.param("DynamicResourceAllocation=false", "DynamicResourceAllocation is", id="locked-in-some"),
        pytest.param("VolumeCapacityPriority=true", "is called StorageCapacityScoring", id="renamed"),
    ],
)
def test_a_gate_that_is_not_what_it_was_is_reported(gate: str, sentence: str) -> None:
    assert sentence in remarks(pod(f"--feature-gates={gate}"))["spec.containers[0].command[1]"]


def test_gates_of_which_none_remains_are_no_field() -> None:
    assert "featureGates" not in spec(pod("--feature-gates=VolumeScheduling=false", "--v=4"))["scheduler"]


def test_a_gate_that_is_locked_where_there_is_one_is_omitted_because_others_refuse_it() -> None:
    source = pod("--feature-gates=SchedulerQueueingHints=true,AllAlpha=true")
    assert spec(source)["scheduler"] == {"featureGates": {"AllAlpha": True}}
    assert remarks(source)["spec.containers[0].command[1]"] == (
        "the feature gate SchedulerQueueingHints is left out: on Kubernetes 1.35 and 1.36 it is true in any case, and "
        "kube-scheduler of 1.37 refuses to start with it"
    )


def test_a_gate_that_only_some_versions_take_stays_with_what_to_do_for_the_others() -> None:
    source = pod("--feature-gates=DRAPrioritizedList=false")
    assert spec(source)["scheduler"] == {"featureGates": {"DRAPrioritizedList": False}}
    assert remarks(source)["spec.containers[0].command[1]"] == (
        "the feature gate DRAPrioritizedList is kept, and right on Kubernetes 1.35 and 1.36; on 1.37 a profile with "
        "DRAPrioritizedList=false is refused: delete it from spec.scheduler.featureGates there"
    )


def test_a_provider_becomes_plugins() -> None:
    result = spec(pod("--algorithm-provider=ClusterAutoscalerProvider"))
    assert result["pluginConfig"][0]["args"] == {"scoringStrategy": {"type": "MostAllocated"}}


def test_profiling_that_is_off_becomes_an_override() -> None:
    assert spec(pod("--profiling=false"))["overrides"] == [{"op": "add", "path": "/enableProfiling", "value": False}]


def test_a_flag_that_never_was_is_reported() -> None:
    assert "no kube-scheduler ever had" in remarks(pod("--colour=blue"))["spec.containers[0].command[1]"]


def test_a_command_line_inside_a_shell_is_unwrapped() -> None:
    line = "exec /usr/local/bin/kube-scheduler --v=5 --scheduler-name='batch' 1>>/var/log/it.log 2>&1"
    result = profiles(outcome(pod(containers=[{"command": ["/bin/sh", "-c", line]}])))
    assert result["batch"]["scheduler"] == {"logLevel": 5}


def test_where_its_pods_run_is_carried_over() -> None:
    placing = {
        "nodeSelector": {"node-role.kubernetes.io/control-plane": ""},
        "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
        "affinity": {"podAntiAffinity": {}},
        "priorityClassName": "system-node-critical",
    }
    resources = {"requests": {"cpu": "100m"}}
    result = spec(deployment(**placing, containers=[{"resources": resources}]))
    assert result["scheduler"] == {"replicas": 3, "resources": resources, **placing}


def test_an_image_of_ones_own_stays_with_kube_scheduler() -> None:
    source = pod(containers=[{"image": "example.com/team/my-scheduler:2", "command": ["/kube-scheduler"]}])
    assert spec(source) == {"engine": "KubeScheduler", "scheduler": {"image": "example.com/team/my-scheduler:2"}}
    assert "is not upstream's" in remarks(source)["spec.containers[0].image"]


@pytest.mark.parametrize(
    "image",
    [
        pytest.param("registry.k8s.io/scheduler-plugins/kube-scheduler:v0.31.8", id="scheduler-plugins"),
        pytest.param("quay.io/foo/kube-scheduler:1", id="elsewhere"),
        pytest.param("my.reg:5000/kube-scheduler@sha256:00", id="with-a-port"),
        pytest.param("kube-scheduler-plus:1", id="longer-name"),
    ],
)
def test_an_image_that_is_only_called_as_upstreams_stays(image: str) -> None:
    result = spec(pod(containers=[{"image": image}]))
    assert result == {"engine": "KubeScheduler", "scheduler": {"image": image}}


@pytest.mark.parametrize(
    "image",
    [
        STOCK,
        "k8s.gcr.io/kube-scheduler:v1.20.0",
        "gcr.io/google_containers/kube-scheduler-amd64:v1.9.1",
        "gcr.io/google-containers/hyperkube:v1.9.1",
        "registry.k8s.io/kube-scheduler-arm64@sha256:00",
        "kube-scheduler",
    ],
)
def test_upstreams_image_gives_way_to_berths_scheduler(image: str) -> None:
    source = pod(containers=[{"image": image}])
    assert spec(source) == {}
    assert "set spec.engine: KubeScheduler" in remarks(source)["spec.containers[0].image"]


FOREIGN = one_profile(plugins={"filter": {"enabled": [{"name": "PriceCap"}]}})


@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        pytest.param("quay.io/foo/kube-scheduler:1", "it is taken to have PriceCap", id="ones-own"),
        pytest.param(STOCK, "upstream's, which has no PriceCap: name one that has", id="upstreams"),
    ],
)
def test_an_image_stays_with_the_plugins_it_is_there_for(image: str, sentence: str) -> None:
    result = outcome_of_all(pod("--config=/c.yaml", containers=[{"image": image}]), FOREIGN)
    assert profiles(result)["mine"]["scheduler"] == {"image": image}
    messages = [remark.message for remark in result.remarks]
    assert any(sentence in message for message in messages)
    assert not any("name its image in spec.scheduler.image" in message for message in messages)


def test_berths_own_scheduler_takes_the_place_of_upstreams_image_with_extenders_too() -> None:
    result = outcome_of_all(pod("--config=/c.yaml"), one_profile() | {"extenders": [{"urlPrefix": "http://one"}]})
    messages = {remark.path: remark.message for remark in result.remarks}
    assert messages["[0].spec.containers[0].image"].startswith("is upstream's: Berth's own scheduler")


UNELECTED = one_profile() | {"leaderElection": {"leaderElect": False, "leaseDuration": "40s"}}


@pytest.mark.parametrize(
    ("flags", "scheduler", "path", "sentence"),
    [
        pytest.param(
            ["--leader-elect=true"],
            {"leaderElection": {"leaseDuration": "40s"}},
            "[1].leaderElection.leaderElect",
            "left out, because --leader-elect=true counts instead",
            id="on",
        ),
        pytest.param(
            ["--leader-elect=false"],
            {"replicas": 1, "leaderElection": {"leaseDuration": "40s"}},
            "[0].spec.containers[0].command[2]",
            "--leader-elect=false became scheduler.replicas: 1",
            id="off",
        ),
        pytest.param(
            ["--leader-elect-lease-duration=50s"],
            {"replicas": 1, "leaderElection": {"leaseDuration": "50s"}},
            "[0].spec.containers[0].command[2]",
            "counts instead of leaseDuration: 40s in the configuration",
            id="lease",
        ),
        pytest.param(
            [],
            {"replicas": 1, "leaderElection": {"leaseDuration": "40s"}},
            "[0]",
            "with spec.scheduler.replicas, 1 here",
            id="file-alone",
        ),
    ],
)
def test_a_flag_of_the_leader_election_counts_more_than_the_configuration(
    flags: list[str], scheduler: dict[str, Any], path: str, sentence: str
) -> None:
    """kube-scheduler 1.35 and 1.37 write such a configuration out as it is expected here."""
    result = outcome_of_all(pod("--config=/c.yaml", *flags), UNELECTED)
    assert profiles(result)["mine"]["scheduler"] == scheduler
    assert any(remark.path == path and sentence in remark.message for remark in result.remarks)


def test_a_deployment_without_leader_election_keeps_its_number_of_replicas() -> None:
    assert spec(deployment("--leader-elect=false"))["scheduler"] == {"replicas": 3}
    messages = remarks(deployment("--leader-elect=false"))["spec.template.spec.containers[0].command[1]"]
    assert messages.startswith("--leader-elect=false left out: Berth's schedulers elect a leader always")


def test_what_berth_decides_itself_is_reported_in_one_remark() -> None:
    source = deployment(
        hostNetwork=True, volumes=[{"name": "a"}], securityContext={"runAsUser": 1}, dnsPolicy="Default"
    )
    (remark,) = (item for item in outcome(source, "mine").remarks if item.places)
    below = ["hostNetwork", "volumes", "securityContext", "dnsPolicy", "containers[0].name"]
    assert remark.places == ("spec.template.metadata", *(f"spec.template.spec.{item}" for item in below))
    assert remark.message.startswith(f"{', '.join(remark.places)}: left out, because Berth makes the pods")


@pytest.mark.parametrize("field", ["imagePullSecrets", "initContainers"])
def test_what_somebody_may_miss_has_a_remark_of_its_own(field: str) -> None:
    assert remarks(pod(**{field: [{"some": "thing"}]}))[f"spec.{field}"].startswith("left out: Berth's pods")


def test_a_container_beside_the_scheduler_is_reported_once() -> None:
    source = pod()
    source["spec"]["containers"].append({"name": "beside", "image": "busybox", "args": ["sleep"]})
    assert "run what it needs besides" in remarks(source)["spec.containers[1]"]
    assert not any("containers[1]" in remark.message for remark in outcome(source).remarks)


def test_a_file_that_a_flag_names_is_looked_for_among_the_files() -> None:
    source = pod("--config=/etc/kubernetes/config.yaml", "--kube-api-qps=10", "--leader-elect-retry-period=3s")
    text = json.dumps(one_profile(percentageOfNodesToScore=4))
    result = profiles(outcome(source, **{"config.yaml": text}))
    assert result["mine"] == {"percentageOfNodesToScore": 4, "scheduler": {"leaderElection": {"retryPeriod": "3s"}}}
    assert "ignores it when --config" in remarks(source, **{"config.yaml": text})["spec.containers[0].command[2]"]


def test_an_absent_file_is_requested() -> None:
    assert "give that file as well" in refusals(pod("--config=/a/b.yaml"))["spec.containers[0].command[1]"]
    source = refusals(pod("--config=/etc/scheduler/b.yaml", **MOUNTED))
    assert "give the ConfigMap its-config as well" in source["spec.containers[0].command[1]"]


def test_a_config_map_that_is_mounted_is_read_with_the_manifest() -> None:
    source = deployment("--config=/etc/scheduler/config.yaml", **MOUNTED)
    result = outcome_of_all(config_map(json.dumps(one_profile())), source)
    assert profiles(result) == {"mine": {"scheduler": {"replicas": 3}}}


def test_a_key_is_recognized_under_the_name_of_its_mount() -> None:
    volumes = [{"name": "config", "configMap": {"name": "its-config", "items": [{"key": "k", "path": "config.yaml"}]}}]
    source = deployment("--config=/etc/scheduler/config.yaml", **{**MOUNTED, "volumes": volumes})
    result = outcome_of_all(source, config_map(json.dumps(one_profile()), key="k"))
    assert list(profiles(result)) == ["mine"]


def test_a_document_beside_a_manifest_is_the_one_that_its_flag_names() -> None:
    result = outcome_of_all(pod("--config=/etc/kubernetes/it.yaml", "--v=6"), one_profile())
    assert profiles(result) == {"mine": {"scheduler": {"logLevel": 6}}}


@pytest.mark.parametrize(
    ("flags", "objects"),
    [
        pytest.param(
            ["--policy-config-file=/p"], [{"kind": "Policy", "apiVersion": "v1", "priorities": []}], id="file"
        ),
        pytest.param(
            ["--policy-configmap=old", "--policy-configmap-namespace=kube-system"],
            [config_map('{"kind": "Policy", "apiVersion": "v1", "priorities": []}', "old", "policy.cfg")],
            id="config-map",
        ),
    ],
)
def test_a_policy_that_flags_name_is_read_with_the_manifest(flags: list[str], objects: list[dict[str, Any]]) -> None:
    result = profiles(outcome_of_all(pod(*flags), *objects, name="mine"))["mine"]
    assert result["plugins"]["score"] == {"disabled": [{"name": "*"}]}


def test_what_lies_beside_a_scheduler_is_omitted_with_a_remark() -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "its"}}
    result = outcome_of_all(account, pod("--scheduler-name=batch"))
    assert {remark.path: remark.message for remark in result.remarks}["[0]"].startswith("ServiceAccount: left out")


def test_a_list_of_objects_is_read_as_its_items() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "items": [pod("--scheduler-name=batch")]}
    assert list(profiles(outcome(listed))) == ["batch"]


def test_a_pod_that_schedules_nothing_is_refused() -> None:
    source = pod(containers=[{"image": "nginx", "command": ["nginx"]}])
    assert "none of them runs kube-scheduler" in refusals(source)["spec.containers"]


@pytest.mark.parametrize(
    "flag", ["--v=much", "--feature-gates=A", "--kube-api-qps=fast", "--leader-elect-retry-period=2"]
)
def test_a_flag_with_a_wrong_value_is_refused(flag: str) -> None:
    assert "spec.containers[0].command[1]" in refusals(pod(flag))


def test_names_of_several_schedulers_do_not_clash() -> None:
    result = outcome_of_all(document(), document(parallelism=4), name="mine")
    assert list(profiles(result)) == ["mine", "default-scheduler"]
