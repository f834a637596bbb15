"""The plan of a soak: its size, its duration and its kills."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One soak: rounds of churn with changed documents and a kill, then a calm in which everything is judged."""

    nodes: int = 1000
    minutes: float = 30.0
    round_seconds: float = 60.0
    """Churn and calm together, if nothing is late."""
    pods_per_node: float = 5.0
    per_second: float = 20.0
    """Pods that are replaced per second."""
    lease_seconds: int = 15
    """The time without a leader after a kill. Deadline and period are as in upstream's defaults, to scale."""
    bound_seconds: float = 60.0
    """The time after the end of the churn in which a pod that fits must get a node; then it counts as lost."""
    seed: int = 0
    kubernetes: str = "1.36"

    @property
    def rounds(self) -> int:
        return max(1, round(self.minutes * 60 / self.round_seconds))

    @property
    def churn_seconds(self) -> float:
        return 0.75 * self.round_seconds

    @property
    def crowded(self) -> int:
        """The number of nodes that are so full that important pods must preempt others there."""
        return max(3, self.nodes // 50)

    def kills_the_leader(self, number: int) -> bool:
        """True if round ``number`` ends the leader. Later rounds end the standby, so that a leader grows old."""
        return number < max(2, self.rounds / 2)

    def kills_outright(self, number: int) -> bool:
        """True if round ``number`` ends its process by SIGKILL, instead of SIGTERM."""
        return number % 2 == 0
