"""The resources that count in a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scheduler_runtime.catalog.args import ResourceSpec
from scheduler_runtime.catalog.syntax import is_scalar_resource


class ScoredResources(NamedTuple):
    """A resource that counts, and how much of it the pod would take."""

    resource: str
    weight: int
    amount: int


def wanted_of(resources: Sequence[ResourceSpec], asked: Mapping[str, int]) -> tuple[ScoredResources, ...]:
    """Those of ``resources`` that count for a pod: scalar ones only when it asks for them."""
    return tuple(
        [
            ScoredResources(resource.name, resource.weight, asked.get(resource.name, 0))
            for resource in resources
            if asked.get(resource.name) or not is_scalar_resource(resource.name)
        ]
    )
