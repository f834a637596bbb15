"""Profiles and what follows from them, for tests."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from scheduler_operator.desired.workload import Release
from scheduler_operator.reconcile.rollout import create_revision
from scheduler_operator.reconcile.scheduler_state import DeploymentState, SchedulerMember, SchedulerState
from scheduler_operator.reconcile.status import Applied, applied_status
from scheduler_operator.render import ObjectProblems, Rendered, render
from scheduler_operator.resources.user_object import Status, UserObject
from scheduler_runtime.catalog import Target, Version

NAMESPACE = "berth-system"
RELEASE = Release(namespace=NAMESPACE, scheduler_image="berth:dev")
V1_36 = Version(1, 36, 4)


def profile(
    name: str = "bin-packing", *, status: dict[str, Any] | None = None, allow: str = "", **spec: Any
) -> UserObject:
    """A profile, with the fields of its spec as keyword arguments; ``allow`` are codes of findings, with commas."""
    annotations = {"berth.dev/allow-findings": allow} if allow else {}
    return UserObject("SchedulerProfile", name, f"uid-of-{name}", 3, spec, status or {}, annotations)


def plugin_config(name: str, plugin: str, *, status: dict[str, Any] | None = None, **args: Any) -> UserObject:
    """A PluginConfig, with the arguments of its plugin as keyword arguments."""
    spec = {"plugin": plugin, "args": args}
    return UserObject("PluginConfig", name, uid=f"uid-of-{name}", generation=1, spec=spec, status=status or {})


def declaring(name: str, plugin: str, declares: dict[str, Any], **spec: Any) -> UserObject:
    """A PluginConfig that declares a plugin; further fields of its spec as keyword arguments."""
    return UserObject("PluginConfig", name, f"uid-of-{name}", 1, {"plugin": plugin, "declares": declares, **spec}, {})


def rendered(scheduler_profile: UserObject, *configs: UserObject) -> Rendered:
    """What ``written`` means; a test that gives a wrong profile fails here, and with its problems."""
    outcome = render([scheduler_profile], {item.name: item for item in configs}, NAMESPACE, Target(V1_36))
    assert isinstance(outcome, Rendered), str(outcome)
    return outcome


def applied(result: Rendered, state: SchedulerState, *profiles: UserObject) -> Applied:
    """The outcome of a reconcile that applied ``result``."""
    return Applied(result, create_revision(profiles or (profile(),), result, RELEASE), state)


def status_of(scheduler_profile: UserObject, result: Rendered, state: SchedulerState) -> Status:
    """The status of a profile, of which ``result`` was applied, perhaps for others, too."""
    first, *others = (replace(scheduler_profile, name=name) for name in result.profiles)
    outcome = applied(result, state, first, *others)
    return applied_status(scheduler_profile, result, outcome.revision, state)


def processes(**changes: Any) -> DeploymentState:
    """Two processes that are current and ready, but for the ``changes``."""
    return DeploymentState(**{"replicas": 2, "existing": 2, "current": 2, "ready": 2, **changes})


def led(deployment: DeploymentState, leader: SchedulerMember | None = None, **more: Any) -> SchedulerState:
    """Processes of which one leads; one called a, which says nothing of itself, if no other is given."""
    leader = leader or SchedulerMember("a", is_leader=True, report=None)
    return SchedulerState(deployment, leader.name, members=(leader, *more.pop("others", ())), **more)


def document(scheduler_profile: UserObject, *configs: UserObject) -> Any:
    """The document of ``written``, as its scheduler reads it."""
    return yaml.safe_load(rendered(scheduler_profile, *configs).text)


def problems(scheduler_profile: UserObject, *configs: UserObject) -> ObjectProblems:
    """What is wrong with ``written``; a test that gives a right profile fails here."""
    outcome = render([scheduler_profile], {item.name: item for item in configs}, NAMESPACE, Target(V1_36))
    assert isinstance(outcome, ObjectProblems)
    return outcome


def kubeconfig(directory: Path, server: str) -> str:
    """A kubeconfig in ``directory`` whose token, ``first``, is in the file ``token`` beside it."""
    (directory / "token").write_text("first")
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "me"}}],
        "clusters": [{"name": "it", "cluster": {"server": server}}],
        "users": [{"name": "me", "user": {"tokenFile": str(directory / "token")}}],
    }
    file = directory / "kubeconfig"
    file.write_text(json.dumps(document))
    return str(file)


def matching_long_texts(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A schema and arguments, within the bounds on values and text, that take long to match; different by number."""
    patterns = [f"^({number}|[a-z0-9]{{1,90}}[0-9a-f]?){{1,40}}X{index}$" for index in range(20)]
    texts = {f"p{index}": [f"{'ab1' * 1000}{text}" for text in range(12)] for index in range(20)}
    strings = [{"type": "string", "pattern": pattern} for pattern in patterns]
    arrays = {f"p{index}": {"type": "array", "items": items} for index, items in enumerate(strings)}
    return {"type": "object", "properties": arrays}, texts
