"""Reconciles profiles and PluginConfigs: reads, decides, applies, and reports the outcome. Knows nothing of kopf.

Level-triggered: whatever the reason for a reconcile, and however often, the same state leads to the same end. A
profile that joins another has no objects of its own: its reconcile queues the other one, which reports to both (ADR 4).

    reconcile(profile) ─► is it gone, joined or paused? ─► render ─► permissions ─► apply ─► report the status
                                                            │            │           │
                                                            └─ problems ─┴───────────┴─► report what to change
"""

import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import NamedTuple

from scheduler_operator import render
from scheduler_operator.cluster.api import ApiError
from scheduler_operator.cluster.objects import Cluster, Identity, NameConflictError, Object
from scheduler_operator.desired import desired_objects
from scheduler_operator.desired.workload import Release
from scheduler_operator.reconcile import api_refusals, status
from scheduler_operator.reconcile.events import ProfileEvents
from scheduler_operator.reconcile.members import running_members
from scheduler_operator.reconcile.pod_trouble import find_pod_trouble
from scheduler_operator.reconcile.status import DeploymentState, SchedulerState
from scheduler_operator.reconcile.work_queue import WorkQueue
from scheduler_operator.render import Problems, Rendered
from scheduler_operator.resources import kinds
from scheduler_operator.resources.names import generated_name
from scheduler_operator.resources.user_object import Status, UserObject
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.config import Problem

logger = logging.getLogger(__name__)


class Key(NamedTuple):
    """A user's object, as the work queue names it."""

    kind: str
    name: str


@dataclass(slots=True)
class ReconcileContext:
    """The context of a reconcile."""

    cluster: Cluster
    events: ProfileEvents
    release: Release
    version: Version
    work: WorkQueue[Key]
    joined: dict[str, str] = field(default_factory=dict)
    """The profile that each profile joined at its last reconcile: that one is queued when it is left."""
    _last_errors: dict[Key, str] = field(default_factory=dict)

    @property
    def target(self) -> Target:
        """The kube-scheduler that profiles are rendered for when they name no other."""
        return Target(self.version)

    def add(self, kind: kinds.Kind, names: Iterable[str]) -> None:
        """Queue the objects of these names."""
        for name in names:
            self.work.add(Key(kind.name, name))

    async def report(self, user_object: UserObject, new_status: Status) -> None:
        """Write the status of an object, and an Event when it begins or ceases to be stalled."""
        if await self.cluster.report(user_object, new_status):
            await self.events.record_ready_change(user_object, new_status)

    async def attempt(self, key: Key) -> bool:
        """Reconcile ``key`` and return whether it is settled; log an error once while it stays the same."""
        reconcile_one = reconcile_profile if key.kind == kinds.PROFILE.name else reconcile_plugin_config
        try:
            is_settled = await reconcile_one(key.name, self)
        except ApiError as error:
            if self._last_errors.get(key) != str(error):
                logger.warning("%s %s: trying again later: %s", key.kind, key.name, error)
            self._last_errors[key] = str(error)
            return False
        except Exception:
            logger.exception("%s %s: trying again later", key.kind, key.name)
            return False
        if self._last_errors.pop(key, None):
            logger.info("%s %s: reconciled after all", key.kind, key.name)
        return is_settled

    async def resync(self) -> None:
        """Queue everything, and read the cluster's version before."""
        self.version = await self.cluster.version()
        self.add(kinds.PROFILE, [profile.name for profile in await self.cluster.profiles()])
        self.add(kinds.PLUGIN_CONFIG, await self.cluster.plugin_configs())


async def reconcile_profile(name: str, context: ReconcileContext) -> bool:
    """Make the cluster match the profile called ``name`` and report the outcome to its author.

    Returns whether that is settled. A profile that only its author can correct is an outcome, reported in its
    status, and so is a refusal of the API server. But a refusal may end without an event of ours, so it is not
    settled, and neither are processes whose pods are not ready. Raises ApiError for anything else; the work queue
    tries again.
    """
    profile = await context.cluster.profile(name)
    plugin_configs = await context.cluster.plugin_configs()
    # The PluginConfigs whose ``usedBy`` is wrong about this profile.
    stale_configs = [
        config.name
        for config in plugin_configs.values()
        if (name in config.status.get("usedBy", ())) != (profile is not None and render.uses(profile, config))
    ]
    context.add(kinds.PLUGIN_CONFIG, stale_configs)
    joiners = await context.cluster.joiners(name)
    # The process in which the profile ran until now has to render without it.
    former_owner, owner = context.joined.pop(name, ""), render.owner_name(profile) if profile else ""
    if former_owner and former_owner != owner:
        context.add(kinds.PROFILE, [former_owner])
    if owner:
        context.joined[name] = owner
    if profile is None:
        context.cluster.forget(name)  # its objects are garbage-collected, by owner reference
        context.add(kinds.PROFILE, [joiner.name for joiner in joiners])
        return True
    if owner:
        # Whoever joins this one cannot: only a profile with a process of its own can be joined.
        context.add(kinds.PROFILE, [joiner.name for joiner in joiners])
        return await _join(profile, context)
    if profile.spec.get("paused") is True:
        for paused in (profile, *joiners):
            await context.report(paused, status.paused_status(paused, profile.name))
        return True

    shared = render.render_shared(profile, joiners, plugin_configs, context.release.namespace, context.target)
    for joiner in joiners:
        if (problems := shared.left_out.get(joiner.name)) is not None:
            await context.report(joiner, status.left_out_status(joiner, problems))
    accepted = [joiner for joiner in joiners if joiner.name not in shared.left_out]
    match shared.outcome:
        case Problems() as problems:
            await _reject(profile, accepted, problems, context)
            return True
        case Rendered() as rendered:
            return await _apply(profile, accepted, rendered, context)


async def _join(profile: UserObject, context: ReconcileContext) -> bool:
    """Leave the profile to the one that it joins, or report why that cannot be."""
    owner_name = render.owner_name(profile)
    owner = await context.cluster.profile(owner_name)
    problems = render.join_problem(profile, {owner_name: owner} if owner else {})
    if problems is not None:
        plugin_configs = await context.cluster.plugin_configs()
        own = render.problems_alone(profile, plugin_configs, context.release.namespace, context.target)
        problems = Problems(problems.reason, (*problems.problems, *own))
        await context.report(profile, status.left_out_status(profile, problems))
        return True
    context.add(kinds.PROFILE, [owner_name])
    return True


async def _reject(
    profile: UserObject, joiners: Sequence[UserObject], problems: Problems, context: ReconcileContext
) -> None:
    """Report to the author what to change, and to those who join the profile whom they wait for."""
    await context.report(profile, status.rejected_status(profile, problems))
    message = f"{profile.name}, in whose process this profile runs, cannot run: {problems}"
    for_joiners = Problems(problems.reason, (Problem("spec.joins", message),))
    for joiner in joiners:
        await context.report(joiner, status.rejected_status(joiner, for_joiners))


async def reconcile_plugin_config(name: str, context: ReconcileContext) -> bool:
    """Check the PluginConfig called ``name`` and the others of its plugin, and queue the profiles that use it."""
    plugin_configs = await context.cluster.plugin_configs()
    profiles = await context.cluster.profiles()
    plugin_config = plugin_configs.get(name)
    if plugin_config is None:  # which profiles used it, by its plugin alone, cannot be known any more
        context.add(kinds.PROFILE, [profile.name for profile in profiles])
        return True
    plugin = plugin_config.spec.get("plugin")
    for sibling in (config for config in plugin_configs.values() if config.spec.get("plugin") == plugin):
        problems = render.check(sibling, plugin_configs, context.release.namespace, context.target)
        users = [profile.name for profile in profiles if render.uses(profile, sibling)]
        await context.report(sibling, status.plugin_config_status(sibling, problems, users))
    context.add(kinds.PROFILE, [profile.name for profile in profiles if render.uses(profile, plugin_config)])
    return True


async def _apply(
    profile: UserObject, joiners: Sequence[UserObject], rendered: Rendered, context: ReconcileContext
) -> bool:
    """Apply the objects of a process and report its state; return whether it is settled."""
    name = generated_name(profile.name)
    try:
        granted = await context.cluster.plugin_permissions() if rendered.declared else []
        problems = api_refusals.permission_problems(rendered, granted, context.release.allows_sources)
        if problems is None:
            # The joiners' own processes end before this one serves their pods: two schedulers for one name could
            # both fill a node.
            for joiner in (joiner for joiner in joiners if joiner.status.get("configMap") != name):
                await context.cluster.apply(joiner, [], partial(context.events.record_repair, joiner))
            applied = await context.cluster.apply(
                profile,
                desired_objects(profile, rendered, context.release),
                partial(context.events.record_repair, profile),
            )
            state = await _read_state(profile, applied, context)
            for sharing in (profile, *joiners):
                await context.report(sharing, status.accepted_status(sharing, rendered, state))
            return state.is_settled
    except NameConflictError as error:
        problems = Problems("NameTaken", (Problem("", str(error)),))
    except ApiError as error:
        problems = api_refusals.refusal_problems(error)
        if problems is None:
            if error.status != HTTPStatus.CONFLICT:  # another writer was faster: the next attempt is likely to succeed
                with contextlib.suppress(ApiError):  # the first error is the one to report
                    await context.report(profile, status.interrupted_status(profile, str(error)))
            raise
    await _reject(profile, joiners, problems, context)
    return False


async def _read_state(
    profile: UserObject, applied: Mapping[Identity, Object], context: ReconcileContext
) -> SchedulerState:
    """Read the state of the profile's processes from its Deployment, its Lease and its pods."""
    deployment = applied.get((kinds.DEPLOYMENT.name, generated_name(profile.name)))
    lease = applied.get((kinds.LEASE.name, generated_name(profile.name)), {})
    holder = str(lease.get("spec", {}).get("holderIdentity") or "")
    leader = holder.partition("_")[0]  # an identity is the pod's name, an underscore and a random part
    if deployment is None:
        return SchedulerState(None, leader)
    pods = await context.cluster.pods(profile.name)
    state = SchedulerState(DeploymentState.from_deployment(deployment), leader, members=running_members(pods, leader))
    if state.is_settled or not (state.deployment and state.deployment.current):
        return state  # if there are pods, they are not of the newest configuration
    images = [str(container["image"]) for container in deployment["spec"]["template"]["spec"]["containers"]]
    return replace(state, pod_trouble=find_pod_trouble(pods, images))
