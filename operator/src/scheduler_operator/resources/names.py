"""Names, labels and owner references of generated objects, by which the operator finds them again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_operator.resources.kinds import API_VERSION, PROFILE
from scheduler_operator.resources.user_object import UserObject

Object = dict[str, Any]
Identity = tuple[str, str]
"""Kind and name of a generated object: all namespaced ones are in one namespace."""

NAME_LENGTH = 52
"""The longest name of a profile: Services and Leases are named after it."""

PROFILE_LABEL = "berth.dev/profile"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "berth"
APP_LABEL = "app.kubernetes.io/name"
APP = "berth-scheduler"
HASH_ANNOTATION = "berth.dev/config-hash"
PROCESS_ANNOTATION = "berth.dev/process-hash"
ACCOUNT_ANNOTATION = "berth.dev/service-account-uid"

SCHEMA_ANNOTATION = "berth.dev/schema-revision"
"""The annotation of both CRDs by which an operator knows whether they are older than it."""

OWN_LABELS = (MANAGED_BY_LABEL, APP_LABEL, PROFILE_LABEL)
OWN_ANNOTATIONS = (HASH_ANNOTATION, PROCESS_ANNOTATION, ACCOUNT_ANNOTATION)

GENERATED_SELECTOR = f"{MANAGED_BY_LABEL}={MANAGED_BY},{PROFILE_LABEL}"
"""The label selector of everything that is generated."""

SCHEDULER_PODS_SELECTOR = f"{APP_LABEL}={APP},{PROFILE_LABEL}"
"""The label selector of the pods of every scheduler."""

GRANT_LABEL = "berth.dev/aggregate-to-operator"
"""The label of ClusterRoles whose rules the operator may pass on to schedulers."""

GRANTED_PLUGIN = "berth.dev/for-plugin"
GRANTED_IMAGE = "berth.dev/for-image"
GRANTED_SHA256 = "berth.dev/for-sha256"
"""The annotations of such a ClusterRole: the plugin that gets its rules, and the code by which the plugin is known."""

EXTENDER_FILES_PREFIX = "berth-extender-"
"""The beginning of the names of Secrets that profiles may mount: no others, whoever writes a profile."""
EXTENDER_FILES_DIRECTORY = "/etc/berth-extenders"
"""Where a scheduler has the files of each of these Secrets, in a directory of the Secret's name."""
EXTENDER_FILES = ("tls.crt", "tls.key", "ca.crt")
"""The keys of these Secrets that are mounted, as cert-manager writes them."""

RESERVED = ("catalog-permissions", "operator", "plugin-permissions")
"""Names that a profile cannot have: the chart makes objects that would collide with the profile's."""

RESERVED_NAME_MESSAGE = f"berth needs the names {', '.join(RESERVED)} for itself: give the profile another one"
INVALID_NAME_MESSAGE = (
    f"is not a name for a profile; write at most {NAME_LENGTH} lower-case letters, digits and hyphens, "
    "with a letter or a digit at both ends"
)
DEFAULT_SCHEDULER_MESSAGE = (
    "default-scheduler belongs to the cluster's own scheduler: "
    "set spec.replacesDefaultScheduler: true to take its place"
)


@dataclass(frozen=True, slots=True)
class UidOf:
    """A placeholder in a desired object for the uid of another object, known only after that one is applied."""

    kind: str
    name: str


def with_uids(value: Any, uids: Mapping[tuple[str, str], str]) -> Any:
    """Replace each UidOf within ``value`` by the uid that ``uids`` has for its kind and name."""
    match value:
        case UidOf(kind, name):
            return uids[kind, name]
        case dict():
            return {key: with_uids(below, uids) for key, below in value.items()}
        case list():
            return [with_uids(below, uids) for below in value]
    return value


def identity(manifest: Mapping[str, Any]) -> Identity:
    """Return the kind and name of an object."""
    return manifest["kind"], manifest["metadata"]["name"]


def profile_of(metadata: Mapping[str, Any]) -> str:
    """Return the profile that an object was generated for; empty when the object only looks like a generated one."""
    for owner in metadata.get("ownerReferences", ()):
        if owner["kind"] == PROFILE.name:
            return str(owner["name"])
    return str(metadata.get("labels", {}).get(PROFILE_LABEL, ""))


def owner_reference(profile: UserObject) -> Object:
    """Return the reference by which an object belongs to ``profile``."""
    # blockOwnerDeletion is left out: it would need rights on the finalizers of profiles.
    return {
        "apiVersion": API_VERSION,
        "kind": PROFILE.name,
        "name": profile.name,
        "uid": profile.uid,
        "controller": True,
    }


def is_owned_by(profile: UserObject, live: Mapping[str, Any]) -> bool:
    """Return whether ``profile`` is the controller of an object: by kind, apiVersion, name and uid, not by a label."""
    wanted = owner_reference(profile)
    owners = live["metadata"].get("ownerReferences", ())
    return any(all(owner.get(field) == value for field, value in wanted.items()) for owner in owners)


def pod_labels(profile: str) -> dict[str, str]:
    """The labels by which a Deployment and a Service find the pods of a profile's scheduler."""
    return {APP_LABEL: APP, PROFILE_LABEL: profile}


def generated_name(profile: str) -> str:
    """The name that all objects of a profile share."""
    return f"berth-{profile}"


def metadata(profile: UserObject, namespace: str | None) -> Object:
    """Return the metadata of an object generated for ``profile``; cluster-scoped without ``namespace``."""
    # Version labels are left out: an upgrade would change every role, and the API server refuses a change of one that
    # grants more than we hold.
    in_namespace = {"namespace": namespace} if namespace else {}
    return {
        "name": generated_name(profile.name),
        **in_namespace,
        "labels": {MANAGED_BY_LABEL: MANAGED_BY, **pod_labels(profile.name)},
        "ownerReferences": [owner_reference(profile)],
    }
