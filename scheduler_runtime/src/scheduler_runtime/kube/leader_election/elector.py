"""Candidate of a leader election: acquires, renews and releases a Lease by the rules of client-go.

             acquire                    renew fails until renewDeadline, or stop()
  standing by ────────► leading ──────────────────────────────────────────────────► stopped

The rules are those of client-go's tools/leaderelection/leaderelection.go, whose names are kept where a function does
the same. An elector runs once: a process that lost the lease has to end, because work begun as a leader may still be
on its way. The times in a Lease are never trusted, as the clocks of two machines differ. Only the moment counts at
which the record last changed, by this process's own monotonic clock.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol

from scheduler_runtime.kube import credentials as kube_credentials
from scheduler_runtime.kube.leader_election.lease import (
    JITTER,
    RELEASED_SECONDS,
    HttpLeaseClient,
    Lease,
    LeaseError,
    LeaseRecord,
    LeaseSettings,
    NoLeaseResponseError,
    wall_time,
)
from scheduler_runtime.kube.log_once import LogOnce

logger = logging.getLogger(__name__)

PAST = float("-inf")
FUTURE = float("inf")
FAILURES_BEFORE_WARNING = 2
"""Attempts in a row without a response before a warning is logged: a single one usually passes by itself."""


class LeaseClient(Protocol):
    """Access to one Lease of the API server. Every method raises LeaseError, also for the statuses 404 and 409."""

    def get(self, timeout: float) -> Lease: ...

    def create(self, lease: Lease, timeout: float) -> Lease: ...

    def update(self, lease: Lease, timeout: float) -> Lease: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderCallbacks:
    """Functions that an elector calls, all of them in its own thread; each must return at once.

    The struct of client-go with the same name, and ``on_restored``.
    """

    on_started: Callable[[], None]
    """The lease is won."""
    on_stopped: Callable[[], None]
    """The elector ends. Called in any case, also when the lease was never won."""
    on_new_leader: Callable[[str], None] = lambda _: None
    """The Lease names another identity than before, perhaps our own, perhaps none."""
    on_restored: Callable[[str, str], None] = lambda *_: None
    """This leader got back a lease that somebody had deleted or emptied: a reason, as events have, and a sentence."""


class LeaderElector:
    """Takes part in an election, leads, and knows until when leading is safe.

    ``run`` blocks a thread of its own. Properties and ``check`` may be read from any thread.
    """

    def __init__(
        self,
        settings: LeaseSettings,
        leases: LeaseClient,
        callbacks: LeaderCallbacks,
        *,
        clock: Callable[[], float] = time.monotonic,
        health_check: Callable[[], str | None] = lambda: None,
    ) -> None:
        """``health_check`` returns why this process cannot do the leader's work; then the lease is not renewed."""
        self.settings = settings
        self._leases = leases
        self._callbacks = callbacks
        self._clock = clock
        self._health_check = health_check
        self._stopping = threading.Event()
        self._release = True
        self._leading = False
        self._lease: Lease = {}
        self._record = LeaseRecord()
        self._observed_at = PAST
        """When ``_record`` was first observed, or last renewed by us."""
        self._other_leads_until = PAST
        """Until then another may lead, or believe so, and the lease is not to be taken."""
        self._safe_until = PAST
        self._superseded_at = FUTURE
        """When another was first observed to hold the lease after we did: from then on nothing is safe."""
        self._reported_leader = ""
        self._restored: tuple[str, str] | None = None
        self._failure = ""
        self._failures_in_a_row = 0
        self._jitter = random.SystemRandom()
        self._log = LogOnce(logger, clock)

    @property
    def is_leader(self) -> bool:
        """True if this process has won the election and not stopped since; see ``leads_until``."""
        return self._leading

    @property
    def leads_until(self) -> float:
        """The instant of the clock until which acting as the leader is safe; -inf when not leading.

        It counts from the *sending* of the last successful renewal: another candidate waits for
        a whole leaseDuration after that renewal arrived, which is later.
        """
        return self._safe_until if self._leading and self._superseded_at == FUTURE else PAST

    @property
    def leader(self) -> str:
        """The identity in the Lease as last observed; empty before the first response."""
        return self._record.holder

    @property
    def lease(self) -> Lease:
        """The Lease as last observed; empty before the first response. Not to be changed."""
        return self._lease

    @property
    def seconds_until_free(self) -> float:
        """Seconds until another's lease may be taken if it is not renewed; 0 for a leader, which does not wait."""
        return 0.0 if self._leading else max(self._other_leads_until - self._clock(), 0.0)

    def check(self, tolerance: float = 20.0) -> str | None:
        """Return what is wrong when a leader has not renewed long after its lease ran out, otherwise None.

        A watchdog for a stuck elector, as client-go's HealthzAdaptor: a healthy one has stopped leading long before.
        """
        age = self._clock() - self._observed_at
        if self._leading and age > self.settings.lease_duration + tolerance:
            return f"lease {self.settings.key}: not renewed for {age:.0f} s"
        return None

    def run(self) -> None:
        """Stand for election, lead until the lease is lost or ``stop`` is called, then return."""
        try:
            if self._acquire() and self._lead() and self._release:
                self.release()
        finally:
            self._callbacks.on_stopped()

    def stop(self, *, release: bool = True) -> None:
        """End ``run``. With ``release`` the lease is given up, so that another leads at once.

        Release only when everything that acts as the leader has stopped.
        """
        self._release = release
        self._stopping.set()

    def _acquire(self) -> bool:
        """Try until the lease is won, which returns True, or the elector is stopped.

        The pauses are random, so that candidates that started together do not write at the same moment for ever.
        """
        period = self.settings.retry_period
        while not self._stopping.is_set():
            if self.try_acquire_or_renew(self._clock() + self.settings.renew_deadline):
                return True
            self._stopping.wait(period + self._jitter.random() * JITTER * period)
        return False

    def _lead(self) -> bool:
        """Lead until stopped or the lease is lost; return whether the lease may be released.

        The log has the time of leading as times of day, for people, and on the monotonic clock, which all processes of
        a machine share: so that two terms can be compared exactly.
        """
        since = self._safe_until - self.settings.renew_deadline
        self._leading = True
        term: dict[str, float | str] = {"from": self._time_of_day(since), "monotonic_from": round(since, 3)}
        logger.info("leading: %s holds lease %s", self.settings.identity, self.settings.key, extra=term)
        try:
            self._callbacks.on_started()
            return self._renew()
        finally:
            self._leading = False
            until = min(self._clock(), self._safe_until, self._superseded_at)
            term |= {"to": self._time_of_day(until), "monotonic_to": round(until, 3)}
            logger.info("led with lease %s", self.settings.key, extra=term)

    def _renew(self) -> bool:
        """Keep the lease until stopped, which returns True. False when it is lost.

        A lost lease must not be released: requests sent as the leader may still arrive, and until the lease runs out
        no other leads.
        """
        while not self._stopping.wait(self.settings.retry_period):
            if (problem := self._health_check()) is not None:
                logger.error("gave up lease %s: %s", self.settings.key, problem)
                return False
            deadline = self._clock() + self.settings.renew_deadline
            while not self.try_acquire_or_renew(deadline):
                if self._stopping.wait(min(self.settings.retry_period, deadline - self._clock())):
                    return True  # stopped on purpose, which is not a loss
                if self._clock() >= deadline:
                    reason = self._failure or f"held by {self.leader}"
                    logger.error("lost lease %s: %s", self.settings.key, reason)
                    return False
        return True

    def try_acquire_or_renew(self, deadline: float) -> bool:
        """Acquire the lease, or renew it, and return whether it is ours; no request outlives ``deadline`` on the clock.

        Failures are logged, not raised.
        """
        try:
            is_ours = self._write_if_free_or_ours(deadline)
        except LeaseError as error:
            is_ours, self._failure = False, str(error)
            if not isinstance(error, NoLeaseResponseError):
                self._failures_in_a_row = 0
                self._log.failing(f"lease {self.settings.key}: {error}")
            else:
                # A first failure without a response is not logged: it mostly passes, or other clients of this
                # process log it anyway.
                self._failures_in_a_row += 1
                if self._failures_in_a_row >= FAILURES_BEFORE_WARNING:
                    self._log.failing(f"lease {self.settings.key}: no answer from the API server", str(error))
        else:
            self._failure, self._failures_in_a_row = "", 0
            self._log.recovered()
        if self._record.holder != self._reported_leader:
            self._reported_leader = self._record.holder
            self._callbacks.on_new_leader(self._reported_leader)
        if is_ours and self._restored:
            self._callbacks.on_restored(*self._restored)
            self._restored = None
        return is_ours

    def _write_if_free_or_ours(self, deadline: float) -> bool:
        """Write our identity into the Lease if nobody else leads, and return whether it stands there.

        The steps are those of client-go's tryAcquireOrRenew. Raises LeaseError.
        """
        # 1. A leader renews what it observed last, without reading before. If somebody has changed the Lease
        #    meanwhile this is a conflict, and nothing is overwritten.
        if self._is_holder() and self._observed_at + self._record.duration_seconds > self._clock():
            try:
                self._update(self._claim(replace(self._record, renew_time=wall_time())), deadline)
            except LeaseError as error:
                logger.debug("lease %s: renewing what was observed last failed: %s", self.settings.key, error)
            else:
                return True
        # 2. Read the Lease, or create it.
        was_holder = self._is_holder()
        lease = self._get(deadline)
        if lease is None:
            self._create(deadline)
            return True
        self._observe(lease, self._clock())
        # 3. Stop if another leads, or may still believe so.
        if self._is_holder():
            self._superseded_at = FUTURE
        else:
            # Whoever is in the Lease may act already: our last renewal counts no more, although it has not run out.
            self._superseded_at = min(self._superseded_at, self._clock())
            if self._other_leads_until > self._clock():
                if self._record.holder:
                    return False
                # Stricter than client-go: a person who removes the holder by hand does not inform the holder, so
                # such a lease is not taken before it would have run out.
                raise LeaseError("was taken from its holder, who may not know; not taken before it would have run out")
        if was_holder and not self._record.holder:
            logger.warning("lease %s: somebody took us out of it; taking it again", self.settings.key)
            self._restored = "LeaseTakenAgain", "took its lease again, which named nobody any more"
        # 4. Write. The resource version that was read is sent along, so of several candidates one succeeds.
        now = wall_time()
        if self._is_holder():
            record = replace(self._record, renew_time=now)
        else:
            record = LeaseRecord(acquire_time=now, renew_time=now, transitions=self._record.transitions + 1)
        self._update(self._claim(record), deadline)
        return True

    def _get(self, deadline: float) -> Lease | None:
        """Return the Lease as it is now; None when it does not exist and may be created. Raises LeaseError."""
        try:
            return self._send(self._leases.get, deadline)
        except LeaseError as error:
            if error.status != 404:
                raise
        if self._is_holder():
            logger.warning("lease %s was deleted while we held it; making it again", self.settings.key)
            self._restored = "LeaseMadeAgain", "made its lease again, which was gone"
        elif self._other_leads_until > self._clock():
            # As for an emptied lease: its holder does not know that it was deleted.
            raise LeaseError("was deleted; not made again before it would have run out, as its holder may lead still")
        return None

    def release(self) -> bool:
        """Give the lease up if it is still ours; return whether it was given up. Failures are logged."""
        deadline = self._clock() + self.settings.renew_deadline
        try:
            self._observe(self._send(self._leases.get, deadline), self._clock())
            if not self._is_holder():
                return False
            now = wall_time()
            # As client-go does: the shortest duration a Lease can have, for candidates that would wait for it.
            self._update(
                replace(self._record, holder="", duration_seconds=RELEASED_SECONDS, acquire_time=now, renew_time=now),
                deadline,
            )
        except LeaseError as error:
            logger.warning("lease %s was not released, others wait until it runs out: %s", self.settings.key, error)
            return False
        logger.info("released lease %s", self.settings.key)
        return True

    def _is_holder(self) -> bool:
        return self._record.holder == self.settings.identity

    def _claim(self, record: LeaseRecord) -> LeaseRecord:
        return replace(record, holder=self.settings.identity, duration_seconds=self.settings.duration_seconds)

    def _observe(self, lease: Lease, now: float) -> None:
        """Note the Lease, and from when on it may be taken, if its record has changed.

        An unchanged record does not count anew, however often it is read: that is how a holder that stopped renewing is
        noticed without trusting the times that it wrote.
        """
        record = LeaseRecord.from_lease(lease)
        self._lease = lease
        if record == self._record:
            return
        was_holder = self._is_holder()
        self._record, self._observed_at = record, now
        if record.is_released:
            self._other_leads_until = PAST
        elif record.holder and not self._is_holder():
            self._other_leads_until = now + record.duration_seconds
        elif record.was_emptied and not was_holder and self._other_leads_until <= now:
            # The one who was taken out of it may have renewed just before.
            self._other_leads_until = now + (record.duration_seconds or self.settings.duration_seconds)

    def _create(self, deadline: float) -> None:
        now = wall_time()
        metadata = {"namespace": self.settings.namespace, "name": self.settings.name}
        lease = self._claim(LeaseRecord(acquire_time=now, renew_time=now)).onto(
            {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
        )
        sent_at = self._clock()
        try:
            stored = self._send(lambda timeout: self._leases.create(lease, timeout), deadline)
        except LeaseError as error:
            if error.status != 403:
                raise
            raise LeaseError(
                "does not exist and may not be created; create it, or grant create on "
                f"leases.coordination.k8s.io in namespace {self.settings.namespace}",
                error.status,
            ) from error
        self._accept(stored, sent_at)

    def _update(self, record: LeaseRecord, deadline: float) -> None:
        lease = record.onto(self._lease)
        sent_at = self._clock()
        self._accept(self._send(lambda timeout: self._leases.update(lease, timeout), deadline), sent_at)

    def _accept(self, stored: Lease, sent_at: float) -> None:
        """Note what the API server stored. The safe time counts from the sending, not from the response.

        Others start to wait when the renewal arrives, which is after it was sent. Had it counted from the response, a
        slow one would let us act while another leads already.
        """
        now = self._clock()
        self._observe(stored, now)
        self._observed_at = now
        self._safe_until = sent_at + self.settings.renew_deadline
        self._superseded_at = FUTURE

    def _send(self, request: Callable[[float], Lease], deadline: float) -> Lease:
        """Send a request and return the response. Raises LeaseError, at ``deadline`` at the latest.

        The request runs in a thread that can be left behind: name resolution has no timeout, and that of a socket is
        for each read, not for the whole. A leader must know in time that it has not renewed.
        """
        timeout = min(self.settings.request_timeout, deadline - self._clock())
        if timeout <= 0:
            raise NoLeaseResponseError("no time left before renewDeadline")
        result: list[Lease | Exception] = []

        def fill() -> None:
            try:
                result.append(request(timeout))
            except Exception as error:  # noqa: BLE001  raised again in the thread that waits
                result.append(error)

        thread = threading.Thread(target=fill, name="lease-request", daemon=True)
        thread.start()
        thread.join(timeout)
        if not result:
            raise NoLeaseResponseError(f"no answer within {timeout:.1f} s")
        if isinstance(result[0], Exception):
            raise result[0]
        return result[0]

    def _time_of_day(self, instant: float) -> str:
        """An instant of the clock as people read it."""
        seconds = time.time() + instant - self._clock()
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def create_elector(
    settings: LeaseSettings,
    callbacks: LeaderCallbacks,
    *,
    kubeconfig: str = "",
    user_agent: str = "berth",
    clock: Callable[[], float] = time.monotonic,
    health_check: Callable[[], str | None] = lambda: None,
) -> LeaderElector:
    """Return an elector that has a connection of its own, with the credentials of ``kubeconfig`` or of the pod.

    Raises CredentialsError.
    """
    credentials = kube_credentials.load(kubeconfig)
    leases = HttpLeaseClient(credentials, settings.namespace, settings.name, user_agent)

    def close_and_report() -> None:
        leases.close()
        callbacks.on_stopped()

    callbacks_that_close = replace(callbacks, on_stopped=close_and_report)
    return LeaderElector(settings, leases, callbacks_that_close, clock=clock, health_check=health_check)
