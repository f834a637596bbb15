"""Syntax of Kubernetes names: keys and values of labels, and names of resources."""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def is_qualified_name(text: str) -> bool:
    """Return True if ``text`` can be the key of a label: a name, or ``prefix/name`` with a DNS name as prefix."""
    prefix, slash, name = text.rpartition("/")
    if slash and (len(prefix) > 253 or not _PREFIX.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Return True if ``text`` can be the value of a label."""
    return text == "" or _NAME.fullmatch(text) is not None


def is_extended_resource(name: str) -> bool:
    """Return True if ``name`` is a resource outside of Kubernetes' own names, such as ``example.com/gpu``.

    As upstream's v1helper.IsExtendedResourceName: the name also has to work as the resource of a quota.
    """
    native = "/" not in name or "kubernetes.io/" in name
    return not native and not name.startswith("requests.") and is_qualified_name(f"requests.{name}")


@lru_cache(maxsize=1024)
def is_scalar_resource(name: str) -> bool:
    """Return True if a scheduler counts ``name`` beside cpu, memory, ephemeral-storage and pods.

    As upstream's schedutil.IsScalarResourceName. Other resources of a node are passed over.
    """
    return (
        name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name or is_extended_resource(name)
    )
