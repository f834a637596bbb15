"""What should exist for a profile. No clock, no chance, no network, no disk: the same input, the same objects.

The order is the order of applying: an account before its roles, roles before their bindings (the API server
answers 404 to a binding whose role does not exist), and the processes last.
"""

from scheduler_operator.authored import Authored
from scheduler_operator.desired import rbac, workload
from scheduler_operator.names import Object
from scheduler_operator.release import Release
from scheduler_operator.render import Rendered

__all__ = ["Object", "desired_objects"]


def desired_objects(profile: Authored, rendered: Rendered, release: Release) -> list[Object]:
    """Every object of ``profile``, complete: what is not in them is not wanted."""
    document = workload.config_map(profile, rendered, release.namespace)
    match rendered.engine:
        case "ConfigMap":
            return [document]
        case "Python" | "KubeScheduler":
            return [document, *_process(profile, rendered, release)]


def _process(profile: Authored, rendered: Rendered, release: Release) -> list[Object]:
    namespace = release.namespace
    objects = [
        rbac.service_account(profile, namespace),
        rbac.cluster_role(profile, rendered.rules),
        rbac.cluster_role_binding(profile, namespace),
        rbac.role(profile, rendered.rules, namespace),
        rbac.role_binding(profile, namespace),
        workload.lease(profile, namespace),
        workload.service(profile, namespace),
        workload.deployment(profile, rendered, release),
    ]
    if workload.replicas(rendered.scheduler) > 1:
        objects.append(workload.pod_disruption_budget(profile, namespace))
    return objects
