"""What is read alike of nodes and pods by those that know no scheduler."""

from __future__ import annotations

import msgspec


class Resources(msgspec.Struct):
    requests: dict[str, str] = {}


class Container(msgspec.Struct):
    resources: Resources = msgspec.field(default_factory=Resources)


class Offer(msgspec.Struct):
    """What is read of a node's status."""

    allocatable: dict[str, str] = {}
