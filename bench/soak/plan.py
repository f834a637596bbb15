"""What a soak is to be: how large, how long, how rough."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One soak. It goes in rounds: churn with documents and a kill in it, then a calm in which all is judged."""

    nodes: int = 1000
    minutes: float = 30.0
    round_seconds: float = 60.0
    """How long churn and calm take together, if nothing is late."""
    pods_per_node: float = 5.0
    per_second: float = 20.0
    """How many pods are replaced a second."""
    lease_seconds: int = 15
    """A leader that is killed is missed for that long. Deadline and period are as in upstream's defaults, to scale."""
    bound_seconds: float = 60.0
    """How long a pod that fits may wait after the churn has ended, before it counts as lost."""
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
        """How many nodes are kept so full that important pods must preempt others there."""
        return max(3, self.nodes // 50)

    def kills_the_leader(self, number: int) -> bool:
        """Whether round ``number`` ends the leader. Later rounds end the standby, so that a leader grows old."""
        return number < max(2, self.rounds / 2)

    def kills_outright(self, number: int) -> bool:
        """Whether the process of round ``number`` is ended by -9, instead of being told to end."""
        return number % 2 == 0
