"""Watching the pods of the demonstration until they are placed, and showing by whom."""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from examples.demo.kubectl import Kubectl
from examples.demo.places import Place

PROFILE = "bin-packing"
PODS = 6


@dataclass(frozen=True, slots=True)
class Row:
    """One pod: where it is, and which scheduler says it put it there."""

    pod: str
    phase: str
    node: str
    scheduler: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything the demonstration shows at one moment."""

    profile: str  # the profile's Ready condition, in words
    rows: list[Row]
    leader: str  # the pod that holds the profile's Lease
    service_account: str  # whose permissions that pod has

    @property
    def is_placed(self) -> bool:
        """Whether each pod is on a node and the profile's own scheduler is what put it there."""
        bound = [row for row in self.rows if row.node and row.scheduler == PROFILE]
        return len(bound) == PODS and self.service_account == f"berth-{PROFILE}"


def look(kubectl: Kubectl) -> Scene:
    """Read the scene from the cluster."""
    profiles = kubectl.items("schedulerprofiles")
    schedulers = {pod["metadata"]["name"]: pod for pod in kubectl.items("pods", "--namespace=berth-system")}
    leases = kubectl.items("leases", "--namespace=berth-system", f"--field-selector=metadata.name=berth-{PROFILE}")
    holder = "".join(lease["spec"].get("holderIdentity") or "" for lease in leases if "spec" in lease)
    leader = holder.partition("_")[0]
    account = schedulers.get(leader, {}).get("spec", {}).get("serviceAccountName", "")
    return Scene(profile_state(profiles), rows(kubectl), leader, account)


def profile_state(profiles: list[dict[str, Any]]) -> str:
    conditions = [c for p in profiles for c in p.get("status", {}).get("conditions", []) if c["type"] == "Ready"]
    return (
        " ".join(f"Ready={c['status']} ({c['reason']}): {c.get('message', '')}" for c in conditions) or "not seen yet"
    )


def rows(kubectl: Kubectl) -> list[Row]:
    selected = ("--namespace=default", "--field-selector=reason=Scheduled")
    placed_by = {
        event["involvedObject"]["uid"]: event["reportingComponent"] for event in kubectl.items("events", *selected)
    }
    pods = kubectl.items("pods", "--namespace=default", "--selector=app=packed")
    return [row(pod, placed_by.get(pod["metadata"]["uid"], "")) for pod in pods]


def row(pod: dict[str, Any], scheduler: str) -> Row:
    bound = [c for c in pod["status"].get("conditions", []) if c["type"] == "PodScheduled" and c["status"] == "True"]
    seconds = None
    if bound:
        since = datetime.fromisoformat(pod["metadata"]["creationTimestamp"])
        seconds = (datetime.fromisoformat(bound[0]["lastTransitionTime"]) - since).total_seconds()
    name, phase = pod["metadata"]["name"], pod["status"].get("phase", "")
    return Row(name, phase, pod["spec"].get("nodeName", ""), scheduler, seconds)


def once(kubectl: Kubectl, console: Console, timeout: float) -> int:
    """Wait until the pods are placed and say by whom; 1, with the reason, when they are not within the time."""
    end = time.monotonic() + timeout
    scene = look(kubectl)
    while not scene.is_placed and time.monotonic() < end:
        time.sleep(0.5)
        scene = look(kubectl)
    console.print(table(scene))
    if scene.is_placed:
        console.print(evidence(scene))
        return 0
    console.print(f"[red]Not every pod was placed by {PROFILE} within {timeout:.0f} s.[/red] {scene.profile}")
    for question in (("pods", "--output=wide"), ("events", "--field-selector=type=Warning,involvedObject.kind=Pod")):
        console.print(kubectl("get", *question, "--all-namespaces"), highlight=False, soft_wrap=True)
    return 1


def live(kubectl: Kubectl, console: Console, place: Place) -> None:
    """Show the scene until Ctrl-C, and below it how to go on by hand."""
    with Live(console=console, auto_refresh=False) as screen:
        while True:
            scene = look(kubectl)
            screen.update(Group(table(scene), Text(""), Text.from_markup(by_hand(place))), refresh=True)
            time.sleep(1)


def table(scene: Scene) -> Table:
    drawn = Table(
        title=f"Pods with schedulerName: {PROFILE}", caption=scene.profile, title_justify="left", expand=False
    )
    for heading in ("Pod", "Phase", "Node", "Placed by", "After"):
        drawn.add_column(heading)
    for each in scene.rows:
        after = "" if each.seconds is None else f"{each.seconds:.0f} s"
        drawn.add_row(each.pod, each.phase, each.node or "-", each.scheduler or "-", after)
    return drawn


def evidence(scene: Scene) -> str:
    """Who placed the pods, by the three things that cannot be had otherwise."""
    return (
        f"{len(scene.rows)} pods bound by [bold]{PROFILE}[/bold]: their events come from it, pod {scene.leader} "
        f"holds its Lease, and that pod runs as ServiceAccount {scene.service_account}."
    )


def by_hand(place: Place) -> str:
    return (
        "In another terminal:\n"
        f"  [bold]{place.by_hand}[/bold]\n"
        f"  kubectl get schedulerprofiles; kubectl describe schedulerprofile {PROFILE}\n"
        "  kubectl scale deployment packed --replicas=20\n"
        "Ctrl-C ends everything."
    )
