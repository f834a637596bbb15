"""The labels and annotations that Berth writes: nobody else may set them on what it makes."""

PROFILE_LABEL = "berth.dev/profile"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"
MANAGED_BY = "berth"
APP_LABEL = "app.kubernetes.io/name"
APP = "berth-scheduler"
HASH_ANNOTATION = "berth.dev/config-hash"
PROCESS_ANNOTATION = "berth.dev/process-hash"
ACCOUNT_ANNOTATION = "berth.dev/service-account-uid"

OWN_LABELS = (MANAGED_BY_LABEL, APP_LABEL, PROFILE_LABEL)
OWN_ANNOTATIONS = (HASH_ANNOTATION, PROCESS_ANNOTATION, ACCOUNT_ANNOTATION)

GENERATED = f"{MANAGED_BY_LABEL}={MANAGED_BY},{PROFILE_LABEL}"
"""The label selector of everything that is generated."""


PROCESSES = f"{APP_LABEL}={APP},{PROFILE_LABEL}"
"""The label selector of the pods of every scheduler."""


def generated_for(profile: str) -> str:
    """The label selector of the objects of one profile."""
    return f"{GENERATED}={profile}"


def pod_labels(profile: str) -> dict[str, str]:
    """The labels by which a Deployment and a Service find the pods of a profile's scheduler."""
    return {APP_LABEL: APP, PROFILE_LABEL: profile}
