"""One cluster after another before both schedulers."""

from __future__ import annotations

from dataclasses import dataclass, field

from scheduler_runtime.catalog import Target
from tests.oracle.deciding.comparing import differences
from tests.oracle.deciding.decision import Decision
from tests.oracle.deciding.making.clusters import Cluster
from tests.oracle.deciding.ours import Ours
from tests.oracle.deciding.tally import Tally
from tests.oracle.deciding.theirs import Theirs


@dataclass(slots=True)
class Judge:
    """Both schedulers, and what has come of it so far."""

    target: Target
    theirs: Theirs
    ours: Ours
    tally: Tally = field(default_factory=Tally)
    decisions: list[Decision] = field(default_factory=list)
    """Those of kube-scheduler on the last cluster."""

    def differences(self, cluster: Cluster) -> list[str]:
        """Let both decide about every pod that comes to ``cluster``; return where they differ."""
        self.tally.clusters[cluster.name] += 1
        self.decisions = []
        administrator = self.theirs.administrator
        lines: list[str] = []
        with self.theirs.having(cluster):
            self.ours.look(administrator, {other["kind"] for other in cluster.others})
            for pod in cluster.incoming:
                if changed := cluster.changes.get(pod["metadata"]["name"]):
                    self.theirs.change(changed)
                    self.ours.look_again(administrator)
                stored = self.theirs.offer(pod)
                theirs = self.theirs.decision(stored)
                ours, explanation = self.ours.decide(stored)
                lines += [f"{theirs.pod}: {difference}" for difference in differences(theirs, ours)]
                self.decisions.append(theirs)
                self.tally.note(theirs, explanation)
                if self._is_unsettled():
                    break
                self.ours.look_again(administrator)
        return lines

    def _is_unsettled(self) -> bool:
        """Whether the last decision takes a nomination back, so that kube-scheduler tries that pod again at once."""
        *earlier, last = self.decisions
        return bool(last.victims) and last.nominated in {decision.nominated for decision in earlier}
