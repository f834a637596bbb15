"""A profile that changes while its schedulers run: they and the operator are pods of a process node."""

import contextlib
import hashlib
import json
import shlex
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import devcluster
from devcluster import Cluster, Spec
from devcluster.model.api import AdminApi, RefusedError
from examples.demo.installation import NAMESPACE
from tests.scheduler_runtime.scheduling.extenders.test_http_calls import client_pair, secured
from tests.support.extenders import Raw
from tests.support.sourced_plugin import CODE, own_plugin
from tests.support.stories import object_name
from tests.support.world import UNHURRIED, Object, World, on_process_nodes

pytestmark = pytest.mark.cluster

BIN = Path(sys.executable).parent
SECONDS, AT_MOST = 2.0, 10.0
"""How long a change takes until it decides, by the middle of a few; and any of them, however busy the machine is."""
CHANGES = 3

# A process of this machine has the volumes of its pod elsewhere, and the document names the path that the pod has.
MOUNTING = """#!/bin/sh
exec unshare --map-root-user --mount sh -ec '
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work /etc
mkdir /etc/berth-extenders
mount --rbind "$DEVCLUSTER_MOUNT_EXTENDERS" /etc/berth-extenders
exec "$@"' - {program} "$@"
"""
CAN_MOUNT = subprocess.run(["unshare", "--map-root-user", "--mount", "true"], check=False, capture_output=True)


@pytest.fixture(scope="module")
def mounting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of an image in which the volume with certificates is where its pod has it."""
    program = tmp_path_factory.mktemp("image") / "berth-scheduler"
    program.write_text(MOUNTING.format(program=shlex.quote(str(BIN / "berth-scheduler"))))
    program.chmod(0o755)
    return program


@pytest.fixture(scope="module")
def cluster(mounting: Path) -> Iterator[Cluster]:
    images = {"berth:test": [str(BIN / "python")], "berth:mounting": [str(mounting)]}
    with devcluster.running(Spec(fake_nodes=10, images=images)) as running:
        yield running


@pytest.fixture(scope="module")
def world(cluster: Cluster) -> Iterator[World]:
    values = ("pluginSources.enabled=true", "profiles.allowed.images={berth:mounting}")
    with on_process_nodes(cluster, "berth:test", *values) as installation:
        yield installation


def profile(world: World, name: str, **spec: Any) -> Object:
    return world.profile(name, scheduler=UNHURRIED, **spec)


def processes(world: World, profile: str) -> dict[str, int]:
    """The pods of a profile's scheduler, and how often each was started again."""
    pods = world.kubectl.items("pods", f"--namespace={NAMESPACE}", f"--selector=berth.dev/profile={profile}")
    return {pod["metadata"]["name"]: pod["status"]["containerStatuses"][0]["restartCount"] for pod in pods}


def members(world: World, profile: str) -> list[Object]:
    status = world.get("schedulerprofile", profile) or {}
    listed: list[Object] = status.get("status", {}).get("members", [])
    return listed


def follow(world: World, profile: str) -> bool:
    """Whether both schedulers go by what the operator rendered last, and it has said so."""
    expected = (world.get("schedulerprofile", profile) or {}).get("status", {}).get("configHash")
    hashes = [member.get("configHash") for member in members(world, profile)]
    return world.is_ready(profile) and hashes == [expected] * 2


def running(world: World, name: str) -> dict[str, int]:
    """A profile whose schedulers are at work; they."""
    world.apply(profile(world, name))
    world.eventually(lambda: world.holder(f"berth-{name}"), 60)
    world.eventually(lambda: follow(world, name), 60)
    return processes(world, name)


def waiting(world: World, name: str, scheduler: str) -> None:
    """Pods that no node suits, which their scheduler has said and remembers."""
    deployment = world.deployment(name, scheduler, 3, {"cpu": "10m"})
    deployment["spec"]["template"]["spec"]["nodeSelector"] = {"nobody": "has-this"}
    world.apply(deployment)

    def parked() -> bool:
        conditions = [c for pod in world.pods(name) for c in pod["status"].get("conditions", [])]
        return len([c for c in conditions if (c["type"], c["status"]) == ("PodScheduled", "False")]) == 3

    world.eventually(parked, 30)


WITHOUT_AFFINITY = {"multiPoint": {"disabled": [{"name": "NodeAffinity"}]}}


def seconds_until_it_decides(world: World, name: str) -> float:
    """Have pods wait because of the node affinity; how long from applying a profile without it to their nodes."""
    waiting(world, "held", name)
    time.sleep(1.5)  # what is measured is the change, not how long a rejected pod backs off
    began = time.monotonic()
    world.apply(profile(world, name, plugins=WITHOUT_AFFINITY))
    world.eventually(lambda: world.bound("held"), 30)
    seconds = time.monotonic() - began
    world.eventually(lambda: follow(world, name), 20)
    world.kubectl("delete", "deployment", "held", "--namespace=default")
    world.eventually(lambda: not world.pods("held"), 20)
    return seconds


@pytest.mark.alone
def test_a_changed_profile_decides_soon_and_no_process_is_replaced(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    before, took = running(world, "hot"), list[float]()
    for _ in range(CHANGES):
        took.append(seconds_until_it_decides(world, "hot"))
        world.apply(profile(world, "hot"))
        world.eventually(lambda: follow(world, "hot"), 20)

    with capsys.disabled():
        text = ", ".join(f"{seconds:.2f}" for seconds in took)
        sys.stdout.write(f"from apply to the first decision by the new profile: {text} s\n")
    assert statistics.median(took) < SECONDS
    assert max(took) < AT_MOST
    assert processes(world, "hot") == before
    assert [member["leader"] for member in members(world, "hot")].count(True) == 1


def test_what_the_schedulers_cannot_load_is_reported_and_the_last_good_one_comes_back(world: World) -> None:
    before = running(world, "careful")
    spec = {"plugin": "Absent", "declares": {"hooks": ["filter"]}}
    absent = {
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "PluginConfig",
        "metadata": {"name": "absent"},
        "spec": spec,
    }
    world.apply(absent, profile(world, "careful", plugins={"filter": {"enabled": [{"name": "Absent"}]}}))

    def stalled_because() -> str:
        return str(world.condition("careful", "Stalled").get("reason"))

    world.eventually(lambda: stalled_because() == "NotLoaded", 20)
    assert "Absent" in world.condition("careful", "Stalled")["message"]
    # A process that starts now reads the last good document, too.
    world.eventually(lambda: stalled_because() == "RolledBack", 30)
    assert "Absent" in world.condition("careful", "Stalled")["message"]
    world.eventually(lambda: not any("error" in member for member in members(world, "careful")), 30)
    world.apply(world.deployment("meanwhile", "careful", 2, {"cpu": "10m"}))
    world.eventually(lambda: len(world.bound("meanwhile")) == 2, 20)

    world.apply(profile(world, "careful"))
    world.eventually(lambda: follow(world, "careful"), 20)
    assert world.condition("careful", "Stalled") == {}
    assert processes(world, "careful") == before
    world.kubectl("delete", "deployment", "meanwhile", "--namespace=default")


def test_a_plugin_in_a_config_map_is_loaded_into_running_schedulers(world: World, tmp_path: Path) -> None:
    before = running(world, "sourced")
    world.apply(*own_plugin(tmp_path))
    world.apply(profile(world, "sourced", plugins={"filter": {"enabled": [{"name": "NotHere"}]}}))
    world.eventually(lambda: follow(world, "sourced"), 20)
    world.apply(world.deployment("lower", "sourced", 6, {"cpu": "10m"}))
    world.eventually(lambda: len(world.bound("lower")) == 6, 20)
    assert not [pod for pod in world.bound("lower") if pod["spec"]["nodeName"][-1] in "56789"]

    # Other code, which takes another right and no other process.
    code = CODE.replace("56789", "01234")
    world.apply(*own_plugin(tmp_path, code))

    def granted() -> list[str]:
        role = world.get("role", "berth-sourced", NAMESPACE) or {"rules": []}
        return [digest for rule in role["rules"] if "run" in rule["verbs"] for digest in rule["resourceNames"]]

    world.eventually(lambda: granted() == [hashlib.sha256(code.encode()).hexdigest()], 20)
    world.eventually(lambda: follow(world, "sourced"), 20)
    world.apply(world.deployment("upper", "sourced", 6, {"cpu": "10m"}))
    world.eventually(lambda: len(world.bound("upper")) == 6, 20)
    assert not [pod for pod in world.bound("upper") if pod["spec"]["nodeName"][-1] in "01234"]
    assert processes(world, "sourced") == before
    world.kubectl("delete", "deployment", "lower", "upper", "--namespace=default")


def test_a_plugin_that_raises_for_every_pod_is_told_and_so_is_code_that_is_gone(world: World, tmp_path: Path) -> None:
    before, raising = running(world, "raising"), CODE.replace("return ", "raise KeyError('price')  # ")
    code, config = own_plugin(tmp_path, raising)
    world.apply(code, config)
    world.apply(profile(world, "raising", plugins={"filter": {"enabled": [{"name": "NotHere"}]}}))
    world.eventually(lambda: follow(world, "raising"), 20)

    world.apply(world.deployment("unlucky", "raising", 2, {"cpu": "10m"}))
    world.eventually(lambda: world.condition("raising", "PluginsFailing"), 60)
    ready = world.condition("raising", "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PluginsFailing")
    assert (
        "plugin NotHere: failed in filter: KeyError: 'price'" in world.condition("raising", "PluginsFailing")["message"]
    )

    # Nobody would notice before the next start of a scheduler, which fails then.
    world.kubectl("delete", "configmap", "not-here", f"--namespace={NAMESPACE}")

    def of_code() -> Object:
        conditions = (world.get("pluginconfig", config["metadata"]["name"]) or {})["status"]["conditions"]
        return next(item for item in conditions if item["type"] == "Ready")

    world.eventually(lambda: of_code()["reason"] == "NotLoaded", 10)
    world.eventually(lambda: "see PluginConfig" in world.condition("raising", "Ready")["message"], 10)
    assert processes(world, "raising") == before

    world.apply(*own_plugin(tmp_path))
    world.eventually(lambda: len(world.bound("unlucky")) == 2, 30)
    world.eventually(lambda: follow(world, "raising") and not world.condition("raising", "PluginsFailing"), 40)
    assert of_code()["status"] == "True"
    world.kubectl("delete", "deployment", "unlucky", "--namespace=default")


def test_code_that_is_not_what_was_pinned_is_not_run(world: World, tmp_path: Path) -> None:
    running(world, "pinned")
    code, config = own_plugin(tmp_path)
    config["spec"]["source"]["configMap"]["sha256"] = "0" * 64
    world.apply(code, config)
    world.apply(profile(world, "pinned", plugins={"filter": {"enabled": [{"name": "NotHere"}]}}))
    world.eventually(lambda: world.condition("pinned", "Stalled").get("reason") == "RolledBack", 60)
    assert "has the SHA-256" in world.condition("pinned", "Stalled")["message"]


def test_a_document_that_somebody_deletes_or_spoils_is_put_back_and_nobody_stops(world: World) -> None:
    before = running(world, "spoiled")
    name = object_name(world, "configmap", "spoiled")

    def stored() -> object:
        return (world.get("configmap", name, NAMESPACE) or {}).get("data")

    document = stored()
    nonsense = json.dumps({"data": {"config.yaml": "profiles: [nonsense"}})
    for damage in (
        ("delete", "configmap", name),
        ("patch", "configmap", name, "--type=merge", f"--patch={nonsense}"),
    ):
        world.kubectl(*damage, f"--namespace={NAMESPACE}")
        world.eventually(lambda: stored() == document, 20)
        world.eventually(lambda: not any("error" in member for member in members(world, "spoiled")), 20)
        world.eventually(lambda: follow(world, "spoiled"), 20)
    assert processes(world, "spoiled") == before


@pytest.fixture
def writer(world: World, cluster: Cluster) -> Iterator[AdminApi]:
    """The account of somebody who may write the ConfigMaps of Berth's namespace, and nothing else."""
    name = {"name": "cmwriter", "namespace": NAMESPACE}
    rbac = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]
    binding = {
        "apiVersion": f"{rbac}/v1",
        "kind": "RoleBinding",
        "metadata": name,
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "cmwriter"},
        "subjects": [{"kind": "ServiceAccount", **name}],
    }
    role = {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": name, "rules": rules}
    world.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": name}, role, binding)
    token = world.kubectl("create", "token", "cmwriter", f"--namespace={NAMESPACE}")
    with AdminApi(cluster.server, cluster.ca, token) as api:
        yield api


@pytest.fixture
def without_policy(world: World) -> Iterator[None]:
    """Nobody but RBAC decides who writes ConfigMaps."""
    (binding,) = world.kubectl.items(POLICY_BINDING, "--field-selector=metadata.name=berth-configmaps")
    world.kubectl("delete", POLICY_BINDING, "berth-configmaps")
    yield
    metadata = {key: binding["metadata"][key] for key in ("name", "labels", "annotations")}
    world.apply({**binding, "metadata": metadata})


POLICY_BINDING = "validatingadmissionpolicybindings"


@pytest.mark.usefixtures("without_policy")
def test_a_writer_of_its_config_map_runs_no_code_even_without_the_policy(
    world: World, cluster: Cluster, writer: AdminApi, tmp_path: Path
) -> None:
    before, ran = running(world, "attacked"), tmp_path / "ran"
    code = f"open({str(ran)!r}, 'a').close()"
    name = object_name(world, "configmap", "attacked")
    source = {"name": name, "key": "e.py", "sha256": hashlib.sha256(code.encode()).hexdigest()}
    attack = {"data": {"e.py": code, "berth.yaml": json.dumps({"plugins": {"E": {"configMap": source}}})}}
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}"

    def is_refused() -> bool:
        """Whether both schedulers have seen it, and say so in their logs."""
        with contextlib.suppress(RefusedError):  # the policy, and the account's role, take a moment
            writer.merge(path, attack)
        logs = [log.read_text() for log in cluster.directory.rglob("current") if "berth-attacked" in str(log)]
        return len([log for log in logs if "e.py with the SHA-256" in log and "nobody granted it" in log]) == len(
            before
        )

    world.eventually(is_refused, 60)
    world.eventually(lambda: follow(world, "attacked"), 30)
    assert not ran.exists()
    assert processes(world, "attacked") == before


PASSWORD = "marked-pass-word"


@pytest.mark.skipif(CAN_MOUNT.returncode != 0, reason="needs user namespaces: unshare --map-root-user --mount true")
def test_an_extender_is_shown_a_certificate_from_a_secret_and_nobody_the_password_in_its_address(
    world: World, cluster: Cluster, tmp_path: Path
) -> None:
    certificate, key = client_pair(tmp_path)
    with secured(tmp_path, certificate) as (extender, authority):
        extender.answers["filter"] = lambda question: {"NodeNames": question["NodeNames"][-1:]}
        files = [f"--from-file={name}={file}" for name, file in (("tls.crt", certificate), ("tls.key", key))]
        arguments = (*files, f"--from-file=ca.crt={authority}", f"--namespace={NAMESPACE}")
        world.kubectl("create", "secret", "generic", "berth-extender-guarded", *arguments)
        guarded = profile(world, "guarded", extenders=[
            {
                "urlPrefix": extender.url.replace("://", f"://berth:{PASSWORD}@"),
                "filterVerb": "filter",
                "nodeCacheCapable": True,
                "tlsConfig": {"secretName": "berth-extender-guarded"},
            }
        ])  # fmt: skip
        guarded["spec"]["scheduler"] = {**guarded["spec"]["scheduler"], "image": "berth:mounting", "logLevel": 10}
        world.apply(guarded)
        world.eventually(lambda: follow(world, "guarded"), 60)
        world.apply(world.deployment("asked", "guarded", 2, {"cpu": "10m"}))
        world.eventually(lambda: len(world.bound("asked")) == 2, 60)
        assert len(extender.questions("filter")) >= 2

        # A failure names the extender, in the pod's events and in the log.
        extender.answers["filter"] = lambda _: Raw(500)
        world.apply(world.deployment("refused", "guarded", 1, {"cpu": "10m"}))
        refused = f"failed filter with extender at URL {extender.url.replace('://', '://***@')}/filter, code 500"
        world.eventually(lambda: refused in json.dumps(world.kubectl.items("events", "--all-namespaces")), 60)
        # So does a finding, in the profile's status and events.
        status = json.dumps((world.get("schedulerprofile", "guarded") or {})["status"])
        assert "ExtenderPasswordInURL" in status
        outputs = {
            "status": status,
            "events": world.kubectl("get", "events", "--all-namespaces", "--output=yaml"),
            "pods": world.kubectl("get", "pods", "--all-namespaces", "--output=yaml"),
            **{str(log): log.read_text() for log in cluster.directory.rglob("current") if NAMESPACE in str(log)},
        }
        assert any("guarded" in name for name in outputs)
        assert [name for name, text in outputs.items() if PASSWORD in text] == []
    world.kubectl("delete", "deployment", "asked", "refused")
    world.kubectl("delete", "schedulerprofile", "guarded")
