"""Brings revisions into force: beside the last good one until the new one is good, and back if it is not (ADR 31).

                ┌── is the last good one ──────────► apply it
a new revision ─┼── failed before ─────────────────► maintain the last good one
                └── otherwise: try out, apply beside the last good one, observe
                                  │ good: keep it, narrow roles, remove what is left over
                                  └ failed: remember that, maintain the last good one
"""

import base64
import json
import logging
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from scheduler_operator.cluster.api import RequestError
from scheduler_operator.cluster.apply import Applier, NameConflictError, Trial
from scheduler_operator.cluster.generated_objects import GeneratedObjects
from scheduler_operator.desired import desired_objects
from scheduler_operator.desired.revision import KeptRevision, Revision, controller_revision
from scheduler_operator.desired.workload import Release
from scheduler_operator.reconcile.api_refusals import is_escalation
from scheduler_operator.reconcile.events import ProfileEvents
from scheduler_operator.reconcile.scheduler_state import SchedulerState, read_state
from scheduler_operator.reconcile.status import LastGood, configuration_report
from scheduler_operator.render import Rendered
from scheduler_operator.resources import kinds
from scheduler_operator.resources.names import Identity, Object, generated_name, identity, is_owned_by
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog.bounds import MAX_MESSAGE, cut

logger = logging.getLogger(__name__)

REFUSED_SECONDS = 5.0
"""How long a refusal by schedulers has to last: rights that were applied just before may not be known yet."""
_PLAIN_BYTES = 256 * 1024
"""A revision with more is kept compressed: etcd takes about one and a half megabytes."""


@dataclass(frozen=True, slots=True)
class RolledBack:
    """The revision failed, now or before."""

    cause: str


def create_revision(profiles: Sequence[UserObject], rendered: Rendered, release: Release) -> Revision:
    """Return the revision that follows from what was rendered for ``profiles``, the first of which has the process."""
    objects = desired_objects(profiles[0], rendered, release)
    config_map = next(item for item in objects if item["kind"] == kinds.CONFIG_MAP.name)["metadata"]["name"]
    reports = {profile.name: configuration_report(profile, rendered, config_map) for profile in profiles}
    return Revision(tuple(objects), rendered.hash, reports)


class Rollouts:
    """Brings one revision after the other into force. Every method raises RequestError, and NameConflictError."""

    def __init__(
        self,
        applier: Applier,
        generated: GeneratedObjects,
        events: ProfileEvents,
        namespace: str,
        clock: Callable[[], float],
    ) -> None:
        self._applier = applier
        self._generated = generated
        self._events = events
        self._namespace = namespace
        self._clock = clock
        self._refused_since: dict[str, tuple[str, float]] = {}
        """The revision of each profile that schedulers refuse, and since when."""

    @property
    def is_complete(self) -> bool:
        """True once every generated object is known."""
        return self._generated.is_complete

    async def roll_out(
        self, owner: UserObject, joiners: Collection[UserObject], revision: Revision
    ) -> SchedulerState | RolledBack:
        """Bring ``revision`` into force for the process of ``owner`` and those who join it."""
        kept = self._kept(owner)
        if kept is not None and kept.failed == revision.digest:
            return RolledBack(kept.cause)
        if kept is None or kept.digest == revision.digest:
            trial = await self._applier.try_out(owner, revision.objects)
            applied = await self._apply(trial, joiners)
            state = self.observe(owner, applied)
            made = _uids(applied)
            if kept is None and state.goes_by(revision.document):
                await self._keep(owner, revision, KeptRevision(0, revision.digest, made=made))
            elif kept is not None and kept.made != made:  # they are ours for the next operator, too
                await self._keep(owner, revision, replace(kept, made=made))
            return state
        last_good = await self._read(owner, kept)
        trial = await self._try_out_beside(owner, last_good, revision)
        applied = await self._apply(trial, joiners, last_good)
        state = self.observe(owner, applied)
        if state.goes_by(revision.document):
            made = {key: uid for key, uid in _uids(applied).items() if key in revision.identities}
            await self._keep(owner, revision, KeptRevision(0, revision.digest, made=made))
            # What only the one before needed is taken away when that is not the last good one any more.
            await self._apply(await self._applier.try_out(owner, revision.objects), ())
        elif cause := self._lasting_failure(owner, revision, state):
            logger.warning("%s %s: going back to the last good revision: %s", owner.kind, owner.name, cause)
            cause = cut(cause, MAX_MESSAGE)
            failed = replace(kept, failed=revision.digest, cause=cause)
            await self._keep(owner, last_good, failed)
            return RolledBack(cause)
        return state

    async def maintain(self, owner: UserObject) -> LastGood | None:
        """Keep the last good revision of ``owner`` in force, and return it; None if there is none."""
        kept = self._kept(owner)
        if kept is None:
            return None
        last_good = await self._read(owner, kept)
        try:
            trial = await self._applier.try_out(owner, last_good.objects)
            applied = await self._apply(trial, ())
        except (NameConflictError, RequestError) as error:
            # Whoever has to correct the newest has to know this, too; and it is tried again.
            return LastGood(last_good, self.look(owner), str(error))
        return LastGood(last_good, self.observe(owner, applied))

    def observe(self, owner: UserObject, objects: Mapping[Identity, Object]) -> SchedulerState:
        """Return the state of the processes of ``owner``, whose objects are these."""
        name = generated_name(owner.name)
        deployment = objects.get((kinds.DEPLOYMENT.name, name))
        pods = self._generated.of(owner.name, kinds.POD) if deployment else []
        lease, is_silent = objects.get((kinds.LEASE.name, name), {}), self._generated.renewals.is_silent(name)
        return read_state(deployment, lease, pods, is_silent=is_silent)

    def look(self, owner: UserObject) -> SchedulerState:
        """Return the state of the processes of ``owner``, and change nothing."""
        return self.observe(owner, {identity(item): item for item in self._generated.of(owner.name, *kinds.GENERATED)})

    async def end_process(self, profile: UserObject) -> None:
        """Remove the process that a profile had of its own, and its revisions."""
        trial = await self._applier.try_out(profile, ())
        if trial.live:
            await self._applier.apply(trial, partial(self._events.record, profile))
        for revision in self._generated.of(profile.name, kinds.REVISION):
            if is_owned_by(profile, revision):
                await self._applier.delete(revision)

    def is_contested(self, profile: str) -> bool:
        """Return whether an object of the profile is left as others want it, until it is changed back again."""
        return self._applier.is_contested(profile)

    def forget(self, profile: str) -> None:
        """Forget a profile, which is deleted: its objects are garbage-collected, by owner reference."""
        self._applier.forget(profile)
        self._refused_since.pop(profile, None)

    async def _apply(
        self, trial: Trial, joiners: Collection[UserObject], last_good: Revision | None = None
    ) -> dict[Identity, Object]:
        # The joiners' own processes end before this one serves their pods: two schedulers for one name could both
        # fill a node.
        for joiner in joiners:
            await self.end_process(joiner)
        keep = last_good.identities if last_good else ()
        return await self._applier.apply(trial, partial(self._events.record, trial.profile), keep)

    async def _try_out_beside(self, owner: UserObject, last_good: Revision, revision: Revision) -> Trial:
        """Try out ``revision`` with the roles and objects that the last good one needs."""
        try:
            return await self._applier.try_out(owner, last_good.together(revision).objects)
        except RequestError as error:
            if not is_escalation(error):
                raise
        # What the last good one needs is no longer granted. The new one may be the way out of that.
        return await self._applier.try_out(owner, revision.objects)

    def _lasting_failure(self, owner: UserObject, revision: Revision, state: SchedulerState) -> str:
        """Return why ``revision`` will not become good; empty while it still may."""
        cause = state.failure(revision.document)
        if not cause or (state.deployment is not None and state.deployment.stuck):
            return cause
        digest, since = self._refused_since.get(owner.name, ("", 0.0))
        if digest != revision.digest:
            since = self._clock()
            self._refused_since[owner.name] = (revision.digest, since)
        return cause if self._clock() - since >= REFUSED_SECONDS else ""

    def _kept(self, owner: UserObject) -> KeptRevision | None:
        kept = KeptRevision.newest(owner, self._generated.of(owner.name, kinds.REVISION))
        if kept is not None:
            self._applier.remember(kept.made)
        return kept

    async def _read(self, owner: UserObject, kept: KeptRevision) -> Revision:
        stored = await self._applier.read(kinds.REVISION, f"{generated_name(owner.name)}.{kept.number}")
        data = stored["data"]
        if "compressed" in data:
            data = json.loads(zlib.decompress(base64.b64decode(data["compressed"])))
        return Revision.from_data(data)

    async def _keep(self, owner: UserObject, revision: Revision, kept: KeptRevision) -> None:
        """Keep ``revision`` as the last good one, under the next number, in place of those before."""
        self._refused_since.pop(owner.name, None)
        before = self._generated.of(owner.name, kinds.REVISION)
        # Those of a profile that had the name before are there until they are garbage-collected.
        number = 1 + max((int(item["revision"]) for item in before), default=0)
        new = controller_revision(owner, revision, replace(kept, number=number), self._namespace)
        if len(text := json.dumps(new["data"]).encode()) > _PLAIN_BYTES:
            new["data"] = {"compressed": base64.b64encode(zlib.compress(text)).decode()}
        await self._applier.create(new)
        for old in before:
            if is_owned_by(owner, old):
                await self._applier.delete(old)


def _uids(objects: Mapping[Identity, Object]) -> dict[Identity, str]:
    return {key: item["metadata"]["uid"] for key, item in objects.items()}
