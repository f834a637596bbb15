"""Reconciles profiles and PluginConfigs: reads, decides, applies, and reports the outcome. Knows nothing of kopf.

Level-triggered: whatever the reason for a reconcile, and however often, the same state leads to the same end. A
profile that joins another has no objects of its own: its reconcile queues the other one, which reports to both (ADR 4).

    reconcile_profile ─► gone, joined or paused? ─► render ─► check_permissions ─► try out ─► apply ─► observe ─► report
                                                      │              │                │                  │          ▲
                                                      └── problems ──┴────────────────┘             failed, or      │
                                                             │                                   refused: go back   │
                                                             └─► maintain the last good revision ◄───────┘ ─────────┘

Each step returns its result, or problems that somebody has to correct, which end the steps; then the last good revision
is maintained instead (ADR 31, ``rollout``). ``report`` is the only place that writes statuses of profiles; which ones
follow from an outcome is decided in ``status``.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scheduler_operator import render
from scheduler_operator.cluster.api import RequestError
from scheduler_operator.cluster.apply import NameConflictError
from scheduler_operator.cluster.objects import ClusterObjects
from scheduler_operator.cluster.plugin_code import CodeSource
from scheduler_operator.cluster.user_objects import StoredObject
from scheduler_operator.desired.workload import Release
from scheduler_operator.reconcile.api_refusals import refusal_problems
from scheduler_operator.reconcile.events import ProfileEvents
from scheduler_operator.reconcile.permissions import permission_problems
from scheduler_operator.reconcile.render_process import RenderProcesses, count_cpu_time
from scheduler_operator.reconcile.rollout import Rollouts, create_revision
from scheduler_operator.reconcile.scheduler_state import SchedulerState
from scheduler_operator.reconcile.status import (
    Applied,
    Excluded,
    Interrupted,
    Outcome,
    Paused,
    ProfileGroup,
    Rejected,
    is_used_by,
    plugin_config_status,
    profile_statuses,
    with_remark,
)
from scheduler_operator.reconcile.work_queue import WorkQueue
from scheduler_operator.render import ObjectProblems, Rendered
from scheduler_operator.resources import kinds
from scheduler_operator.resources.user_object import Status, UserObject
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.config import Problem


class Key(NamedTuple):
    """A user's object, as the work queue names it."""

    kind: str
    name: str


class Reconciler:
    """Makes the cluster match what users ask for, one object at a time, and reports to its author."""

    def __init__(
        self,
        cluster: ClusterObjects,
        events: ProfileEvents,
        release: Release,
        version: Version,
        work: WorkQueue[Key],
        rendering: RenderProcesses,
        rollouts: Rollouts,
    ) -> None:
        """``version`` is that of the cluster: profiles that name no other are rendered for its kube-scheduler."""
        self.cluster = cluster
        self.users = cluster.users
        self.rendering = rendering
        self.rollouts = rollouts
        self.events = events
        self.release = release
        self.target = Target(version)
        self.work = work
        self._joined: dict[str, str] = {}
        """The profile that each profile joined at its last reconcile: that one is queued when it is left."""
        self._declaring: dict[str, tuple[str, int]] = {}
        """The PluginConfigs that declared a plugin at their last reconcile, by uid and generation."""
        self._judged: dict[str, tuple[str, int, bool]] = {}
        """The PluginConfigs at their last reconcile, by uid, generation, and whether their code can be loaded."""

    @property
    def is_ready(self) -> bool:
        """False until everything is listed: what is not known yet would be taken for missing."""
        return self.users.is_complete and self.rollouts.is_complete

    async def reconcile(self, key: Key) -> bool:
        """Reconcile ``key`` and return whether it is settled; whoever takes much time for that waits for others."""
        with count_cpu_time() as spent:
            try:
                if key.kind == kinds.PROFILE.name:
                    return await self.reconcile_profile(key.name)
                return await self.reconcile_plugin_config(key.name)
            finally:
                self.work.charge(key, spent.cpu_seconds)

    async def resync(self) -> None:
        """Queue everything, and read the cluster's version before."""
        self.target = Target(await self.cluster.version())
        for kind, objects in ((kinds.PROFILE, self.users.profiles), (kinds.PLUGIN_CONFIG, self.users.plugin_configs)):
            for name, stored in objects.items():
                about = stored.relations
                is_judged = about.status.get("observedGeneration") == about.generation
                self.work.add(Key(kind.name, name), in_bulk=is_judged)

    def queue(self, kind: kinds.ResourceKind, names: Iterable[str]) -> None:
        """Queue the objects of these names."""
        for name in names:
            self.work.add(Key(kind.name, name))

    async def reconcile_profile(self, name: str) -> bool:
        """Make the cluster match the profile called ``name`` and report the outcome to its author.

        Returns whether that is settled. A profile that only its author can correct is an outcome, reported in its
        status, and so is a refusal of the API server. But a refusal may end without an event of ours, so it is not
        settled, and neither are processes whose pods are not ready. Raises RequestError for anything else; the work
        queue tries again.
        """
        stored, joiners, configs = self.users.profiles.get(name), self.users.joiners(name), self.users.plugin_configs
        profile = stored.relations if stored else None
        self.queue_affected(name, profile, [joiner.relations for joiner in joiners])
        if stored is None or profile is None:
            self.rollouts.forget(name)
            return True
        if not profile.uid:
            return True  # the API server cannot read it: there is nothing to go by, and nowhere to report
        group = ProfileGroup(profile, [joiner.relations for joiner in joiners])
        if render.owner_name(profile):
            return await self.report(group, await self.leave_to_owner(stored))
        if profile.spec.get("paused") is True:
            return await self.report(group, Paused(self.rollouts.look(profile)))

        shared = await self.rendering.render_shared(stored, joiners, configs, self.release.namespace, self.target)
        await self.report(group, Excluded(shared.excluded))
        group = group.without(shared.excluded)
        match shared.outcome:
            case ObjectProblems() as problems:
                return await self.report(group, await self.reject(group.owner, problems, is_settled=True))
            case Rendered() as rendered:
                return await self.report(group, await self.roll_out(group, rendered))

    def queue_affected(self, name: str, profile: UserObject | None, joiners: Sequence[UserObject]) -> None:
        """Queue what the last change of the profile called ``name`` is about as well; None stands for its end."""
        # The PluginConfigs whose ``usedBy`` is wrong about this profile.
        stale_configs = [
            config.name
            for config in (stored.relations for stored in self.users.plugin_configs.values())
            if is_used_by(config, name) is (profile is None or not render.uses(profile, config))
        ]
        self.queue(kinds.PLUGIN_CONFIG, stale_configs)
        # The process in which the profile ran until now has to render without it.
        former_owner, owner = self._joined.pop(name, ""), render.owner_name(profile) if profile else ""
        if former_owner and former_owner != owner:
            self.queue(kinds.PROFILE, [former_owner])
        if owner:
            self._joined[name] = owner
        if profile is None or owner != former_owner:
            # Only a profile with a process of its own can be joined: whoever joins this one has to know. Told once, or
            # profiles that join each other would queue each other for ever.
            self.queue(kinds.PROFILE, [joiner.name for joiner in joiners])

    async def leave_to_owner(self, stored: StoredObject) -> Excluded:
        """Queue the profile that this one joins, whose reconcile is about both; return why that cannot be."""
        profile, owner_name = stored.relations, render.owner_name(stored.relations)
        owner = self.users.profiles.get(owner_name)
        problems = render.join_problem(profile, {owner_name: owner.relations} if owner else {})
        if problems is None:
            self.queue(kinds.PROFILE, [owner_name])
            return Excluded({})
        configs, namespace = self.users.plugin_configs, self.release.namespace
        own = await self.rendering.problems_alone(stored, configs, namespace, self.target)
        problems = ObjectProblems(problems.reason, (*problems.problems, *own))
        return Excluded({profile.name: problems}, await self.rollouts.maintain(profile))

    async def roll_out(self, group: ProfileGroup, rendered: Rendered) -> Outcome:
        """Bring the rendered document into force: check permissions, then roll out the revision."""
        owner = group.owner
        try:
            problems = await self.check_permissions(rendered)
            if problems is None:
                revision = create_revision((owner, *group.joiners), rendered, self.release)
                state = await self.rollouts.roll_out(owner, group.joiners, revision)
                if isinstance(state, SchedulerState):
                    return Applied(rendered, revision, state, self.lost_code(group))
                problems = ObjectProblems("RolledBack", (Problem("", state.cause),))
        except NameConflictError as error:
            problems = ObjectProblems("NameTaken", (Problem("", str(error)),))
        except RequestError as error:
            problems = refusal_problems(error)
            if problems is None:
                return Interrupted(error)
        return await self.reject(owner, problems, is_settled=False)

    def lost_code(self, group: ProfileGroup) -> list[str]:
        """Return the PluginConfigs of the group's profiles whose code could not be loaded now."""
        profiles = (group.owner, *group.joiners)
        configs = [stored.relations for stored in self.users.plugin_configs.values()]
        return [
            config.name
            for config in configs
            if self.users.code.problem(config, self.release.namespace)
            and any(render.uses(profile, config) for profile in profiles)
        ]

    def queue_users_of_code(self, config_map: str | None) -> None:
        """Queue the PluginConfigs whose code is in a ConfigMap; None stands for every one."""
        sources = {name: CodeSource.of(stored.relations) for name, stored in self.users.plugin_configs.items()}
        self.queue(
            kinds.PLUGIN_CONFIG,
            [name for name, source in sources.items() if source and config_map in (None, source.config_map)],
        )

    async def reject(self, owner: UserObject, problems: ObjectProblems, *, is_settled: bool) -> Rejected | Interrupted:
        """Maintain the last good revision while the newest has ``problems``."""
        try:
            last_good = await self.rollouts.maintain(owner)
            return Rejected(problems, is_settled and (last_good is None or last_good.is_settled), last_good)
        except RequestError as error:
            return Interrupted(error)

    async def check_permissions(self, rendered: Rendered) -> ObjectProblems | None:
        """Return the problem of what the installation does not permit; None when it permits all of it."""
        if excess := tuple(self.release.limits.problems(rendered.engine, rendered.scheduler)):
            return ObjectProblems("Invalid", excess)
        grants = await self.cluster.grants() if rendered.declared else []
        return permission_problems(rendered, grants, self.release)

    async def report(self, group: ProfileGroup, outcome: Outcome) -> bool:
        """Write the statuses that follow from ``outcome`` and return whether it is settled.

        Raises the RequestError of an interrupted reconcile, after its author has been told.
        """
        try:
            for profile, status in profile_statuses(group, outcome):
                await self.write_status(profile, status)
        except RequestError as error:
            if isinstance(outcome, Applied):
                # A smaller status may be accepted where the whole one is not, as with CRDs older than this operator.
                return await self.report(group, Interrupted(error))
            if not isinstance(outcome, Interrupted):
                raise  # otherwise the first error is the one to report
        if isinstance(outcome, Interrupted):
            raise outcome.error
        return outcome.is_settled and not self.rollouts.is_contested(group.owner.name)

    async def write_status(self, user_object: UserObject, status: Status) -> bool:
        """Write the status of an object, and an Event when it begins or ceases to be stalled.

        Returns whether it was written: not if it was there already.
        """
        status = with_remark(status, self.cluster.crds.remark)
        is_written = await self.cluster.report(user_object, status)
        if is_written:
            await self.events.record_ready_change(user_object, status)
        return is_written

    async def reconcile_plugin_config(self, name: str) -> bool:
        """Check the PluginConfig called ``name``, and queue its users and those that it declares a plugin for."""
        plugin_configs = self.users.plugin_configs
        profiles = [stored.relations for stored in self.users.profiles.values()]
        plugin_config = plugin_configs.get(name)
        declared_before = self._declaring.pop(name, None)
        if plugin_config is None:
            self._judged.pop(name, None)  # which profiles used it, by its plugin alone, cannot be known any more
            self.queue(kinds.PROFILE, [profile.name for profile in profiles])
            if declared_before:  # another declaration may count now
                self.queue(kinds.PLUGIN_CONFIG, plugin_configs)
            return True
        relations = plugin_config.relations
        declares = (relations.uid, relations.generation) if plugin_config.declares else None
        if declares:
            self._declaring[name] = declares
        if declares != declared_before:
            # What one declares, the others of its plugin are checked by: each for itself, in its author's time.
            self.queue(
                kinds.PLUGIN_CONFIG,
                [
                    other
                    for other in plugin_configs
                    if other != name and plugin_configs[other].plugin == plugin_config.plugin
                ],
            )
        if not relations.uid:
            return True  # the API server cannot read it
        problems = await self.rendering.check(plugin_config, plugin_configs, self.release.namespace, self.target)
        lost_code = self.users.code.problem(relations, self.release.namespace)
        if problems is None and lost_code is not None:
            problems = ObjectProblems("NotLoaded", (lost_code,))
        users = [profile.name for profile in profiles if render.uses(profile, relations)]
        is_written = await self.write_status(relations, plugin_config_status(relations, problems, users))
        judged = relations.uid, relations.generation, lost_code is None
        if is_written or self._judged.get(name) != judged:
            # Also those that were deleted while this was being checked: their look finds ``usedBy`` wrong.
            self.queue(kinds.PROFILE, users)
        self._judged[name] = judged
        return True
