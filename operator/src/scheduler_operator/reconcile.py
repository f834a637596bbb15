"""One look at a profile, or at a PluginConfig, and everything that follows from it. Knows nothing of kopf.

Level-triggered: whatever the reason for looking, and however often, the same state leads to the same end.
"""

import contextlib
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import NamedTuple

from scheduler_operator import kinds, render, status
from scheduler_operator.api import ApiError
from scheduler_operator.authored import Authored
from scheduler_operator.cluster import Cluster, NameTakenError
from scheduler_operator.desired import desired_objects
from scheduler_operator.events import Recorder
from scheduler_operator.names import generated_name
from scheduler_operator.release import Release
from scheduler_operator.render import PluginConfigs, Problems, Rendered
from scheduler_operator.status import Processes
from scheduler_operator.work import Work
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.config import Problem

logger = logging.getLogger(__name__)

_ESCALATION = "is attempting to grant RBAC permissions not currently held:"
_NO_RIGHT = re.compile(r'User ".*" cannot ')
_ADMISSION = re.compile(r"ValidatingAdmissionPolicy '.*' denied request|admission webhook \".*\" denied the request")


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
    work: Work[Key]
    _failing: dict[Key, str] = field(default_factory=dict)

    def add(self, kind: kinds.Kind, names: Iterable[str]) -> None:
        """Ask for a look at the objects of these names."""
        for name in names:
            self.work.add(Key(kind.name, name))

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
    settled. Anything else that goes wrong is an ApiError, for the queue to try again.
    """
    profile = await operator.cluster.profile(name)
    plugin_configs = await operator.cluster.plugin_configs()
    operator.add(kinds.PLUGIN_CONFIG, _unaware(name, profile, plugin_configs))
    if profile is None:
        operator.cluster.forget(name)  # its objects follow by owner reference
        return True
    if profile.spec.get("paused") is True:
        await operator.cluster.report(profile, status.paused(profile))
        return True
    if (unknown := _not_followed(profile)) is not None:
        await operator.cluster.report(profile, status.rejected(profile, unknown))
        return True
    match render.render([profile], plugin_configs, operator.release.namespace, Target(operator.version)):
        case Problems() as problems:
            await operator.cluster.report(profile, status.rejected(profile, problems))
            return True
        case Rendered() as rendered:
            return await _apply(profile, rendered, operator)


def _not_followed(profile: Authored) -> Problems | None:
    """What a profile may ask for and no object follows from yet."""
    process = profile.spec.get("scheduler") or {}
    asked = {
        "spec.engine": profile.spec.get("engine") == "KubeScheduler",
        "spec.joins": profile.spec.get("joins"),
        "spec.scheduler.featureGates": process.get("featureGates"),
        "spec.scheduler.events": process.get("events") not in (None, "All"),
    }
    found = [Problem(path, "is not followed by this build yet; leave it out") for path, given in asked.items() if given]
    return Problems("Invalid", tuple(found)) if found else None


async def reconcile_plugin_config(name: str, operator: Operator) -> bool:
    """Check the PluginConfig called ``name``, note who uses it, and have its users looked at."""
    plugin_config = await operator.cluster.plugin_config(name)
    users = [each.name for each in await operator.cluster.profiles() if name in render.references(each)]
    if plugin_config is not None:
        plugin_configs = await operator.cluster.plugin_configs()
        target = Target(operator.version)
        problems = render.check(plugin_config, plugin_configs, operator.release.namespace, target)
        await operator.cluster.report(plugin_config, status.plugin_config_status(plugin_config, problems, users))
    operator.add(kinds.PROFILE, users)
    return True


def _unaware(name: str, profile: Authored | None, plugin_configs: PluginConfigs) -> list[str]:
    """The PluginConfigs whose ``usedBy`` is wrong about the profile called ``name``."""
    referred = render.references(profile) if profile else set()
    return [
        each.name
        for each in plugin_configs.values()
        if (name in each.status.get("usedBy", ())) != (each.name in referred)
    ]


async def _apply(profile: Authored, rendered: Rendered, operator: Operator) -> bool:
    wanted = desired_objects(profile, rendered, operator.release)
    try:
        applied = await operator.cluster.apply(profile, wanted, partial(operator.recorder.repaired, profile))
    except NameTakenError as taken:
        problems = Problems("NameTaken", (Problem("", str(taken)),))
    except ApiError as error:
        refusal = refused(error)
        if refusal is None:
            await _tell_what_went_wrong(profile, error, operator)
            raise
        problems = refusal
    else:
        live = applied.get((kinds.DEPLOYMENT.name, generated_name(profile.name)))
        processes = Processes.from_deployment(live) if live else None
        await operator.cluster.report(profile, status.accepted(profile, rendered, processes))
        return True
    await operator.cluster.report(profile, status.rejected(profile, problems))
    return False


async def _tell_what_went_wrong(profile: Authored, error: ApiError, operator: Operator) -> None:
    if error.status == HTTPStatus.CONFLICT:
        return  # somebody was faster; the next try is likely to succeed
    with contextlib.suppress(ApiError):  # the first error is the one to tell
        await operator.cluster.report(profile, status.interrupted(profile, str(error)))


def refused(error: ApiError) -> Problems | None:
    """What somebody has to change before the API server takes what it refused; None for what may pass by itself."""
    if error.status == HTTPStatus.FORBIDDEN and _ESCALATION in error.message:
        rules = error.message.partition(_ESCALATION)[2].split(";")[0].split()
        message = (
            f"the plugins of this profile need rights that the operator does not have: {' '.join(rules)}; "
            'grant them by a ClusterRole labelled berth.dev/aggregate-to-operator: "true", or disable the plugin'
        )
        return Problems("PermissionMissing", (Problem("", message),))
    if _is_by_admission(error):
        message = (
            f"the cluster's admission control refuses {error.target}: {error.message}; "
            "change the policy, webhook or quota that it names, or what the profile asks for"
        )
        return Problems("PermissionMissing", (Problem("", message),))
    if error.status == HTTPStatus.FORBIDDEN:
        message = f"the operator lacks a right of its own, install its chart again: {error.message}"
        return Problems("PermissionMissing", (Problem("", message),))
    if error.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY):
        message = f"the API server refuses what follows from this profile: {error.message}"
        return Problems("Invalid", (Problem("spec.scheduler", message),))
    return None


def _is_by_admission(error: ApiError) -> bool:
    """Whether a policy, a webhook or a plugin of the API server refused what the operator has every right to ask."""
    if error.status == HTTPStatus.FORBIDDEN:
        return _NO_RIGHT.search(error.message) is None
    refused = error.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
    return refused and _ADMISSION.search(error.message) is not None
