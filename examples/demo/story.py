"""Watch the pods of the demonstration until they are placed, and show which scheduler placed them."""

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

from examples.demo.clusters import DemoCluster
from examples.demo.kubectl import Kubectl

PROFILE = "bin-packing"
PODS = 6
READY_SECONDS = 20
NOT_RECONCILED = "the operator has not seen it yet"
WAITED = "Waited: since a pod was made; the first ones before their scheduler was."


@dataclass(frozen=True, slots=True)
class Row:
    """One pod: its node, and the scheduler whose event says that it bound the pod."""

    pod: str
    phase: str
    node: str
    scheduler: str
    seconds: float | None


@dataclass(frozen=True, slots=True)
class DemoState:
    """Everything the demonstration shows at one moment."""

    profiles: dict[str, str]  # each profile's Ready condition, in words
    rows: list[Row]
    leader: str  # the pod that holds the profile's Lease
    service_account: str  # the account of that pod, with its permissions
    stalled: str = ""  # what the author has to change first, in the operator's words

    @property
    def is_placed(self) -> bool:
        """Return whether each pod is on a node and the profile's own scheduler bound it."""
        bound = [row for row in self.rows if row.node and row.scheduler == PROFILE]
        return len(bound) >= PODS and self.service_account == f"berth-{PROFILE}"

    @property
    def is_ready(self) -> bool:
        return self.profiles.get(PROFILE, "").startswith("Ready=True")


def read_state(kubectl: Kubectl) -> DemoState:
    """Read the state from the cluster."""
    schedulers = {pod["metadata"]["name"]: pod for pod in kubectl.items("pods", "--namespace=berth-system")}
    leases = kubectl.items("leases", "--namespace=berth-system", f"--field-selector=metadata.name=berth-{PROFILE}")
    holder = "".join(lease.get("spec", {}).get("holderIdentity") or "" for lease in leases)
    leader = holder.partition("_")[0]
    account = schedulers.get(leader, {}).get("spec", {}).get("serviceAccountName", "")
    profiles = {profile["metadata"]["name"]: profile for profile in kubectl.items("schedulerprofiles")}
    conditions_by_name = {name: ready_condition(profile) for name, profile in profiles.items()}
    return DemoState(conditions_by_name, rows(kubectl), leader, account, stalled_message(profiles.get(PROFILE, {})))


def ready_condition(profile: dict[str, Any]) -> str:
    """Return the Ready condition in words."""
    for condition in conditions(profile, "Ready"):
        return f"Ready={condition['status']} ({condition['reason']}): {condition.get('message', '')}"
    return NOT_RECONCILED


def stalled_message(profile: dict[str, Any]) -> str:
    """Return what its author has to change before the profile can be Ready; empty if nothing."""
    return "".join(condition.get("message", "") for condition in conditions(profile, "Stalled"))


def conditions(profile: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the conditions of this kind: one, or none."""
    return [condition for condition in profile.get("status", {}).get("conditions", []) if condition["type"] == kind]


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


def wait_until_placed(kubectl: Kubectl, console: Console, timeout: float) -> int:
    """Wait until the pods are placed and print by which scheduler; return 1, with the reason, after ``timeout``."""
    state = watch(kubectl, console, timeout, lambda state: state.is_placed)
    if state.is_placed:
        state = watch(kubectl, console, READY_SECONDS, lambda state: state.is_ready)
        console.print(picture(state, rows=PODS))
        console.print(evidence(state))
        return 0
    console.print(picture(state, rows=PODS))
    console.print(f"[red]Not every pod was placed by {PROFILE} within {timeout:.0f} s.[/red]")
    for question in (("pods", "--output=wide"), ("events", "--field-selector=type=Warning,involvedObject.kind=Pod")):
        console.print(kubectl("get", *question, "--all-namespaces"), highlight=False, soft_wrap=True)
    return 1


def watch(kubectl: Kubectl, console: Console, seconds: float, is_enough: Callable[[DemoState], bool]) -> DemoState:
    """Return the state as soon as it ``is_enough``, or after ``seconds``; until then print what has to come next."""
    end, printed = time.monotonic() + seconds, ""
    while not is_enough(state := read_state(kubectl)) and time.monotonic() < end:
        if printed != (printed := next_step(state)):
            console.print(f"Waiting for {printed}", highlight=False)
        time.sleep(0.5)
    return state


def next_step(state: DemoState) -> str:
    """Return what has to come next, and what prevents it."""
    placed = sum(bool(row.node) for row in state.rows)
    if state.profiles.get(PROFILE, NOT_RECONCILED) == NOT_RECONCILED:
        step = "the operator to start and to see the profile"
    elif not state.leader:
        step = "the profile's scheduler to start and to lead"
    elif placed < PODS:
        step = f"the pods: {placed} of {PODS} are on a node"
    else:
        step = "both scheduler processes to be ready"
    return f"{step}; the profile is stalled: {state.stalled}" if state.stalled else step


def show_live(kubectl: Kubectl, console: Console, cluster: DemoCluster) -> None:
    """Show how to go on by hand, and below it the state as it changes, until Ctrl-C."""
    instructions = Text.from_markup(instructions_for(cluster))
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as screen:
        while True:
            state = read_state(kubectl)
            room = console.height - len(instructions.wrap(console, console.width)) - len(state.profiles) - 9
            screen.update(Group(instructions, Text(), picture(state, rows=max(room, 3))), refresh=True)
            time.sleep(1)


def picture(state: DemoState, rows: int) -> Group:
    """Return the profiles, the number of pods on each node, and the first of the pods, as lines to print."""
    lines = [Text.assemble((name, "bold"), f"  {readiness}") for name, readiness in sorted(state.profiles.items())]
    if state.stalled:
        lines.append(Text(f"{PROFILE} is stalled: {state.stalled}", "red"))
    if PROFILE not in state.profiles:
        lines.append(Text(f"{PROFILE} is not there: pods that name it wait until it is"))
    nodes = Counter(row.node or "no node yet" for row in state.rows)
    summary = ", ".join(
        f"{count} on {node}" if node != "no node yet" else f"{count} waiting" for node, count in nodes.items()
    )
    rest = [Text(f"… and {len(state.rows) - rows} more")] if len(state.rows) > rows else []
    return Group(*lines, Text(f"{len(state.rows)} pods: {summary}"), table(state.rows[:rows]), *rest, Text(WAITED))


def table(rows: list[Row]) -> Table:
    """Return the pods as a table."""
    pods = Table(expand=False)
    # On a narrow screen the node's name gives way first: the line above the table has it whole.
    for heading, width in (("Pod", 22), ("Phase", 7), ("Node", None), ("Placed by", len(PROFILE)), ("Waited", 6)):
        pods.add_column(heading, no_wrap=width is not None, min_width=width, overflow="ellipsis")
    for row in rows:
        waited = "" if row.seconds is None else f"{row.seconds:.0f} s"
        pods.add_row(row.pod, row.phase, row.node or "-", row.scheduler or "-", waited)
    return pods


def evidence(state: DemoState) -> str:
    """Return three facts that show which scheduler placed the pods."""
    return (
        f"{PODS} pods bound by [bold]{PROFILE}[/bold]: their events come from it, pod {state.leader} "
        f"holds its Lease, and that pod runs as ServiceAccount {state.service_account}."
    )


def instructions_for(cluster: DemoCluster) -> str:
    """Return the commands with which a person can go on in another terminal."""
    return (
        "In another terminal (Ctrl-C here ends everything):\n"
        f"  [bold]{cluster.access}[/bold]\n"
        f"  kubectl get schedulerprofiles; kubectl describe schedulerprofile {PROFILE}\n"
        "  kubectl scale deployment packed --replicas=20"
        + (
            f"\n  tail -n 20 {cluster.logs}"
            if cluster.logs
            else "\n  kubectl logs -n berth-system deployment/berth-operator"
        )
    )
