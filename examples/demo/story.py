"""Watching the pods of the demonstration until they are placed, and showing by whom."""

import time
from collections import Counter
from collections.abc import Callable
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
READY_SECONDS = 20
UNSEEN = "the operator has not seen it yet"
WAITED = "Waited: since a pod was made; the first ones before their scheduler was."


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

    profiles: dict[str, str]  # each profile's Ready condition, in words
    rows: list[Row]
    leader: str  # the pod that holds the profile's Lease
    service_account: str  # whose permissions that pod has
    stalled: str = ""  # why the profile does not get on by itself, as the operator says it

    @property
    def is_placed(self) -> bool:
        """Whether each pod is on a node and the profile's own scheduler is what put it there."""
        bound = [row for row in self.rows if row.node and row.scheduler == PROFILE]
        return len(bound) >= PODS and self.service_account == f"berth-{PROFILE}"

    @property
    def is_ready(self) -> bool:
        return self.profiles.get(PROFILE, "").startswith("Ready=True")


def look(kubectl: Kubectl) -> Scene:
    """Read the scene from the cluster."""
    schedulers = {pod["metadata"]["name"]: pod for pod in kubectl.items("pods", "--namespace=berth-system")}
    leases = kubectl.items("leases", "--namespace=berth-system", f"--field-selector=metadata.name=berth-{PROFILE}")
    holder = "".join(lease.get("spec", {}).get("holderIdentity") or "" for lease in leases)
    leader = holder.partition("_")[0]
    account = schedulers.get(leader, {}).get("spec", {}).get("serviceAccountName", "")
    found = {each["metadata"]["name"]: each for each in kubectl.items("schedulerprofiles")}
    profiles = {name: readiness(each) for name, each in found.items()}
    return Scene(profiles, rows(kubectl), leader, account, stalled(found.get(PROFILE, {})))


def readiness(profile: dict[str, Any]) -> str:
    for condition in conditions(profile, "Ready"):
        return f"Ready={condition['status']} ({condition['reason']}): {condition.get('message', '')}"
    return UNSEEN


def stalled(profile: dict[str, Any]) -> str:
    """What has to be changed before the profile gets on; empty while nothing has."""
    return "".join(condition.get("message", "") for condition in conditions(profile, "Stalled"))


def conditions(profile: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Those of the ``kind``: one, or none."""
    return [each for each in profile.get("status", {}).get("conditions", []) if each["type"] == kind]


def rows(kubectl: Kubectl) -> list[Row]:
    events = kubectl.items("events", "--namespace=default", "--field-selector=reason=Scheduled")
    placed_by = {event["involvedObject"]["uid"]: event["reportingComponent"] for event in events}
    pods = kubectl.items("pods", "--namespace=default")
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
    scene = watch(kubectl, console, timeout, lambda scene: scene.is_placed)
    if scene.is_placed:
        scene = watch(kubectl, console, READY_SECONDS, lambda scene: scene.is_ready)
        console.print(picture(scene, rows=PODS))
        console.print(evidence(scene))
        return 0
    console.print(picture(scene, rows=PODS))
    console.print(f"[red]Not every pod was placed by {PROFILE} within {timeout:.0f} s.[/red]")
    for question in (("pods", "--output=wide"), ("events", "--field-selector=type=Warning,involvedObject.kind=Pod")):
        console.print(kubectl("get", *question, "--all-namespaces"), highlight=False, soft_wrap=True)
    return 1


def watch(kubectl: Kubectl, console: Console, seconds: float, is_enough: Callable[[Scene], bool]) -> Scene:
    """The scene as soon as it ``is_enough``, or as it is after ``seconds``; until then say what it waits for."""
    end, said = time.monotonic() + seconds, ""
    while not is_enough(scene := look(kubectl)) and time.monotonic() < end:
        if said != (said := waits_for(scene)):
            console.print(f"Waiting for {said}", highlight=False)
        time.sleep(0.5)
    return scene


def waits_for(scene: Scene) -> str:
    """What has to come next, and what is in its way."""
    return f"{comes_next(scene)}; the profile is stalled: {scene.stalled}" if scene.stalled else comes_next(scene)


def comes_next(scene: Scene) -> str:
    """What has to come next."""
    if scene.profiles.get(PROFILE, UNSEEN) == UNSEEN:
        return "the operator to start and to see the profile"
    if not scene.leader:
        return "the profile's scheduler to start and to lead"
    placed = sum(bool(each.node) for each in scene.rows)
    return f"the pods: {placed} of {PODS} are on a node" if placed < PODS else "both scheduler processes to be ready"


def live(kubectl: Kubectl, console: Console, place: Place) -> None:
    """Show how to go on by hand, and below it the scene as it changes, until Ctrl-C."""
    instructions = Text.from_markup(by_hand(place))
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as screen:
        while True:
            scene = look(kubectl)
            room = console.height - len(instructions.wrap(console, console.width)) - len(scene.profiles) - 9
            screen.update(Group(instructions, Text(), picture(scene, rows=max(room, 3))), refresh=True)
            time.sleep(1)


def picture(scene: Scene, rows: int) -> Group:
    """The profiles, how many pods are where, and the newest of them."""
    lines = [Text.assemble((name, "bold"), f"  {state}") for name, state in sorted(scene.profiles.items())]
    if scene.stalled:
        lines.append(Text(f"{PROFILE} is stalled: {scene.stalled}", "red"))
    if PROFILE not in scene.profiles:
        lines.append(Text(f"{PROFILE} is not there: pods that name it wait until it is"))
    nodes = Counter(each.node or "no node yet" for each in scene.rows)
    summary = ", ".join(
        f"{count} on {node}" if node != "no node yet" else f"{count} waiting" for node, count in nodes.items()
    )
    return Group(
        *lines, Text(f"{len(scene.rows)} pods: {summary}"), table(scene.rows[:rows]), *more(scene, rows), Text(WAITED)
    )


def table(shown: list[Row]) -> Table:
    drawn = Table(expand=False)
    # On a narrow screen the node's name gives way first: the line above the table has it whole.
    for heading, width in (("Pod", 22), ("Phase", 7), ("Node", None), ("Placed by", len(PROFILE)), ("Waited", 6)):
        drawn.add_column(heading, no_wrap=width is not None, min_width=width, overflow="ellipsis")
    for each in shown:
        waited = "" if each.seconds is None else f"{each.seconds:.0f} s"
        drawn.add_row(each.pod, each.phase, each.node or "-", each.scheduler or "-", waited)
    return drawn


def more(scene: Scene, shown: int) -> list[Text]:
    return [Text(f"… and {len(scene.rows) - shown} more")] if len(scene.rows) > shown else []


def evidence(scene: Scene) -> str:
    """Who placed the pods, by the three things that cannot be had otherwise."""
    return (
        f"{PODS} pods bound by [bold]{PROFILE}[/bold]: their events come from it, pod {scene.leader} "
        f"holds its Lease, and that pod runs as ServiceAccount {scene.service_account}."
    )


def by_hand(place: Place) -> str:
    return (
        "In another terminal (Ctrl-C here ends everything):\n"
        f"  [bold]{place.by_hand}[/bold]\n"
        f"  kubectl get schedulerprofiles; kubectl describe schedulerprofile {PROFILE}\n"
        "  kubectl scale deployment packed --replicas=20"
        + (
            f"\n  tail -n 20 {place.logs}"
            if place.logs
            else "\n  kubectl logs -n berth-system deployment/berth-operator"
        )
    )
