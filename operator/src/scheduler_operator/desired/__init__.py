"""Objects that should exist for a profile. No clock, no chance, no network, no disk: the same input, the same objects.

The order is the order of applying: an account before its roles, roles before their bindings (the API server
answers 404 to a binding whose role does not exist), and the processes last.
"""

from scheduler_operator.desired import rbac, workload
from scheduler_operator.desired.rbac import AccountObjects, lease_rules, own_rules
from scheduler_operator.desired.workload import Release
from scheduler_operator.render import Rendered
from scheduler_operator.resources.names import Object, generated_name
from scheduler_operator.resources.user_object import UserObject

__all__ = ["Object", "desired_objects"]


def desired_objects(profile: UserObject, rendered: Rendered, release: Release) -> list[Object]:
    """Return every object of ``profile``, complete: other generated objects, and other fields, are to be removed."""
    namespace, name = release.namespace, generated_name(profile.name)
    account = rbac.account_name(profile, rendered, workload.image(rendered, release))
    # An engine without processes has a name that somebody else can write into a pod.
    has_processes = rendered.engine != "ConfigMap"
    document_name = workload.document_name(profile, rendered, account, release) if has_processes else name
    document = workload.config_map(profile, rendered, document_name, namespace)
    access = AccountObjects(profile, account, namespace)
    match rendered.engine:
        case "ConfigMap":
            return [document]
        case "Python":
            # The account has the permissions that the plugins declare and no more. A running scheduler follows the
            # document at once, so its permissions come before the document.
            sources = tuple(rendered.sources.values())
            own = own_rules(namespace, name, document_name, sources, posts_events=rendered.posts_events)
            return [
                access.service_account(),
                access.cluster_role(rendered.rules),
                access.cluster_role_binding(),
                access.role([*rendered.rules, *own]),
                access.role_binding(),
                document,
                *_process(profile, rendered, account, document_name, release),
            ]
        case "KubeScheduler":
            # The cluster's own roles have what any plugin of kube-scheduler needs; plugins of an image may need more.
            rules = rendered.declared if release.grants_system_roles else rendered.rules
            objects = [access.service_account()]
            if any(not rule.namespace for rule in rules):
                objects.append(access.cluster_role(rules))
                objects.append(access.cluster_role_binding())
            if release.grants_system_roles:
                objects.extend(access.system_role_bindings())
            return [
                *objects,
                access.reader_binding(),
                access.role([*rules, *lease_rules(namespace, name)]),
                access.role_binding(),
                document,
                *_process(profile, rendered, account, document_name, release),
            ]


def _process(profile: UserObject, rendered: Rendered, account: str, document: str, release: Release) -> list[Object]:
    namespace = release.namespace
    objects = [
        workload.lease(profile, namespace),
        workload.service(profile, namespace),
        workload.deployment(profile, rendered, account, document, release),
    ]
    if workload.replicas(rendered.scheduler) > 1:
        objects.append(workload.pod_disruption_budget(profile, namespace))
    return objects
