"""The operator as a process of its own, with its ServiceAccount's token and the rights that the chart gives it."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

import devcluster
from devcluster import Cluster
from devcluster.model.api import AdminApi
from devcluster.system.ports import free_port
from scheduler_operator.resources.kinds import GENERATED, REVISION
from tests.support.eventually import eventually
from tests.support.fake_leaders import fake_leaders
from tests.support.pages import bearer, get
from tests.support.reading import KINDS, get_or_none

ROOT = Path(__file__).resolve().parents[3]
BIN = Path(sys.executable).parent
NAMESPACE = "berth-system"
Object = dict[str, Any]


@dataclass(frozen=True)
class Election:
    """How long a silent leader keeps the lease, and how long one works without a renewal, in seconds."""

    lease: float
    deadline: float

    @property
    def flags(self) -> list[str]:
        durations = ("--lease-duration", str(self.lease), "--renew-deadline", str(self.deadline))
        return [*durations, "--retry-period", "1"]


VALUES = (
    *("replicas=0", "image.repository=berth", "image.tag=test", "crds.enabled=false"),
    "profiles.allowed.engines={Python,KubeScheduler,ConfigMap}",
    "profiles.allowed.images={registry.example.com/,mine,pinned:1}",
    "profiles.allowed.priorityClasses={important}",
    "profiles.allowed.podLabels={example.com/}",
    "profiles.allowed.podAnnotations={example.com/,exact.example.com/key}",
)
"""The chart's values: not every engine is allowed without them."""

OPEN = "--authorization-always-allow-paths=/*"
"""Lets a test see every page; who else may is tested for itself."""
UNHURRIED = Election(30, 20)
"""Nobody is to lose the lease because the machine is slow."""
QUICK = Election(4, 3)
"""For tests that wait until the lease has run out."""


@dataclass(frozen=True)
class Installed:
    """A cluster in which the chart is installed, without any operator running yet."""

    cluster: Cluster
    api: AdminApi
    directory: Path
    arguments: tuple[str, ...]
    """The command line that the chart gives the operator."""
    leaders_are_away: threading.Event
    """While it is set, no pod takes the Lease of its profile."""

    def apply(self, *objects: Object) -> None:
        text = yaml.safe_dump_all(objects)
        self.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)

    def delete(self, kind: str, name: str) -> None:
        where = ("-n", NAMESPACE) if KINDS[kind].namespaced else ()
        self.cluster.kubectl("delete", kind, name, "--wait=false", *where)

    def get(self, kind: str, name: str) -> Object | None:
        return get_or_none(self.api, f"{KINDS[kind].collection(NAMESPACE)}/{name}")

    def patch(self, kind: str, name: str, change: Mapping[str, Any]) -> None:
        self.api.merge(f"{KINDS[kind].collection(NAMESPACE)}/{name}", change)

    def condition(self, name: str, of: str, kind: str = "schedulerprofile") -> Object:
        """The condition of that type about the newest generation, ``{}`` when there is none."""
        item = self.get(kind, name)
        assert item is not None, f"{kind} {name} is gone"
        conditions = item.get("status", {}).get("conditions", [])
        current = [
            condition for condition in conditions if condition["observedGeneration"] == item["metadata"]["generation"]
        ]
        return next((condition for condition in current if condition["type"] == of), {})

    def is_ready(self, name: str) -> bool:
        """Whether a leader schedules, as many others as wanted stand by, and nothing is about to change."""
        kinds = {kind: self.condition(name, kind).get("status") for kind in ("Ready", "Redundant", "Reconciling")}
        return kinds in ({"Ready": "True", "Redundant": among, "Reconciling": None} for among in ("True", None))

    def is_stalled_for(self, name: str, reason: str) -> Object:
        """The condition Stalled when it is true for that reason."""
        stalled = self.condition(name, "Stalled")
        return stalled if stalled.get("reason") == reason else {}

    def generated(self, name: str) -> dict[str, Object]:
        """What exists for a profile, by kind."""
        selector = quote(f"berth.dev/profile={name}")
        answers = {
            kind.name: self.api.get(f"{kind.collection(NAMESPACE)}?labelSelector={selector}") for kind in GENERATED
        }
        return {kind: items[0] for kind, answer in answers.items() if (items := answer["items"])}

    def document(self, name: str) -> Any:
        """The document of a profile's process, ``{}`` when there is none."""
        config_map = self.get("configmap", self.object_name("configmap", name))
        return yaml.safe_load(config_map["data"]["config.yaml"]) if config_map else {}

    def object_name(self, kind: str, profile: str) -> str:
        """The name of a profile's object."""
        if kind != "configmap":
            return f"berth-{profile}"
        status = (self.get("schedulerprofile", profile) or {}).get("status", {})
        return str(status.get("configMap", f"berth-{profile}"))

    def revisions(self, name: str) -> list[Object]:
        """The ControllerRevisions of a profile."""
        selector = quote(f"berth.dev/profile={name}")
        answer = self.api.get(f"{REVISION.collection(NAMESPACE)}?labelSelector={selector}")
        return list(answer["items"])

    def events(self, profile: str) -> list[str]:
        events = self.api.get("/apis/events.k8s.io/v1/namespaces/default/events")["items"]
        return [event["note"] for event in events if event["regarding"]["name"] == profile]

    def token(self, account: str = "berth-operator") -> str:
        return self.cluster.kubectl("create", "token", account, "-n", NAMESPACE).stdout

    def as_account(self, name: str) -> AdminApi:
        """The API server, as one of the accounts of our namespace."""
        return AdminApi(self.cluster.server, self.cluster.ca, self.token(name))

    def operator(
        self,
        name: str,
        token: str = "",
        through: str = "",
        election: Election = UNHURRIED,
        arguments: Sequence[str] = (),
    ) -> "RunningOperator":
        """Start an operator called ``name``, which finds the API server at ``through`` if that is given.

        ``arguments`` come after those of the chart, and so replace them.
        """
        return RunningOperator(self, name, token or self.token(), through, [*election.flags, OPEN, *arguments])


class RunningOperator:
    """One process of the operator, with its log and its endpoints."""

    def __init__(self, installed: Installed, name: str, token: str, through: str, arguments: Sequence[str]) -> None:
        self.directory = installed.directory / name
        self.directory.mkdir()
        self.token_file = self.directory / "token"
        self.token_file.write_text(token)
        self.port = free_port()
        environment = {"PATH": os.environ["PATH"], "POD_NAME": name, "POD_NAMESPACE": NAMESPACE, "POD_IP": "127.0.0.1"}
        flags = [*installed.arguments, "--kubeconfig", self._kubeconfig(installed.cluster, through), *arguments]
        self._command = [str(BIN / "berth-operator"), *flags, "--secure-port", str(self.port)]
        self._environment = environment
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with (self.directory / "log").open("ab") as log:
            return subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)

    def restart(self) -> None:
        """End it and start it again."""
        self.end()
        self.process = self._start()
        self.until_leading()

    def _kubeconfig(self, cluster: Cluster, through: str) -> str:
        document = yaml.safe_load(cluster.kubeconfig.read_text())
        if through:
            document["clusters"][0]["cluster"] = {"server": through}
        document["users"][0]["user"] = {"tokenFile": str(self.token_file)}
        file = self.directory / "kubeconfig"
        file.write_text(yaml.safe_dump(document))
        return str(file)

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text()

    def answers(self, path: str, token: str = "") -> tuple[int, str]:
        """Status and text of an endpoint; status 0 when nothing listens."""
        try:
            return get(self.port, path, bearer(token), scheme="https")
        except OSError:
            return 0, ""

    def metric(self, name: str) -> float:
        """The sum of a metric over all of its labels."""
        numbers = re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", self.answers("/metrics")[1], re.MULTILINE)
        assert numbers, f"no {name}"
        return sum(map(float, numbers))

    @property
    def peak_memory(self) -> int:
        """The most memory that was in use, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024

    @property
    def leads(self) -> bool:
        return self.answers("/metrics")[0] == 200 and self.metric("leader_election_master_status") == 1

    @property
    def is_idle(self) -> bool:
        return self.metric("workqueue_depth") == self.metric("controller_runtime_active_workers") == 0

    def until_leading(self, timeout: float = 30) -> "RunningOperator":
        eventually(lambda: self.leads, timeout, explain=lambda: self.log)
        return self

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send it a signal and return its exit code."""
        self.process.send_signal(how)
        return self.process.wait(20)


@contextmanager
def installation(cluster: Cluster, directory: Path) -> Iterator[Installed]:
    """Apply the chart, without the pods of its own operator."""
    cluster.kubectl("create", "namespace", NAMESPACE)
    cluster.kubectl("label", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    chart = [
        str(devcluster.binaries("helm")["helm"]),
        "template",
        "berth",
        str(ROOT / "helm/berth"),
        "--namespace",
        NAMESPACE,
        "--skip-tests",
        *(argument for value in VALUES for argument in ("--set", value)),
    ]
    rendered = subprocess.run(chart, capture_output=True, text=True, check=True).stdout
    cluster.kubectl("apply", "--server-side", "-f", "-", input=rendered)
    deployment = next(item for item in yaml.safe_load_all(rendered) if item and item["kind"] == "Deployment")
    arguments = tuple(deployment["spec"]["template"]["spec"]["containers"][0]["args"])
    # Of the nodes none is real, and so no scheduler runs.
    with AdminApi(cluster.server, cluster.ca, cluster.token) as api, fake_leaders(api, NAMESPACE) as leaders_are_away:
        yield Installed(cluster, api, directory, arguments, leaders_are_away)


def apply_crds(cluster: Cluster) -> None:
    cluster.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
    # On a slow machine a CRD has no conditions at first, and kubectl, instead of waiting for them, gives up.
    established = ("wait", "--for=condition=Established", "--timeout=30s", "-f", str(ROOT / "crds"))
    eventually(lambda: cluster.kubectl(*established, check=False).returncode == 0, 60)


def apply_crds_before_controllers(cluster: Cluster) -> None:
    """Apply ours, and have the controller manager begin when they are there.

    Its garbage collector looks for new kinds every 30 seconds only, and what a profile owned would stay as long.
    """
    cluster.stop("kube-controller-manager")
    apply_crds(cluster)
    cluster.start("kube-controller-manager")


def delete_crds(cluster: Cluster) -> None:
    """Delete ours, of which there are no objects, and wait for it.

    An API server that is short of time may need minutes until it knows that nothing of a kind is left; then it is told.
    A policy refuses it until the API server knows which objects there are of a kind, which may take a moment.
    """
    wait_until_deleted = ("wait", "--for=delete", "--timeout=20s", "-f", str(ROOT / "crds"))
    delete = ("delete", "--wait=false", "--ignore-not-found", "-f", str(ROOT / "crds"))
    eventually(lambda: cluster.kubectl(*delete, check=False).returncode == 0, 90)
    if cluster.kubectl(*wait_until_deleted, check=False).returncode:
        nothing_to_do = ("--type=merge", "--patch", '{"metadata": {"finalizers": null}}')
        cluster.kubectl("patch", "-f", str(ROOT / "crds"), *nothing_to_do, check=False)
        cluster.kubectl(*wait_until_deleted)


def profile(name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "SchedulerProfile",
        "metadata": {"name": name},
        "spec": spec,
    }


def plugin_config(name: str, plugin: str, **args: Any) -> Object:
    return {
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "PluginConfig",
        "metadata": {"name": name},
        "spec": {"plugin": plugin, "args": args},
    }
