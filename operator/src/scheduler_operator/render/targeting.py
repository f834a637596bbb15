"""Which kube-scheduler a process is to behave like."""

from collections.abc import Iterator

from scheduler_operator.models import Scheduler
from scheduler_operator.resources import version_support as kubernetes_versions
from scheduler_runtime.catalog import Target, Version, gate_problems, is_too_old
from scheduler_runtime.config import Problem


def target_of(scheduler: Scheduler, cluster: Target) -> Target:
    """The version and the feature gates that a profile names; the ``cluster``'s where it names none."""
    version = Version.parse(scheduler.kubernetes_version) if scheduler.kubernetes_version else cluster.version
    gates = {**cluster.feature_gates, **(scheduler.feature_gates or {})}
    return Target(version, dict(sorted(gates.items())))


def target_problems(scheduler: Scheduler, target: Target) -> Iterator[Problem]:
    """Why nothing is known of how ``target`` schedules."""
    if not is_too_old(target.version):
        yield from (Problem("spec.scheduler.featureGates", message) for message in gate_problems(target))
        return
    known = kubernetes_versions.RANGE
    if scheduler.kubernetes_version:
        message = f"{scheduler.kubernetes_version} is older than this release knows; it knows {known}"
        yield Problem("spec.scheduler.kubernetesVersion", message)
    else:
        message = f"the cluster's Kubernetes {target.version} is older than this release knows; it knows {known}; "
        yield Problem("", f"{message}upgrade the cluster, or use the release of berth that was made for it")
