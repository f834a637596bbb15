"""A plugin that keeps every promise of the contract, to be broken in one way at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from scheduler_runtime import testing
from scheduler_runtime.api import (
    QUEUE,
    Action,
    Answer,
    ClusterEvent,
    Cycle,
    Event,
    NodeTable,
    Plugin,
    PluginArgs,
    Pod,
    Reject,
    Scores,
    highest_is_best,
)


class Sound(Plugin):
    """Lets only so many pods be on a node, the important ones in smaller company, and prefers empty nodes."""

    class Args(PluginArgs):
        most_pods: int = 3

    events = (ClusterEvent("Node", Action.ADD | Action.UPDATE), ClusterEvent("Pod", Action.DELETE))
    row_local = True

    def pre_filter(self, pod: Pod, nodes: NodeTable, cycle: Cycle) -> Any:
        return self.args.most_pods - (pod.spec.priority > 0)

    def filter(self, pod: Pod, nodes: NodeTable, state: Any) -> Iterator[Reject]:
        yield Reject(nodes.pod_counts >= state, "node is in company")

    def filter_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> Iterator[Reject]:
        if nodes.pod_counts.item(row) >= state:
            yield Reject(True, "node is in company")

    def score(self, pod: Pod, nodes: NodeTable, state: Any) -> Scores:
        return -nodes.pod_counts

    def score_row(self, pod: Pod, nodes: NodeTable, state: Any, row: int) -> int:
        return -nodes.pod_counts.item(row)

    normalize_score = highest_is_best

    def hint(self, event: Event, pod: Pod) -> Answer:
        return QUEUE

    def signature(self, pod: Pod) -> Hashable | None:
        return pod.spec.priority > 0


def broken(base: type[Plugin] = Sound, /, **replaced: Any) -> type[Plugin]:
    """Return ``Sound``, or another plugin, with some of its parts replaced; a hook that is None is left out."""
    parts = {name: getattr(Plugin, name) if part is None else part for name, part in replaced.items()}
    return type("Broken", (base,), parts)


def answering(answer: Any) -> Any:
    """Return a hook that always gives the same answer."""

    def hook(self: Any, *_: Any) -> Any:
        return answer

    return hook


def breach_of(plugin: type[Plugin], check: str, *args: Any, **options: Any) -> str:
    """Return the sentence of the kit about the promise of ``check``. Raises KeyError when it is not broken."""
    return {breach.check: breach.sentence for breach in testing.breaches(plugin, *args, **options)}[check]
