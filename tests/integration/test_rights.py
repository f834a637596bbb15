"""No right wider than its use: what each account was granted, beside what it did in every kind of story.

One operator, Berth's own scheduler and a kube-scheduler of each version go through everything that takes a right, on an
API server that records their requests. A new right needs a scene here, or an entry in ``UNRECORDED`` with its reason.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import devcluster
from devcluster import Cluster, Spec
from examples.demo.installation import NAMESPACE
from scheduler_operator.desired.rbac import READER_ROLE
from scheduler_operator.resources import kinds
from scheduler_runtime.catalog import SUPPORTED_MINORS
from tests.integration.operator.running import apply_crds_before_controllers
from tests.support.audit import AuditLog, of_accounts
from tests.support.eventually import eventually
from tests.support.extenders import ExtenderServer, keeps, serving
from tests.support.kube_scheduler import image_program
from tests.support.pages import bearer, get_page
from tests.support.reading import get_or_none
from tests.support.rights import Right, differences, granted, refused, used
from tests.support.sourced_plugin import CODE, own_plugin
from tests.support.world import UNHURRIED, Object, World, on_process_nodes

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

PYTHON = "full"
KUBE = {minor: f"kube-{minor.replace('.', '')}" for minor in SUPPORTED_MINORS}
"""The profile with the kube-scheduler of each version."""
RUNNING = (PYTHON, *KUBE.values())
NODES = {profile: f"kwok-{number}" for number, profile in enumerate(RUNNING)}
"""The node of each profile's pods: profiles do not disturb each other."""
GATED = {
    "gated-135": ("1.35", ("GenericWorkload", "GangScheduling")),
    "gated-137": ("1.37", ("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup")),
}
"""Profiles without a process: for what only feature gates need, which this API server does not serve."""
TENANTS = ("tenant-a", "tenant-b")
HERE = "1.36"
"""The version of the API server."""
GATES: dict[str, dict[str, bool]] = {
    "1.35": {},
    "1.36": {"GenericWorkload": True, "DRADeviceTaintRules": True},
    "1.37": {"DRADeviceTaintRules": False},  # on by default, but of this API server only a beta version can be had
}
LISTING = {"WatchListClient": False}
"""Otherwise what exists comes by a watch, and is listed only where the API server cannot do that."""

_BINDING = "the API server asks for it itself when the status of a claim is written, and records that request only"
_CONFLICT = "read again after a conflict: another writer between two requests of one decision"
_HASH = hashlib.sha256(CODE.encode()).hexdigest()
UNRECORDED: dict[str, dict[str, str]] = {
    "operator": {
        f"bind roles.rbac.authorization.k8s.io {READER_ROLE} in kube-system: unused": (
            "the API server asks for it itself when the binding is written"
        ),
    },
    "python": {
        f"run pluginsources.berth.dev {_HASH} in {NAMESPACE}: unused": "a scheduler asks in a review whether it has it",
    },
    "kube-scheduler": {
        "get resourceclaims.resource.k8s.io: unused": _CONFLICT,
        "patch resourceclaims/binding.resource.k8s.io: unused": _BINDING,
        "update resourceclaims/binding.resource.k8s.io: unused": _BINDING,
    },
}
"""Rights that no record of a request can show, each with its reason."""


@pytest.fixture(scope="module")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> AuditLog:
    return AuditLog.of(tmp_path_factory.mktemp("audit"), of_accounts(NAMESPACE))


@pytest.fixture(scope="module")
def cluster(audit_log: AuditLog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    images = tmp_path_factory.mktemp("images")
    spec = Spec(
        fake_nodes=len(RUNNING),
        images={
            "berth:test": [str(Path(sys.executable).parent / "python")],
            **{f"kube-scheduler:{minor}": [str(image_program(images, minor))] for minor in KUBE},
        },
        apiserver_args=(
            *audit_log.apiserver_args,
            "--feature-gates=GenericWorkload=true,DRADeviceTaintRules=true",
            "--runtime-config=scheduling.k8s.io/v1alpha2=true,resource.k8s.io/v1beta2=true",
        ),
    )
    with devcluster.running(spec) as running:
        yield running


@pytest.fixture(scope="module")
def extender() -> Iterator[ExtenderServer]:
    """One that wants whole pods, and lets every node through."""
    with serving({"filter": keeps(*NODES.values())}) as server:
        yield server


@pytest.fixture(scope="module")
def world(cluster: Cluster) -> Iterator[World]:
    apply_crds_before_controllers(cluster)
    engines = "profiles.allowed.engines={Python,ConfigMap,KubeScheduler}"
    values = (engines, "profiles.allowed.images={kube-scheduler}", "pluginSources.enabled=true", "replicas=1")
    with on_process_nodes(cluster, "berth:test", *values) as installation:
        yield installation


@pytest.fixture(scope="module")
def grants(world: World, extender: ExtenderServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[Right]]:
    """The rights of every account, after all has been told to happen that takes rights."""
    world.apply(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in TENANTS))
    world.apply(*own_plugin(tmp_path_factory.mktemp("plugin")), *devices_and_volumes(), *profiles(world, extender))
    for profile in RUNNING:
        world.eventually(partial(is_ready, world, profile), 90)
        world.eventually(partial(world.holder, f"berth-{profile}"), 60)
        scrape(world, profile)
    rights = {name: granted(world.api, f"{NAMESPACE}/berth-{name}", [READER_ROLE]) for name in all_profiles()}
    rights["operator"] = granted(world.api, f"{NAMESPACE}/berth-operator")
    place_pods(world)
    change_profiles(world)
    return rights


def all_profiles() -> tuple[str, ...]:
    return (*RUNNING, *GATED, "quiet")


def profiles(world: World, extender: ExtenderServer) -> Iterator[Object]:
    one = {**UNHURRIED, "replicas": 1}
    sources = {"filter": {"enabled": [{"name": "NotHere"}]}}
    yield world.profile(PYTHON, scheduler=one, extenders=[extender.configuration()], plugins=sources)
    yield world.profile("quiet", scheduler={**one, "replicas": 2, "events": "None"})
    for minor, name in KUBE.items():
        image = {
            "image": f"kube-scheduler:{minor}",
            "kubernetesVersion": minor,
            "featureGates": {**GATES[minor], **LISTING},
        }
        yield world.profile(name, engine="KubeScheduler", scheduler={**one, **image})
    for name, (minor, gates) in GATED.items():
        nobody = {"replicas": 0, "kubernetesVersion": minor, "featureGates": dict.fromkeys(gates, True)}
        yield world.profile(name, engine="KubeScheduler", scheduler=nobody)


def devices_and_volumes() -> Iterator[Object]:
    """What pods can ask for, on the node of each profile; and a policy that refuses the binding of some pods."""
    yield {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
    }
    for name, provisioner in (("local", "kubernetes.io/no-provisioner"), ("elsewhere", "example.com/nobody")):
        yield {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name},
            "provisioner": provisioner,
            "volumeBindingMode": "WaitForFirstConsumer",
        }
    yield {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": "example.com/gpu"},
    }
    for profile in KUBE.values():
        node = NODES[profile]
        hostname = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": profile},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "local",
                "local": {"path": "/nowhere"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [hostname]}},
            },
        }
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": profile},
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": node,
                "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                "devices": [{"name": f"gpu-{number}"} for number in range(8)],
            },
        }
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {
            "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/binding"], "operations": ["CREATE"]}
            ]
        },
        "validations": [{"expression": "!request.name.endsWith('-refused')", "message": "this pod is not to be bound"}],
    }
    admission = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "refuses-bindings"}}
    yield {**admission, "kind": "ValidatingAdmissionPolicy", "spec": policy}
    yield {
        **admission,
        "kind": "ValidatingAdmissionPolicyBinding",
        "spec": {"policyName": "refuses-bindings", "validationActions": ["Deny"]},
    }


def scrape(world: World, profile: str) -> None:
    """Ask for the metrics of a scheduler, which asks the API server who that is, and whether that is allowed."""
    token = world.kubectl("create", "token", "default", f"--namespace={TENANTS[0]}")
    (scheduler,) = world.kubectl.items("pods", f"--namespace={NAMESPACE}", f"--selector=berth.dev/profile={profile}")
    page = get_page(10259, "/metrics", bearer(token), host=scheduler["status"]["podIP"])
    assert page.status == 403, page.body


def pod(profile: str, name: str, namespace: str = TENANTS[0], cpu: str = "10m", **spec: Any) -> Object:
    """A pod for the scheduler and the node of a profile."""
    resources = spec.pop("resources", {"requests": {"cpu": cpu}})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{profile}-{name}", "namespace": namespace},
        "spec": {
            "schedulerName": profile,
            "nodeSelector": {"kubernetes.io/hostname": NODES[profile]},
            "tolerations": [{"key": "kwok.x-k8s.io/node", "operator": "Exists"}],
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "x", "resources": resources}],
            **spec,
        },
    }


def claim(profile: str, storage_class: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": f"{profile}-{storage_class}", "namespace": TENANTS[0]},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def with_volume(profile: str, storage_class: str) -> Object:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": f"{profile}-{storage_class}"}}
    return pod(profile, storage_class, volumes=[volume])


def with_devices(profile: str, name: str, *, extended: bool) -> Iterator[Object]:
    """A pod with a claim for a device, and perhaps another one as an extended resource."""
    requests = [{"name": "one", "exactly": {"deviceClassName": "gpu"}}]
    yield {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": f"{profile}-{name}", "namespace": TENANTS[0]},
        "spec": {"devices": {"requests": requests}},
    }
    resources: Object = {"claims": [{"name": "r"}]}
    if extended:
        amounts = {"example.com/gpu": "1", "cpu": "10m"}
        resources |= {"requests": amounts, "limits": amounts}
    claims = [{"name": "r", "resourceClaimName": f"{profile}-{name}"}]
    yield pod(profile, name, resourceClaims=claims, resources=resources)


def place_pods(world: World) -> None:
    """Pods that are bound, refused, preempted; with volumes and devices for those who know them."""
    world.apply(*(pod(profile, "low", TENANTS[0], "20") for profile in RUNNING))
    for minor, profile in KUBE.items():
        for storage_class in ("local", "elsewhere"):
            world.apply(claim(profile, storage_class), with_volume(profile, storage_class))
        extended = minor != "1.35"
        for name in ("device", "device-refused"):
            world.apply(*with_devices(profile, name, extended=extended))
    world.apply(*group_of_pods())
    for profile in RUNNING:
        world.eventually(partial(is_bound, world, f"{profile}-low", TENANTS[0]), 60)
    world.apply(*(pod(profile, "huge", TENANTS[1], "1000") for profile in RUNNING))
    for profile in RUNNING:
        world.eventually(partial(says_why, world, f"{profile}-huge", TENANTS[1]), 60)
    # Its victim's end is also what makes the one before look again, and say the same once more.
    world.apply(*(pod(profile, "high", TENANTS[1], "20", priorityClassName="high") for profile in RUNNING))
    for profile in RUNNING:
        world.eventually(partial(is_bound, world, f"{profile}-high", TENANTS[1]), 60)


def group_of_pods() -> Iterator[Object]:
    """A group of one pod, for the scheduler of the API server's version."""
    profile = KUBE[HERE]
    yield {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": f"{profile}-group", "namespace": TENANTS[0]},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 1}}},
    }
    yield pod(profile, "member", schedulingGroup={"podGroupName": f"{profile}-group"})


def is_ready(world: World, profile: str) -> bool:
    return world.is_ready(profile)


def get_pod(world: World, name: str, namespace: str) -> Object:
    return get_or_none(world.api, f"/api/v1/namespaces/{namespace}/pods/{name}") or {}


def is_bound(world: World, name: str, namespace: str) -> bool:
    return bool(get_pod(world, name, namespace).get("spec", {}).get("nodeName"))


def says_why(world: World, name: str, namespace: str) -> bool:
    conditions = get_pod(world, name, namespace).get("status", {}).get("conditions", [])
    return any((c["type"], c["status"]) == ("PodScheduled", "False") for c in conditions)


def change_profiles(world: World) -> None:
    """What others do to generated objects, and what becomes of these with another engine or another process."""
    name = (world.get("schedulerprofile", PYTHON) or {})["status"]["configMap"]
    world.api.merge(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}", {"data": {"foreign": "key"}})
    # What lost its label is in no watch any more: it is read before it is taken for somebody else's.
    of_python = (kinds.SERVICE_ACCOUNT, kinds.CLUSTER_ROLE, kinds.ROLE, kinds.SERVICE, kinds.DEPLOYMENT)
    unlabelled = (
        *(f"{kind.collection(NAMESPACE)}/berth-{PYTHON}" for kind in of_python),
        f"{kinds.POD_DISRUPTION_BUDGET.collection(NAMESPACE)}/berth-quiet",
        f"{kinds.READER_BINDING.collection('')}/berth-kube-136:{READER_ROLE}",
    )
    label = "app.kubernetes.io/managed-by"
    for path in unlabelled:
        world.api.merge(path, {"metadata": {"labels": {label: None}}})
    for path in unlabelled:
        world.eventually(lambda path=path: world.api.get(path)["metadata"]["labels"].get(label), 60)  # type: ignore[misc]
    world.apply(world.profile("gated-137", engine="ConfigMap", scheduler={}))
    joining = world.profile("quiet", joins=PYTHON)
    del joining["spec"]["scheduler"]
    world.apply(joining)

    def is_gone(kind: str, name: str) -> bool:
        return world.get(kind, name, NAMESPACE) is None

    world.eventually(lambda: is_gone("deployment", "berth-gated-137"), 60)
    world.eventually(lambda: is_gone("deployment", "berth-quiet"), 60)


def is_one_of_many(name: str) -> bool:
    """Whether a name or namespace is a user's, or follows from a user's."""
    return name in (*TENANTS, "not-here", _HASH) or any(profile in name for profile in all_profiles())


def check(world: World, audit_log: AuditLog, name: str, grants: set[Right], more: set[Right], kind: str) -> None:
    """Compare what an account has with what it did, until that is the same; ``more`` are uses that are no requests."""
    unrecorded = UNRECORDED[kind]
    assert set(unrecorded) <= {f"{right}: unused" for right in grants}, "an explanation of what nobody has"

    def unexplained() -> set[str]:
        uses = used(audit_log.records(), f"{NAMESPACE}/berth-{name}") | more
        return differences(grants, uses, is_one_of_many) - set(unrecorded)

    eventually(lambda: not unexplained(), 60, explain=lambda: "\n".join([*sorted(unexplained()), world.describe()]))


def test_every_right_of_berths_own_scheduler_is_used(
    world: World, audit_log: AuditLog, grants: dict[str, set[Right]]
) -> None:
    check(world, audit_log, PYTHON, grants[PYTHON], set(), "python")
    assert not [right for right in grants["quiet"] if right.resource == "events"]


@pytest.mark.parametrize("minor", SUPPORTED_MINORS)
def test_every_right_of_a_kube_scheduler_is_used(
    world: World, audit_log: AuditLog, grants: dict[str, set[Right]], minor: str
) -> None:
    check(world, audit_log, KUBE[minor], grants[KUBE[minor]], set(), "kube-scheduler")


def test_every_right_of_the_operator_is_used_or_passed_on(
    world: World, audit_log: AuditLog, grants: dict[str, set[Right]]
) -> None:
    passed_on = {right for name, rights in grants.items() if name != "operator" for right in rights}
    check(world, audit_log, "operator", grants["operator"], passed_on, "operator")


def test_nobody_asked_for_what_it_may_not(world: World, audit_log: AuditLog, grants: dict[str, set[Right]]) -> None:
    assert grants
    records = audit_log.records()
    assert {name: refused(records, f"{NAMESPACE}/berth-{name}") for name in ("operator", *RUNNING)} == {
        name: [] for name in ("operator", *RUNNING)
    }
