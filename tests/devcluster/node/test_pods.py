"""Pods on a process node, with a real control plane: what a kubelet would do, is done."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.devcluster.node.world import Node, World, ask, condition, container, is_ready, is_waiting, pod_path
from tests.support.eventually import eventually

pytestmark = pytest.mark.cluster

Object = dict[str, Any]

POD_IP = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
PROGRAM: Object = {"image": "program", "env": [POD_IP]}
WHEN_IT_SAYS_SO: Object = {"exec": {"command": ["test", "-e", "ready"]}, "periodSeconds": 1}


def probe(name: str, **more: Any) -> Object:
    return {"httpGet": {"path": f"/healthy?{name}", "port": 8080}, "periodSeconds": 1, "failureThreshold": 1, **more}


def test_replicas_of_a_deployment_listen_on_the_same_port_and_become_available(world: World, node: Node) -> None:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", **PROGRAM, "readinessProbe": probe("web")}]},
    }
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    world.create("Deployment", "web", spec=spec)
    world.cluster.kubectl("rollout", "status", "deployment/web", "--timeout=20s")
    pods = world.get("/api/v1/namespaces/default/pods?labelSelector=app%3Dweb")["items"]
    assert len({pod["status"]["podIP"] for pod in pods}) == 3
    assert {ask(pod, "/environment")["HOSTNAME"] for pod in pods} == {pod["metadata"]["name"] for pod in pods}
    world.cluster.kubectl("delete", "deployment", "web", "--cascade=foreground", "--timeout=20s")


def test_a_program_gets_its_files_its_environment_and_nothing_of_ours(world: World, node: Node) -> None:
    world.create("ConfigMap", "files", data={"config.yaml": "level: 2"})
    mount = {"name": "config", "mountPath": "/etc/berth"}
    variables = [POD_IP, {"name": "FILE", "value": "/etc/berth/config.yaml"}, {"name": "ALSO", "value": "$(FILE)"}]
    program = {**PROGRAM, "args": ["--config=$(FILE)"], "env": variables, "volumeMounts": [mount]}
    world.create_pod("files", program, node=node, volumes=[{"name": "config", "configMap": {"name": "files"}}])
    pod = world.until("files", is_answering)
    environment = ask(pod, "/environment")
    assert environment["FILE"] == environment["ALSO"] == f"{environment['DEVCLUSTER_MOUNT_CONFIG']}/config.yaml"
    assert ask(pod, "/arguments")[1] == f"--config={environment['FILE']}"
    assert ask(pod, f"/file?{environment['FILE']}") == "level: 2"
    assert "PYTEST_CURRENT_TEST" in os.environ
    assert "PYTEST_CURRENT_TEST" not in environment

    world.patch("/api/v1/namespaces/default/configmaps/files", {"data": {"config.yaml": "level: 3"}})
    eventually(lambda: ask(pod, f"/file?{environment['FILE']}") == "level: 3", timeout=20, every=0.1)
    world.delete("files")


def is_answering(pod: Object) -> bool:
    try:
        ask(pod, "/")
    except (OSError, KeyError):
        return False
    return True


def test_readiness_follows_the_probe_and_other_conditions_stay(world: World, node: Node) -> None:
    world.create_pod("ready", {**PROGRAM, "readinessProbe": probe("ready")}, node=node)
    pod = world.until("ready", is_ready)
    foreign = {"type": "berth.dev/ConfigLoaded", "status": "True", "message": "4f1c"}
    world.patch(pod_path("ready") + "/status", {"status": {"conditions": [foreign]}})

    ask(pod, "/break?ready")
    pod = world.until("ready", lambda pod: not is_ready(pod))
    assert condition(pod, "Ready")["reason"] == "ContainersNotReady"
    assert container(pod)["restartCount"] == 0
    assert condition(pod, "berth.dev/ConfigLoaded")["message"] == "4f1c"

    ask(pod, "/mend?ready")
    pod = world.until("ready", is_ready)
    assert condition(pod, "berth.dev/ConfigLoaded")["status"] == "True"
    assert ("Warning", "Unhealthy", "Readiness probe failed: GET") in [
        (kind, reason, message[:27]) for kind, reason, message in world.events("ready")
    ]
    world.delete("ready")


def test_a_status_that_somebody_else_overwrote_is_put_right(world: World, node: Node) -> None:
    world.create_pod("meddled", PROGRAM, node=node)
    world.until("meddled", is_ready)
    world.patch(
        pod_path("meddled") + "/status",
        {"status": {"conditions": [{"type": "Ready", "status": "False"}], "podIP": "192.0.2.9"}},
    )
    pod = world.until("meddled", is_ready)
    assert pod["status"]["podIP"].startswith("127.")
    world.delete("meddled")


def test_a_readiness_gate_is_honoured(world: World, node: Node) -> None:
    world.create_pod("gated", PROGRAM, node=node, readinessGates=[{"conditionType": "example.com/open"}])
    pod = world.until("gated", lambda pod: condition(pod, "ContainersReady")["status"] == "True")
    assert condition(pod, "Ready")["reason"] == "ReadinessGatesNotReady"
    world.patch(
        pod_path("gated") + "/status", {"status": {"conditions": [{"type": "example.com/open", "status": "True"}]}}
    )
    world.until("gated", is_ready)
    world.delete("gated")


def test_a_container_that_fails_its_liveness_probe_is_restarted(world: World, node: Node) -> None:
    world.create_pod("alive", {**PROGRAM, "livenessProbe": probe("alive", initialDelaySeconds=1)}, node=node)
    pod = world.until("alive", is_answering)
    ask(pod, "/break?alive")
    pod = world.until("alive", lambda pod: container(pod)["restartCount"] == 1 and is_ready(pod))
    ended = container(pod)["lastState"]["terminated"]
    assert (ended["exitCode"], ended["signal"]) == (143, 15)
    assert any(message == "Container c0 failed its liveness probe" for _, _, message in world.events("alive"))
    world.delete("alive")


def test_a_startup_probe_holds_the_others_back(world: World, node: Node) -> None:
    program = {
        **PROGRAM,
        "env": [POD_IP, {"name": "FLAG", "value": "/flags/started"}],
        "startupProbe": {"exec": {"command": ["test", "-e", "$(FLAG)"]}, "periodSeconds": 1},
        "readinessProbe": probe("startup"),
        "volumeMounts": [{"name": "flags", "mountPath": "/flags"}],
    }
    world.create_pod("startup", program, node=node, volumes=[{"name": "flags", "emptyDir": {}}])
    pod = world.until("startup", is_answering)
    assert (container(pod)["started"], container(pod)["ready"]) == (False, False)
    Path(ask(pod, "/environment")["FLAG"]).touch()
    pod = world.until("startup", is_ready)
    assert container(pod)["started"]
    world.delete("startup")


def test_the_credential_is_the_pods_own_service_account_and_is_renewed(world: World, node: Node) -> None:
    world.create("ServiceAccount", "keeper")
    world.create_pod("keeper", PROGRAM, node=node, serviceAccountName="keeper")
    pod = world.until("keeper", is_answering)
    user = ask(pod, "/user")
    assert user["username"] == "system:serviceaccount:default:keeper"
    assert user["extra"]["authentication.kubernetes.io/pod-uid"] == [pod["metadata"]["uid"]]
    credential = "authentication.kubernetes.io/credential-id"
    renewed = eventually(lambda: changed(ask(pod, "/user"), user), timeout=15)
    assert renewed["extra"][credential] != user["extra"][credential]
    assert renewed["username"] == user["username"]
    world.delete("keeper")


def changed(new: Object, old: Object) -> Object | None:
    return new if new != old else None


def test_a_pod_that_wants_no_credential_gets_none(world: World, node: Node) -> None:
    world.create_pod("anonymous", PROGRAM, node=node, automountServiceAccountToken=False)
    pod = world.until("anonymous", is_answering)
    assert "KUBECONFIG" not in ask(pod, "/environment")
    world.delete("anonymous")


@pytest.mark.parametrize(
    ("policy", "script", "phase", "code"),
    [
        ("Never", "exit 0", "Succeeded", 0),
        ("Never", "echo cannot go on; exit 3", "Failed", 3),
        (
            "OnFailure",
            "test -e /data/x || { touch /data/x; exit 1; }",
            "Succeeded",
            0,
        ),
    ],
)
def test_a_pod_ends_as_its_restart_policy_says(
    policy: str, script: str, phase: str, code: int, world: World, node: Node
) -> None:
    name = f"ends-{policy.lower()}-{code}"
    program = {
        "args": [script],
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    world.create_pod(name, program, node=node, restartPolicy=policy, volumes=[{"name": "data", "emptyDir": {}}])
    pod = world.until(name, lambda pod: pod["status"]["phase"] == phase)
    ended = container(pod)["state"]["terminated"]
    assert ended["exitCode"] == code
    assert ended.get("message", "") == ("cannot go on\n" if code else "")
    assert container(pod)["restartCount"] == (policy == "OnFailure")
    world.delete(name)


def test_a_pod_is_ended_by_its_deadline(world: World, node: Node) -> None:
    world.create_pod("late", {"args": ["sleep 60"]}, node=node, restartPolicy="Never", activeDeadlineSeconds=1)
    pod = world.until("late", lambda pod: pod["status"]["phase"] == "Failed")
    assert pod["status"]["reason"] == "DeadlineExceeded"
    world.delete("late")


def test_a_crashing_container_is_restarted_later_and_later(world: World, node: Node) -> None:
    world.create_pod("crashing", {"args": ["exit 2"]}, node=node)
    pod = world.until(
        "crashing", lambda pod: is_waiting(pod, "CrashLoopBackOff") and container(pod)["restartCount"] > 1
    )
    assert container(pod)["lastState"]["terminated"]["exitCode"] == 2
    assert pod["status"]["phase"] == "Running"
    logs = node.directory / "logs" / f"default_crashing_{pod['metadata']['uid']}" / "c0"
    assert {"0.log", "1.log", "current"} <= {path.name for path in logs.iterdir()}
    world.delete("crashing")


def test_a_program_that_is_not_there_is_named(world: World, node: Node) -> None:
    world.create_pod("missing", {"command": ["no-such-program"]}, node=node, restartPolicy="Never")
    pod = world.until("missing", lambda pod: pod["status"]["phase"] == "Failed")
    ended = container(pod)["state"]["terminated"]
    assert (ended["reason"], ended["exitCode"]) == ("StartError", 128)
    assert "no-such-program: no such executable" in ended["message"]
    world.delete("missing")


def test_init_containers_run_one_after_the_other_before_the_rest(world: World, node: Node) -> None:
    mount = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    steps = [
        {"name": name, "image": "shell", "args": [f"sleep 0.3; echo {name} >> /data/steps"], **mount}
        for name in ("first", "second")
    ]
    program = {"args": ["cp /data/steps /data/result"], **mount}
    volumes = [{"name": "data", "emptyDir": {}}]
    world.create_pod("steps", program, node=node, initContainers=steps, restartPolicy="Never", volumes=volumes)
    pod = world.until("steps", lambda pod: pod["status"]["phase"] == "Succeeded")
    result = node.directory / "pods" / pod["metadata"]["uid"] / "volumes" / "data" / "result"
    assert result.read_text() == "first\nsecond\n"
    assert condition(pod, "Initialized")["status"] == "True"
    assert len(pod["status"]["initContainerStatuses"]) == 2
    world.delete("steps")


def test_a_pod_waits_for_its_objects(world: World, node: Node) -> None:
    volumes = [{"name": "config", "configMap": {"name": "later"}}]
    variable = {"name": "WORD", "valueFrom": {"secretKeyRef": {"name": "word", "key": "it"}}}
    program = {"args": ['test "$WORD" = sesame'], "env": [variable]}
    world.create_pod("waiting", program, node=node, restartPolicy="Never", volumes=volumes)
    eventually(lambda: ("Warning", "FailedMount", 'ConfigMap "later" does not exist') in world.events("waiting"), 10)
    world.create("ConfigMap", "later", data={"a": "1"})
    pod = world.until("waiting", lambda pod: is_waiting(pod, "CreateContainerConfigError"))
    assert container(pod)["state"]["waiting"]["message"] == 'Secret "word" does not exist'
    world.create("Secret", "word", stringData={"it": "sesame"})
    world.until("waiting", lambda pod: pod["status"]["phase"] == "Succeeded")
    world.delete("waiting")


@pytest.mark.parametrize(
    ("name", "program", "spec", "reason", "sentence"),
    [
        ("pulled", {"image": "nginx:1"}, {}, "ErrImageNeverPull", "nginx:1 stands for no local command"),
        (
            "hostpath",
            {},
            {"volumes": [{"name": "host", "hostPath": {"path": "/"}}]},
            "CreateContainerConfigError",
            "the process node has no hostPath volumes",
        ),
        (
            "privileged",
            {"securityContext": {"privileged": True}},
            {},
            "CreateContainerConfigError",
            "the process node runs nothing privileged",
        ),
    ],
)
def test_what_it_cannot_do_is_refused_with_an_event(
    name: str, program: Object, spec: Object, reason: str, sentence: str, world: World, node: Node
) -> None:
    world.create_pod(name, program, node=node, **spec)
    pod = world.until(name, lambda pod: is_waiting(pod, reason))
    assert pod["status"]["phase"] == "Pending"
    eventually(lambda: [kind for kind, why, text in world.events(name) if why == reason and sentence in text], 20)
    world.delete(name)
    world.wait_until_removed(name)


def test_a_refused_pod_runs_once_its_image_is_a_mapped_one(world: World, node: Node) -> None:
    world.create_pod("corrected", {"image": "shel", "args": ["sleep 600"]}, node=node)
    world.until("corrected", lambda pod: is_waiting(pod, "ErrImageNeverPull"))
    world.patch(pod_path("corrected"), {"spec": {"containers": [{"name": "c0", "image": "shell"}]}})
    world.until("corrected", is_ready)
    world.delete("corrected", gracePeriodSeconds=0)


def test_a_deleted_pod_may_put_its_things_in_order(world: World, node: Node) -> None:
    tidy_up = "echo asked >> /data/steps; sleep 0.5; echo done >> /data/steps; exit 0"
    script = f"trap '{tidy_up}' TERM; touch ready; while :; do sleep 0.1; done"
    program = {
        "args": [script],
        "readinessProbe": WHEN_IT_SAYS_SO,
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "echo hook >> /data/steps"]}}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    volumes = [{"name": "data", "emptyDir": {}}]
    world.create_pod("tidy", program, node=node, volumes=volumes)
    pod = world.until("tidy", is_ready)
    world.patch(pod_path("tidy"), {"metadata": {"finalizers": ["example.com/look"]}})
    steps = node.directory / "pods" / pod["metadata"]["uid"] / "volumes" / "data" / "steps"
    world.delete("tidy")
    pod = world.until("tidy", lambda pod: pod["status"]["phase"] == "Succeeded")
    assert steps.read_text() == "hook\nasked\ndone\n"
    assert container(pod)["state"]["terminated"]["exitCode"] == 0
    world.patch(pod_path("tidy"), {"metadata": {"finalizers": None}})
    world.wait_until_removed("tidy")


def test_a_deleted_pod_that_does_not_end_is_killed_after_its_grace_period(world: World, node: Node) -> None:
    program = {"args": ["trap '' TERM; touch ready; sleep 60 & sleep 60"], "readinessProbe": WHEN_IT_SAYS_SO}
    world.create_pod("stubborn", program, node=node, terminationGracePeriodSeconds=2)
    pod = world.until("stubborn", is_ready)
    began = time.monotonic()
    world.delete("stubborn")
    world.wait_until_removed("stubborn")
    assert 1.5 < time.monotonic() - began < 30
    directory = node.directory / "pods" / pod["metadata"]["uid"]
    eventually(lambda: not directory.exists(), timeout=20)


def test_a_pod_deleted_by_force_is_killed_at_once(world: World, node: Node) -> None:
    world.create_pod("forced", {"args": ["trap '' TERM; sleep 60 & sleep 60"]}, node=node)
    pod = world.until("forced", is_ready)
    pid = int(container(pod)["containerID"].removeprefix("process://"))
    assert pid in node.processes()
    world.delete("forced", gracePeriodSeconds=0)
    eventually(lambda: pid not in node.processes(), timeout=10)


def test_a_pause_is_one_small_process(world: World, node: Node) -> None:
    world.create_pod("pause", {"image": "devcluster/pause"}, node=node, terminationGracePeriodSeconds=60)
    pod = world.until("pause", is_ready)
    pid = container(pod)["containerID"].removeprefix("process://")
    eventually(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n", timeout=20)
    began = time.monotonic()
    world.delete("pause")
    world.wait_until_removed("pause")
    assert time.monotonic() - began < 30
