"""Claimed victims: pods that have to leave their nodes so that others have room.

                    claim                       mark_asked                          forget
  a pod on a node ─────────► a preemptor needs ────────────► the API server agreed ─────────► on no node any more
         ▲                   its room  │        (or a binding was taken back)
         └─────────────────────────────┘
                    release (nobody needs its room any more, or it could not be asked); forget_asked, a restored backup

A victim counts as leaving from the decision on, before the watch shows that it is being deleted: decisions follow each
other faster than that, and must neither take a victim for one that stays nor ask for it again.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView

from scheduler_runtime.state.objects import Pod


class ClaimedVictims:
    """The pods on nodes that some preemptor has claimed, by uid."""

    def __init__(self) -> None:
        self._preemptors: dict[str, set[str]] = {}
        """By the victim's uid: the uids of those that need its room."""
        self.uids: KeysView[str] = self._preemptors.keys()
        """The uids of the victims, at any moment."""
        self._asked: set[str] = set()

    def __contains__(self, uid: object) -> bool:
        """True from the claim on until the pod is on no node any more, or is released by all that claimed it."""
        return uid in self._preemptors

    def claim(self, preemptor: Pod, victims: Iterable[Pod]) -> None:
        """Count ``victims`` as leaving, for ``preemptor``."""
        for victim in victims:
            self._preemptors.setdefault(victim.metadata.uid, set()).add(preemptor.metadata.uid)

    def release(self, preemptor: Pod, victims: Iterable[Pod]) -> None:
        """Take back the claims of ``preemptor``. A victim that was asked leaves all the same."""
        for victim in victims:
            uid = victim.metadata.uid
            preemptors = self._preemptors.get(uid)
            if preemptors is not None:
                preemptors.discard(preemptor.metadata.uid)
                if not preemptors and uid not in self._asked:
                    del self._preemptors[uid]

    def mark_asked(self, victim: Pod) -> None:
        """Note that a claimed pod leaves, whoever needs its room; no news about one that has left meanwhile."""
        if victim.metadata.uid in self._preemptors:
            self._asked.add(victim.metadata.uid)

    def is_asked(self, victim: Pod) -> bool:
        """True if nobody has to ask this pod any more."""
        return victim.metadata.uid in self._asked

    def forget_asked(self) -> None:
        """Have all victims asked again: the API server's data may be from before their deletion was requested.

        As after a backup was restored. Asking one that is being deleted all the same does no harm.
        """
        for uid in self._asked:
            if not self._preemptors[uid]:
                del self._preemptors[uid]
        self._asked.clear()

    def forget(self, uid: str) -> None:
        """Drop a pod that leaves no more, or is on no node any more. It is no error if it was no victim."""
        if self._preemptors.pop(uid, None) is not None:
            self._asked.discard(uid)
