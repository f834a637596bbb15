"""Which images are upstream's own kube-scheduler, and what becomes of the image that an input runs."""

from __future__ import annotations

import re

from scheduler_operator.migrate.draft import Process
from scheduler_operator.migrate.outcome import Notes

_PLACES = (
    "",
    "registry.k8s.io/",
    "k8s.gcr.io/",
    "gcr.io/google_containers/",
    "gcr.io/google-containers/",
    "gcr.io/k8s-artifacts-prod/",
    "asia.gcr.io/k8s-artifacts-prod/",
    "eu.gcr.io/k8s-artifacts-prod/",
    "us.gcr.io/k8s-artifacts-prod/",
)
"""Where Kubernetes publishes its images, and published them; the first is for images that were loaded into a node."""
_UPSTREAMS = re.compile(r"(?:kube-scheduler|hyperkube)(?:-(?:amd64|arm|arm64|ppc64le|s390x))?")


def last_of(image: str) -> str:
    """The name of an image without where it comes from."""
    return image.rpartition("/")[2]


def is_upstreams(image: str) -> bool:
    """Whether Kubernetes itself published the image: others are called kube-scheduler too, and hold more."""
    name = last_of(image).partition("@")[0].partition(":")[0]
    place = image[: len(image) - len(last_of(image))]
    return place in _PLACES and _UPSTREAMS.fullmatch(name) is not None


def choose_image(process: Process, foreign: list[str], notes: Notes) -> None:
    """Keep the image, unless it is upstream's and has all the plugins that the profiles name.

    ``foreign`` are the plugins that do not come with kube-scheduler.
    """
    if process.image is None:
        return
    upstreams = is_upstreams(process.image.name)
    became = _stays_upstreams(process, foreign) if upstreams else _is_kept(foreign)
    notes.remark(process.image.path, became)
    if foreign or not upstreams:
        process.scheduler["image"] = process.image.name
        process.needs_kube_scheduler = True


def _is_kept(foreign: list[str]) -> str:
    if foreign:
        return f"is not upstream's and kept with engine KubeScheduler: it is taken to have {', '.join(foreign)}"
    message = "is not upstream's and kept with engine KubeScheduler, because it may hold plugins in Go; "
    return f"{message}without any, delete image and engine"


def _stays_upstreams(process: Process, foreign: list[str]) -> str:
    if foreign:
        return f"is kept, but called as upstream's, which has no {', '.join(foreign)}: name one that has"
    if process.needs_kube_scheduler:
        return "is upstream's: engine KubeScheduler runs the kube-scheduler of the cluster's version"
    message = "is upstream's: Berth's own scheduler, which behaves as kube-scheduler of the cluster's version does, "
    return f"{message}takes its place; set spec.engine: KubeScheduler to stay with upstream's"
