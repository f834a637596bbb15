"""Objects that should exist for a profile. No clock, no chance, no network, no disk: the same input, the same objects.

The order is the order of applying: an account before its roles, roles before their bindings (the API server
answers 404 to a binding whose role does not exist), and the processes last.
"""

from scheduler_operator.desired import rbac, workload
from scheduler_operator.desired.rbac import lease_rules, own_rules
from scheduler_operator.desired.workload import Release
from scheduler_operator.render import Rendered
from scheduler_operator.resources.names import Object, generated_name
from scheduler_operator.resources.user_object import UserObject

__all__ = ["Object", "desired_objects"]


def desired_objects(profile: UserObject, rendered: Rendered, release: Release) -> list[Object]:
    """Return every object of ``profile``, complete: other generated objects, and other fields, are to be removed."""
    namespace, name = release.namespace, generated_name(profile.name)
    document = workload.config_map(profile, rendered, namespace)
    match rendered.engine:
        case "ConfigMap":
            return [document]
        case "Python":
            # The account has the permissions that the plugins declare and no more. A running scheduler follows the
            # document at once, so its permissions come before the document.
            own = own_rules(namespace, name, tuple(rendered.sources.values()), posts_events=rendered.posts_events)
            return [
                rbac.service_account(profile, namespace),
                rbac.cluster_role(profile, rendered.rules),
                rbac.cluster_role_binding(profile, namespace),
                rbac.role(profile, [*rendered.rules, *own], namespace),
                rbac.role_binding(profile, namespace),
                document,
                *_process(profile, rendered, release),
            ]
        case "KubeScheduler":
            # The cluster's own roles have what any plugin of kube-scheduler needs; plugins of an image may need more.
            rules = rendered.declared if release.grants_system_roles else rendered.rules
            objects = [rbac.service_account(profile, namespace)]
            if any(not rule.namespace for rule in rules):
                objects.append(rbac.cluster_role(profile, rules))
                objects.append(rbac.cluster_role_binding(profile, namespace))
            if release.grants_system_roles:
                objects.extend(rbac.system_role_bindings(profile, namespace))
            return [
                *objects,
                rbac.reader_binding(profile, namespace),
                rbac.role(profile, [*rules, *lease_rules(namespace, name)], namespace),
                rbac.role_binding(profile, namespace),
                document,
                *_process(profile, rendered, release),
            ]


def _process(profile: UserObject, rendered: Rendered, release: Release) -> list[Object]:
    namespace = release.namespace
    objects = [
        workload.lease(profile, namespace),
        workload.service(profile, namespace),
        workload.deployment(profile, rendered, release),
    ]
    if workload.replicas(rendered.scheduler) > 1:
        objects.append(workload.pod_disruption_budget(profile, namespace))
    return objects
