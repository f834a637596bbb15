"""Which texts are names of labels and resources."""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")


def is_qualified_name(text: str) -> bool:
    """Whether ``text`` can be the key of a label: a name, or ``prefix/name``."""
    prefix, slash, name = text.rpartition("/")
    if slash and (len(prefix) > 253 or not _PREFIX.fullmatch(prefix)):
        return False
    return _NAME.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Whether ``text`` can be the value of a label."""
    return text == "" or _NAME.fullmatch(text) is not None


def is_extended_resource(name: str) -> bool:
    """Whether ``name`` is a resource outside of Kubernetes' own names, such as ``example.com/gpu``."""
    native = "/" not in name or "kubernetes.io/" in name
    return not native and not name.startswith("requests.") and is_qualified_name(f"requests.{name}")


@lru_cache(maxsize=1024)
def is_scalar_resource(name: str) -> bool:
    """Whether a scheduler counts ``name`` beside cpu, memory, ephemeral-storage and pods."""
    return (
        name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name or is_extended_resource(name)
    )
