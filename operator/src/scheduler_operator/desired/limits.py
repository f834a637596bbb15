"""Limits of an installation: what the author of a profile may ask of its processes.

The chart renders the same limits into the policy berth-profile-limits, which refuses a profile when it is applied, in
the same words. The operator's own check is for profiles that were made before the policy, or changed without it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import eq

from scheduler_operator.models import SchedulerSpec
from scheduler_operator.models.scheduler_profile import Engine
from scheduler_runtime.config import Problem

_VERSION = re.compile(r"[:@][^/\s]*\Z")
"""The tag or digest at the end of an image's name. A colon before a slash belongs to the port of a registry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Values that profiles may have. An image, or a key, ends in a slash where all that begin with it are meant."""

    engines: Sequence[str] = ("Python", "ConfigMap")
    images: Sequence[str] = ()
    """Images, and repositories, whose every tag and digest is allowed."""
    priority_classes: Sequence[str] = ()
    pod_labels: Sequence[str] = ()
    """Keys of labels. Keys without a domain, such as ``team``, are always allowed."""
    pod_annotations: Sequence[str] = ()
    """Keys of annotations, in the same way."""

    def problems(self, engine: Engine, scheduler: SchedulerSpec) -> Iterator[Problem]:
        """Yield what a profile asks for and may not have."""
        named_image, named_class = filter(None, [scheduler.image]), filter(None, [scheduler.priority_class_name])
        labels, annotations = (
            [key for key in keys or () if "/" in key] for keys in (scheduler.pod_labels, scheduler.pod_annotations)
        )
        yield from _excess("spec.engine", "engines", [engine], self.engines, eq)
        yield from _excess("spec.scheduler.image", "images", named_image, self.images, _is_image)
        yield from _excess(
            "spec.scheduler.priorityClassName", "priorityClasses", named_class, self.priority_classes, eq
        )
        yield from _excess("spec.scheduler.podLabels", "podLabels", labels, self.pod_labels, _is_key)
        yield from _excess(
            "spec.scheduler.podAnnotations", "podAnnotations", annotations, self.pod_annotations, _is_key
        )


def _excess(
    path: str, chart_value: str, values: Iterable[str], allowed: Sequence[str], is_meant: Callable[[str, str], bool]
) -> Iterator[Problem]:
    if excess := [value for value in values if not any(is_meant(entry, value) for entry in allowed)]:
        yield Problem(
            path,
            f"{', '.join(excess)} is not among what profiles may have here ({', '.join(allowed) or 'none'}); "
            f"change it, or have it added to profiles.allowed.{chart_value} of the chart",
        )


def _is_key(entry: str, key: str) -> bool:
    return key.startswith(entry) if entry.endswith("/") else key == entry


def _is_image(entry: str, image: str) -> bool:
    """Return whether ``entry`` means ``image``; both are compared as they are written."""
    if entry.endswith("/"):
        return image.startswith(entry)
    if image == entry:
        return True
    # A repository stands for each of its versions, but not for what else begins with the same letters.
    is_repository = _VERSION.search(entry) is None
    return is_repository and image.startswith(entry) and _VERSION.fullmatch(image, len(entry)) is not None
