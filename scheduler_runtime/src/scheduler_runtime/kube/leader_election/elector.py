"""One candidate of an election: acquire, renew, release, by the rules of client-go.

             acquire                    renew fails until renewDeadline, or stop()
  standing by ────────► leading ──────────────────────────────────────────────────► stopped

An elector runs once: whoever lost the lease ends its process, because work begun as a leader
may still be on its way. The times in a Lease are never trusted. What counts is when, by our own
monotonic clock, the record last changed.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol

from scheduler_runtime.kube.leader_election.lease_record import (
    JITTER,
    RELEASED_SECONDS,
    LeaseError,
    LeaseRecord,
    LeaseSettings,
    NoLeaseResponseError,
    wall_time,
)
from scheduler_runtime.kube.log_once import LogOnce

logger = logging.getLogger(__name__)

Lease = dict[str, Any]
NEVER = float("-inf")
NOT_YET = float("inf")
PATIENCE = 2
"""So many attempts in a row without an answer are worth a line."""


class LeaseClient(Protocol):
    """The Lease as the API server has it. Every method raises LeaseError, 404 and 409 included."""

    def get(self, timeout: float) -> Lease: ...

    def create(self, lease: Lease, timeout: float) -> Lease: ...

    def update(self, lease: Lease, timeout: float) -> Lease: ...


class LeaderElector:
    """Stands for election, leads, and says until when leading is safe.

    ``on_started`` and ``on_stopped`` are called from the elector's thread and must return at
    once. ``on_stopped`` is always called, also when leadership was never won.
    """

    def __init__(
        self,
        settings: LeaseSettings,
        leases: LeaseClient,
        *,
        clock: Callable[[], float] = time.monotonic,
        on_started: Callable[[], None],
        on_stopped: Callable[[], None],
        on_new_leader: Callable[[str], None] | None = None,
    ) -> None:
        self.settings = settings
        self.hindrance: Callable[[], str | None] = lambda: None
        """Says why this process could not do the leader's work; then it does not renew the lease."""
        self.on_restored: Callable[[str, str], None] = lambda *_: None
        """Is told, in the elector's thread, by a word and in words, how this leader got its own lease back."""
        self._leases = leases
        self._clock = clock
        self._on_started = on_started
        self._on_stopped = on_stopped
        self._on_new_leader = on_new_leader
        self._stopping = threading.Event()
        self._release = True
        self._leading = False
        self._observed: Lease = {}
        self._record = LeaseRecord()
        self._observed_at = NEVER
        self._taken_until = NEVER
        self._safe_until = NEVER
        self._superseded_at = NOT_YET
        self._reported = ""
        self._restored: tuple[str, str] | None = None
        self._failure = ""
        self._unanswered = 0
        self._chance = random.SystemRandom()
        self._trouble = LogOnce(logger, clock)

    # What others ask, from any thread.

    @property
    def is_leader(self) -> bool:
        """Whether this process has won the election and not stopped since; see ``leads_until``."""
        return self._leading

    @property
    def leads_until(self) -> float:
        """The instant of the clock until which acting as the leader is safe; -inf when not leading.

        It counts from the *sending* of the last successful renewal: another candidate waits for
        a whole leaseDuration after that renewal arrived, which is later.
        """
        return self._safe_until if self._leading and self._superseded_at == NOT_YET else NEVER

    @property
    def leader(self) -> str:
        """The identity last seen in the Lease; empty before the first look."""
        return self._record.holder

    @property
    def lease(self) -> Lease:
        """The Lease as it was last seen; empty before the first look. Not to be changed."""
        return self._observed

    @property
    def seconds_until_free(self) -> float:
        """For how many seconds the lease is another's if it is not renewed; 0 for whoever led: it does not wait."""
        return 0.0 if self._leading else max(self._taken_until - self._clock(), 0.0)

    def check(self, tolerance: float = 20.0) -> str | None:
        """Say what is wrong when a leader has not renewed long after its lease ran out.

        A watchdog for a stuck elector: a healthy one has stopped leading long before.
        """
        age = self._clock() - self._observed_at
        if self._leading and age > self.settings.lease_duration + tolerance:
            return f"lease {self.settings.key}: not renewed for {age:.0f} s"
        return None

    # The life of an elector.

    def run(self) -> None:
        """Stand for election, lead until the lease is lost or ``stop`` is called, then return."""
        try:
            if self._acquire() and self._lead() and self._release:
                self.release()
        finally:
            self._on_stopped()

    def stop(self, *, release: bool = True) -> None:
        """End ``run``. With ``release`` the lease is given up, so that another leads at once.

        Release only when everything that acts as the leader has stopped.
        """
        self._release = release
        self._stopping.set()

    def _acquire(self) -> bool:
        """Try, with pauses that differ between candidates, until it succeeds or we are stopped."""
        period = self.settings.retry_period
        while not self._stopping.is_set():
            if self.try_acquire_or_renew(self._clock() + self.settings.renew_deadline):
                return True
            self._stopping.wait(period + self._chance.random() * JITTER * period)
        return False

    def _lead(self) -> bool:
        """Lead as long as that is possible or wanted; return whether the lease may be released.

        From when to when is said as times of day, and on the monotonic clock, which all processes of a machine share.
        """
        since = self._safe_until - self.settings.renew_deadline
        self._leading = True
        said: dict[str, float | str] = {"from": self._shown(since), "monotonic_from": round(since, 3)}
        logger.info("leading: %s holds lease %s", self.settings.identity, self.settings.key, extra=said)
        try:
            self._on_started()
            return self._renew()
        finally:
            self._leading = False
            until = min(self._clock(), self._safe_until, self._superseded_at)
            said |= {"to": self._shown(until), "monotonic_to": round(until, 3)}
            logger.info("led with lease %s", self.settings.key, extra=said)

    def _shown(self, instant: float) -> str:
        """An instant of our clock as one that people read."""
        seconds = time.time() + instant - self._clock()
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _renew(self) -> bool:
        """Keep the lease until told to stop. False when it is lost: what was begun may not have ended yet."""
        while not self._stopping.wait(self.settings.retry_period):
            if (why := self.hindrance()) is not None:
                logger.error("gave up lease %s: %s", self.settings.key, why)
                return False
            if not self._renew_once():
                logger.error("lost lease %s: %s", self.settings.key, self._failure or f"held by {self.leader}")
                return False
        return True

    def _renew_once(self) -> bool:
        """Attempt again and again until one attempt succeeds or renewDeadline has passed."""
        deadline = self._clock() + self.settings.renew_deadline
        while not self.try_acquire_or_renew(deadline):
            if self._stopping.wait(min(self.settings.retry_period, deadline - self._clock())):
                return True  # stopped on purpose, which is not a loss
            if self._clock() >= deadline:
                return False
        return True

    # One attempt.

    def try_acquire_or_renew(self, deadline: float) -> bool:
        """Acquire the lease, or renew it; no request outlives ``deadline`` on the clock."""
        try:
            won = self._attempt(deadline)
        except LeaseError as error:
            self._failure = str(error)
            self._say(error)
            won = False
        else:
            self._failure, self._unanswered = "", 0
            self._trouble.recovered()
        self._report_leader()
        if won and self._restored:
            self.on_restored(*self._restored)
            self._restored = None
        return won

    def _say(self, error: LeaseError) -> None:
        """Say what is wrong; not at once that nobody answered, which passes, or which everybody says who asks."""
        if not isinstance(error, NoLeaseResponseError):
            self._unanswered = 0
            self._trouble.failing(f"lease {self.settings.key}: {error}")
            return
        self._unanswered += 1
        if self._unanswered >= PATIENCE:
            self._trouble.failing(f"lease {self.settings.key}: no answer from the API server", str(error))

    def _attempt(self, deadline: float) -> bool:
        if self._holds() and self._valid():
            try:
                self._write(self._ours(replace(self._record, renew_time=wall_time())), deadline)
            except LeaseError as error:
                logger.debug("lease %s: renewing what was last seen failed: %s", self.settings.key, error)
            else:
                return True
        found = self._look(deadline)
        if found is None:
            self._create(deadline)
            return True
        held = self._holds()
        self._observe(found, self._clock())
        if self._holds():
            self._superseded_at = NOT_YET
        else:  # whoever has it may act already: our last renewal counts no more
            self._superseded_at = min(self._superseded_at, self._clock())
        if self._is_taken():
            return False
        if held and not self._record.holder:
            logger.warning("lease %s: somebody took us out of it; taking it again", self.settings.key)
            self._restored = "LeaseTakenAgain", "took its lease again, which named nobody any more"
        now = wall_time()
        if self._holds():
            record = replace(self._record, renew_time=now)
        else:
            record = LeaseRecord(acquire_time=now, renew_time=now, transitions=self._record.transitions + 1)
        self._write(self._ours(record), deadline)
        return True

    def _look(self, deadline: float) -> Lease | None:
        """The Lease as it is now; None when it has to be made."""
        try:
            return self._request(self._leases.get, deadline)
        except LeaseError as error:
            if error.status != 404:
                raise
        if self._holds():
            logger.warning("lease %s was deleted while we held it; making it again", self.settings.key)
            self._restored = "LeaseMadeAgain", "made its lease again, which was gone"
        elif self._taken_until > self._clock():
            raise LeaseError("was deleted; not made again before it would have run out, as its holder may lead still")
        return None

    def release(self) -> bool:
        """Give the lease up if it is still ours; say whether it is given up."""
        deadline = self._clock() + self.settings.renew_deadline
        try:
            self._observe(self._request(self._leases.get, deadline), self._clock())
            if not self._holds():
                return False
            now = wall_time()
            self._write(
                replace(self._record, holder="", duration_seconds=RELEASED_SECONDS, acquire_time=now, renew_time=now),
                deadline,
            )
        except LeaseError as error:
            logger.warning("lease %s was not released, others wait until it runs out: %s", self.settings.key, error)
            return False
        logger.info("released lease %s", self.settings.key)
        return True

    def _holds(self) -> bool:
        return self._record.holder == self.settings.identity

    def _is_taken(self) -> bool:
        """Whether another holds the lease, or may still believe so.

        Who deletes a Lease, or takes the holder out of it by hand, does not tell the holder. Stricter than
        client-go, we do not take such a lease before it would have run out, and raise LeaseError to say so.
        """
        if self._holds() or self._taken_until <= self._clock():
            return False
        if not self._record.holder:
            raise LeaseError("was taken from its holder, who may not know; not taken before it would have run out")
        return True

    def _valid(self) -> bool:
        """Whether the lease last seen still runs, by its own duration and our own clock."""
        return self._observed_at + self._record.duration_seconds > self._clock()

    def _ours(self, record: LeaseRecord) -> LeaseRecord:
        return replace(record, holder=self.settings.identity, duration_seconds=self.settings.duration_seconds)

    def _observe(self, lease: Lease, at: float) -> None:
        record = LeaseRecord.from_lease(lease)
        self._observed = lease
        if record == self._record:
            return
        was_ours = self._holds()
        self._record, self._observed_at = record, at
        if record.is_released:
            self._taken_until = NEVER
        elif record.holder and not self._holds():
            self._taken_until = at + record.duration_seconds
        elif record.was_emptied and not was_ours and self._taken_until <= at:
            seconds = record.duration_seconds or self.settings.duration_seconds
            self._taken_until = at + seconds  # whoever was taken out of it may have just renewed it

    def _create(self, deadline: float) -> None:
        now = wall_time()
        metadata = {"namespace": self.settings.namespace, "name": self.settings.name}
        lease = self._ours(LeaseRecord(acquire_time=now, renew_time=now)).onto(
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
        )
        sent_at = self._clock()
        try:
            created = self._request(lambda timeout: self._leases.create(lease, timeout), deadline)
        except LeaseError as error:
            if error.status != 403:
                raise
            raise LeaseError(
                "does not exist and may not be created; create it, or grant create on "
                f"leases.coordination.k8s.io in namespace {self.settings.namespace}",
                error.status,
            ) from error
        self._accept(created, sent_at)

    def _write(self, record: LeaseRecord, deadline: float) -> None:
        lease = record.onto(self._observed)
        sent_at = self._clock()
        self._accept(self._request(lambda timeout: self._leases.update(lease, timeout), deadline), sent_at)

    def _accept(self, written: Lease, sent_at: float) -> None:
        """Take over what the API server stored. Safe time counts from the sending, not the answer."""
        now = self._clock()
        self._observe(written, now)
        self._observed_at = now
        self._safe_until = sent_at + self.settings.renew_deadline
        self._superseded_at = NOT_YET

    def _request(self, send: Callable[[float], Lease], deadline: float) -> Lease:
        """Send from a thread that may be left behind, so that nothing can outlive the deadline."""
        timeout = min(self.settings.request_timeout, deadline - self._clock())
        if timeout <= 0:
            raise NoLeaseResponseError("no time left before renewDeadline")
        answer: list[Lease | Exception] = []

        def fill() -> None:
            try:
                answer.append(send(timeout))
            except Exception as error:  # noqa: BLE001  raised again in the thread that waits
                answer.append(error)

        thread = threading.Thread(target=fill, name="lease-request", daemon=True)
        thread.start()
        thread.join(timeout)
        if not answer:
            raise NoLeaseResponseError(f"no answer within {timeout:.1f} s")
        if isinstance(answer[0], Exception):
            raise answer[0]
        return answer[0]

    def _report_leader(self) -> None:
        if self._record.holder != self._reported:
            self._reported = self._record.holder
            if self._on_new_leader:
                self._on_new_leader(self._reported)
