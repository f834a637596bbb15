"""The command line and the environment of a container. Pure: everything looked up comes in as an argument."""

import base64
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from devcluster.node.api import Object
from devcluster.node.config import Image
from devcluster.node.downward import field_value, resource_value
from devcluster.node.expansion import expand
from devcluster.node.mounts import Mounts
from devcluster.node.objects import NotAvailable

Find = Callable[[str, str], Object | None]  # kind, name -> the object of the pod's namespace

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def variables(container: Object, pod: Object, capacity: Mapping[str, str], find: Find) -> dict[str, str]:
    """What ``envFrom`` and ``env`` say, references resolved. Raises NotAvailable when one cannot be."""
    values: dict[str, str] = {}
    for source in container.get("envFrom", []):
        values.update(_all_of(source, find))
    for entry in container.get("env", []):
        origin = entry.get("valueFrom")
        if origin is None:
            values[entry["name"]] = expand(entry.get("value", ""), values)
        elif (value := _value_from(origin, container, pod, capacity, find)) is not None:
            values[entry["name"]] = value
    return values


def _all_of(source: Mapping[str, Any], find: Find) -> Iterator[tuple[str, str]]:
    kind, key = ("ConfigMap", "configMapRef") if "configMapRef" in source else ("Secret", "secretRef")
    for name, value in contents(kind, source[key], find).items():
        yield source.get("prefix", "") + name, value.decode(errors="replace")


def _value_from(
    origin: Mapping[str, Any], container: Object, pod: Object, capacity: Mapping[str, str], find: Find
) -> str | None:
    match origin:
        case {"fieldRef": {"fieldPath": path}}:
            return field_value(pod, path)
        case {"resourceFieldRef": reference}:
            return resource_value(container, capacity, reference)
        case {"configMapKeyRef": reference}:
            return _keyed("ConfigMap", reference, find)
        case {"secretKeyRef": reference}:
            return _keyed("Secret", reference, find)
    raise ValueError(f"valueFrom {', '.join(origin)}: the process node does not know this source")


def _keyed(kind: str, reference: Mapping[str, Any], find: Find) -> str | None:
    found = contents(kind, reference, find)
    if reference["key"] in found:
        return found[reference["key"]].decode(errors="replace")
    if reference.get("optional"):
        return None
    raise NotAvailable(f'{kind} "{reference["name"]}" has no key {reference["key"]}')


def contents(kind: str, reference: Mapping[str, Any], find: Find) -> dict[str, bytes]:
    """The keys of a ConfigMap or Secret; none when it is optional and absent."""
    name = reference.get("name") or reference["secretName"]
    found = find(kind, name)
    if found is None:
        if reference.get("optional"):
            return {}
        raise NotAvailable(f'{kind} "{name}" does not exist')
    plain, encoded = ("data", "binaryData") if kind == "ConfigMap" else ("stringData", "data")
    texts = {key: text.encode() for key, text in (found.get(plain) or {}).items()}
    return texts | {key: base64.b64decode(text) for key, text in (found.get(encoded) or {}).items()}


def environment(values: Mapping[str, str], mounts: Mounts, image: Image, home: Path) -> dict[str, str]:
    """The whole environment: a clean one, the container's own ``values`` over it, paths as they are on this machine."""
    clean = {
        "PATH": os.pathsep.join(filter(None, (image.path, _PATH))),
        "HOME": str(home),
        "TMPDIR": str(mounts.real("/tmp") or home / "tmp"),  # noqa: S108 - the container's, if it mounts one
        "LANG": "C.UTF-8",
    }
    return clean | {name: mounts.relocate(value) for name, value in values.items()}


def command_line(container: Object, image: Image, values: Mapping[str, str], mounts: Mounts) -> list[str]:
    """What to run: the container's command, or the image's entrypoint, and the container's args behind it."""

    def own(key: str) -> list[str]:
        return [mounts.relocate(expand(part, values)) for part in container.get(key) or []]

    return (own("command") or list(image.entrypoint)) + own("args")
