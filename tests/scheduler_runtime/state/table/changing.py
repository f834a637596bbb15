"""A state machine that changes a table and records the changes, so that the two can be compared."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from scheduler_runtime.state import objects
from scheduler_runtime.state.table import Table


class Changing(RuleBasedStateMachine):
    """Nodes and pods go; those who compare say which come."""

    def __init__(self) -> None:
        super().__init__()
        self.table = Table()
        self.nodes: dict[str, objects.Node] = {}
        self.pods: dict[str, tuple[objects.Pod, str]] = {}
        self.created = 0

    def node_comes(self, node: objects.Node) -> None:
        """A node appears, or is another from now on."""
        self.table.set_node(node)
        self.nodes[node.name] = node

    def pod_comes(self, pod: objects.Pod, name: str) -> None:
        """A pod comes to the node called ``name``, which may be unknown yet."""
        self.table.add_pod(pod, name)
        self.pods[pod.uid] = (pod, name)

    def next_name(self) -> str:
        """The name of a new pod."""
        self.created += 1
        return f"pod-{self.created}"

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def remove_node(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        self.table.remove_node(name)
        del self.nodes[name]

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def remove_pod(self, data: st.DataObject) -> None:
        pod, name = self.pods.pop(data.draw(st.sampled_from(sorted(self.pods))))
        self.table.remove_pod(pod, name)
