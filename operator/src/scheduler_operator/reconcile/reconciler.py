"""One look at a profile, or at a PluginConfig, and everything that follows from it. Knows nothing of kopf.

Level-triggered: whatever the reason for looking, and however often, the same state leads to the same end. A profile
that joins another has no objects of its own: whoever looks at it has the other looked at, and that look tells both.
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
from scheduler_operator.cluster.objects import Cluster, Identity, NameTakenError, Object
from scheduler_operator.desired import desired_objects, permissions
from scheduler_operator.desired.release import Release
from scheduler_operator.reconcile import api_refusals as refusals
from scheduler_operator.reconcile import status
from scheduler_operator.reconcile.events import Recorder
from scheduler_operator.reconcile.members import members
from scheduler_operator.reconcile.pod_trouble import hindrance
from scheduler_operator.reconcile.status import DeploymentState, SchedulerState
from scheduler_operator.reconcile.work_queue import WorkQueue
from scheduler_operator.render import PluginConfigs, Problems, Rendered
from scheduler_operator.resources import kinds
from scheduler_operator.resources.authored import UserObject
from scheduler_operator.resources.conditions import Status
from scheduler_operator.resources.names import generated_name
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.config import Problem

logger = logging.getLogger(__name__)


class Key(NamedTuple):
    """An object that people write: what there is to work on."""

    kind: str
    name: str


@dataclass(slots=True)
class Operator:
    """What a reconcile needs."""

    cluster: Cluster
    recorder: Recorder
    release: Release
    version: Version
    work: WorkQueue[Key]
    joined: dict[str, str] = field(default_factory=dict)
    """What each profile joined when it was last looked at, so that what it leaves is looked at too."""
    _failing: dict[Key, str] = field(default_factory=dict)

    @property
    def target(self) -> Target:
        """The kube-scheduler that profiles are rendered for when they name no other."""
        return Target(self.version)

    def add(self, kind: kinds.Kind, names: Iterable[str]) -> None:
        """Ask for a look at the objects of these names."""
        for name in names:
            self.work.add(Key(kind.name, name))

    async def report(self, authored: UserObject, found: Status) -> None:
        """Tell the author of an object how it is, and in an Event when that has turned."""
        if await self.cluster.report(authored, found):
            await self.recorder.turned(authored, found)

    async def attempt(self, key: Key) -> bool:
        """Reconcile ``key`` and return whether it is settled; log what went wrong, once while it stays the same."""
        look = reconcile if key.kind == kinds.PROFILE.name else reconcile_plugin_config
        try:
            settled = await look(key.name, self)
        except ApiError as error:
            if self._failing.get(key) != str(error):
                logger.warning("%s %s: trying again later: %s", key.kind, key.name, error)
            self._failing[key] = str(error)
            return False
        except Exception:
            logger.exception("%s %s: trying again later", key.kind, key.name)
            return False
        if self._failing.pop(key, None):
            logger.info("%s %s: reconciled after all", key.kind, key.name)
        return settled

    async def resync(self) -> None:
        """Look at everything again, and at the cluster's version first."""
        self.version = await self.cluster.version()
        self.add(kinds.PROFILE, [profile.name for profile in await self.cluster.profiles()])
        self.add(kinds.PLUGIN_CONFIG, await self.cluster.plugin_configs())


async def reconcile(name: str, operator: Operator) -> bool:
    """Make the cluster match the profile called ``name`` and tell its author how that went.

    Returns whether that is settled. A profile that only its author can mend is an outcome, reported in its
    status, and so is what the API server refuses; but a refusal may end without an event of ours, so it is not
    settled, and nor are processes whose pods are not ready. Anything else that goes wrong is an ApiError, for the
    queue to try again.
    """
    profile = await operator.cluster.profile(name)
    plugin_configs = await operator.cluster.plugin_configs()
    operator.add(kinds.PLUGIN_CONFIG, _unaware(name, profile, plugin_configs))
    joiners = await operator.cluster.joiners(name)
    _wake_what_was_left(name, profile, operator)
    if profile is None:
        operator.cluster.forget(name)  # its objects follow by owner reference
        operator.add(kinds.PROFILE, [each.name for each in joiners])
        return True
    if render.joins(profile):
        operator.add(kinds.PROFILE, [each.name for each in joiners])
        return await _join(profile, operator)
    if profile.spec.get("paused") is True:
        for each in (profile, *joiners):
            await operator.report(each, status.paused(each, profile.name))
        return True
    return await _run(profile, joiners, plugin_configs, operator)


async def _run(
    profile: UserObject, joiners: Sequence[UserObject], plugin_configs: PluginConfigs, operator: Operator
) -> bool:
    """Have a process for the profile and for those of the ``joiners`` that can run in it."""
    made = render.run_together(profile, joiners, plugin_configs, operator.release.namespace, operator.target)
    for each in joiners:
        if (why := made.left_out.get(each.name)) is not None:
            await operator.report(each, status.left_out(each, why))
    staying = [each for each in joiners if each.name not in made.left_out]
    match made.outcome:
        case Problems() as problems:
            await _reject(profile, staying, problems, operator)
            return True
        case Rendered() as rendered:
            return await _apply(profile, staying, rendered, operator)


def _wake_what_was_left(name: str, profile: UserObject | None, operator: Operator) -> None:
    """Have the process looked at that the profile was in, when it is in it no longer."""
    wanted = render.joins(profile) if profile else ""
    before = operator.joined.pop(name, "")
    if before and before != wanted:
        operator.add(kinds.PROFILE, [before])
    if wanted:
        operator.joined[name] = wanted


async def _join(profile: UserObject, operator: Operator) -> bool:
    """Leave the profile to the one that it joins, or say why that cannot be."""
    wanted = render.joins(profile)
    found = await operator.cluster.profile(wanted)
    problems = render.astray(profile, {wanted: found} if found else {})
    if problems is not None:
        plugin_configs = await operator.cluster.plugin_configs()
        own = render.alone(profile, plugin_configs, operator.release.namespace, operator.target)
        problems = Problems(problems.reason, (*problems.problems, *own))
        await operator.report(profile, status.left_out(profile, problems))
        return True
    operator.add(kinds.PROFILE, [wanted])
    return True


async def _reject(profile: UserObject, joiners: Sequence[UserObject], problems: Problems, operator: Operator) -> None:
    """Tell the author what to change, and those who joined the profile whom they wait for."""
    await operator.report(profile, status.rejected(profile, problems))
    message = f"{profile.name}, in whose process this profile runs, cannot run: {problems}"
    theirs = Problems(problems.reason, (Problem("spec.joins", message),))
    for each in joiners:
        await operator.report(each, status.rejected(each, theirs))


async def reconcile_plugin_config(name: str, operator: Operator) -> bool:
    """Check the PluginConfig called ``name`` and those of the same plugin, and have their users looked at."""
    plugin_configs = await operator.cluster.plugin_configs()
    profiles = await operator.cluster.profiles()
    plugin_config = plugin_configs.get(name)
    if plugin_config is None:  # who used it by its plugin alone cannot be known any more
        operator.add(kinds.PROFILE, [each.name for each in profiles])
        return True
    plugin = plugin_config.spec.get("plugin")
    for each in (each for each in plugin_configs.values() if each.spec.get("plugin") == plugin):
        problems = render.check(each, plugin_configs, operator.release.namespace, operator.target)
        users = [profile.name for profile in profiles if render.uses(profile, each)]
        await operator.report(each, status.plugin_config_status(each, problems, users))
    operator.add(kinds.PROFILE, [each.name for each in profiles if render.uses(each, plugin_config)])
    return True


def _unaware(name: str, profile: UserObject | None, plugin_configs: PluginConfigs) -> list[str]:
    """The PluginConfigs whose ``usedBy`` is wrong about the profile called ``name``."""
    return [
        each.name
        for each in plugin_configs.values()
        if (name in each.status.get("usedBy", ())) != (profile is not None and render.uses(profile, each))
    ]


async def _apply(profile: UserObject, joiners: Sequence[UserObject], rendered: Rendered, operator: Operator) -> bool:
    try:
        problems = await _not_granted(rendered, operator) or _not_allowed(rendered, operator.release)
        if problems is None:
            await _take_in(joiners, generated_name(profile.name), operator)
            applied = await operator.cluster.apply(
                profile,
                desired_objects(profile, rendered, operator.release),
                partial(operator.recorder.repaired, profile),
            )
            running = await _running(profile, applied, operator)
            for each in (profile, *joiners):
                await operator.report(each, status.accepted(each, rendered, running))
            return running.is_settled
    except NameTakenError as taken:
        problems = Problems("NameTaken", (Problem("", str(taken)),))
    except ApiError as error:
        refusal = refusals.refused(error)
        if refusal is None:
            await _tell_what_went_wrong(profile, error, operator)
            raise
        problems = refusal
    await _reject(profile, joiners, problems, operator)
    return False


async def _take_in(joiners: Sequence[UserObject], document: str, operator: Operator) -> None:
    """End the processes that the profiles had of their own, before the one with that ``document`` serves their pods."""
    for each in (each for each in joiners if each.status.get("configMap") != document):
        await operator.cluster.apply(each, [], partial(operator.recorder.repaired, each))


async def _not_granted(rendered: Rendered, operator: Operator) -> Problems | None:
    """The declared rights that the operator may not pass on; its own powers are not among those that it may."""
    if not rendered.declared:
        return None
    granted = await operator.cluster.plugin_permissions()
    plugins = [name for name, rules in rendered.declared_by.items() if permissions.uncovered(rules, granted)]
    return refusals.ungranted(permissions.uncovered(rendered.declared, granted), plugins) if plugins else None


def _not_allowed(rendered: Rendered, release: Release) -> Problems | None:
    """Code in ConfigMaps, which is run only where whoever installed the operator allows it."""
    if release.allows_sources or rendered.engine != "Python" or not rendered.sources:
        return None
    message = (
        f"the code in ConfigMap {', '.join(rendered.sources)} is not run; have the chart installed with "
        "pluginSources.enabled=true, or put the plugin into the scheduler's image"
    )
    return Problems("NotLoaded", (Problem("spec.plugins", message),))


async def _running(profile: UserObject, applied: Mapping[Identity, Object], operator: Operator) -> SchedulerState:
    deployment = applied.get((kinds.DEPLOYMENT.name, generated_name(profile.name)))
    lease = applied.get((kinds.LEASE.name, generated_name(profile.name)), {})
    holder = str(lease.get("spec", {}).get("holderIdentity") or "")
    leader = holder.partition("_")[0]
    if deployment is None:
        return SchedulerState(None, leader)
    pods = await operator.cluster.pods(profile.name)
    running = SchedulerState(DeploymentState.from_deployment(deployment), leader, members=members(pods, leader))
    if running.is_settled or not (running.processes and running.processes.current):
        return running  # the pods that there may be are not of the newest configuration
    images = [str(container["image"]) for container in deployment["spec"]["template"]["spec"]["containers"]]
    return replace(running, hindrance=hindrance(pods, images))


async def _tell_what_went_wrong(profile: UserObject, error: ApiError, operator: Operator) -> None:
    if error.status == HTTPStatus.CONFLICT:
        return  # somebody was faster; the next try is likely to succeed
    with contextlib.suppress(ApiError):  # the first error is the one to tell
        await operator.report(profile, status.interrupted(profile, str(error)))
