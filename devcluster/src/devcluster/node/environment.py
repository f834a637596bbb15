"""The command line and the environment of a container, and the values of fieldRef and resourceFieldRef.

Pure: everything to look up comes in as an argument.
"""

import base64
import json
import math
import os
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from devcluster.node.api import Object
from devcluster.node.config import Image
from devcluster.node.mounts import Mounts, expand
from devcluster.node.objects import NotAvailable

Find = Callable[[str, str], Object | None]  # kind, name -> the object of the pod's namespace

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_ENTRY = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
_SUFFIXES = {
    **{
        name: Fraction(1000) ** power
        for power, name in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
    },
    **{name: Fraction(1024) ** power for power, name in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}
_FORM = re.compile(r"([+-]?[0-9]*\.?[0-9]+|[+-]?[0-9]+\.)([eE][+-]?[0-9]+|[A-Za-z]*)")


def variables(container: Object, pod: Object, capacity: Mapping[str, str], find: Find) -> dict[str, str]:
    """The variables of ``envFrom`` and ``env``, references resolved. Raises NotAvailable when one cannot be."""
    values: dict[str, str] = {}
    for source in container.get("envFrom", []):
        kind, key = ("ConfigMap", "configMapRef") if "configMapRef" in source else ("Secret", "secretRef")
        for name, value in contents(kind, source[key], find).items():
            values[source.get("prefix", "") + name] = value.decode(errors="replace")
    for entry in container.get("env", []):
        origin = entry.get("valueFrom")
        if origin is None:
            values[entry["name"]] = expand(entry.get("value", ""), values)
        elif (resolved := _value_from(origin, container, pod, capacity, find)) is not None:
            values[entry["name"]] = resolved
    return values


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
    values = contents(kind, reference, find)
    if reference["key"] in values:
        return values[reference["key"]].decode(errors="replace")
    if reference.get("optional"):
        return None
    raise NotAvailable(f'{kind} "{reference["name"]}" has no key {reference["key"]}')


def contents(kind: str, reference: Mapping[str, Any], find: Find) -> dict[str, bytes]:
    """The keys of a ConfigMap or Secret; none when it is optional and absent."""
    name = reference.get("name") or reference["secretName"]
    item = find(kind, name)
    if item is None:
        if reference.get("optional"):
            return {}
        raise NotAvailable(f'{kind} "{name}" does not exist')
    plain, encoded = ("data", "binaryData") if kind == "ConfigMap" else ("stringData", "data")
    texts = {key: text.encode() for key, text in (item.get(plain) or {}).items()}
    return texts | {key: base64.b64decode(text) for key, text in (item.get(encoded) or {}).items()}


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
    """The command to run: the container's own, or the image's entrypoint, and the container's args behind it."""

    def own(key: str) -> list[str]:
        return [mounts.relocate(expand(part, values)) for part in container.get(key) or []]

    return (own("command") or list(image.entrypoint)) + own("args")


def field_value(pod: Object, path: str) -> str:
    """The value of a fieldRef. Raises ValueError when there is no such field to ask for."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
    if entry := _ENTRY.fullmatch(path):
        return str(metadata.get(entry[1], {}).get(entry[2], ""))
    match path:
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(metadata[path.rpartition(".")[2]])
        case "metadata.labels" | "metadata.annotations":
            entries = sorted(metadata.get(path.rpartition(".")[2], {}).items())
            return "\n".join(f"{key}={json.dumps(value)}" for key, value in entries)
        case "spec.nodeName" | "spec.serviceAccountName":
            return str(spec.get(path.rpartition(".")[2], ""))
        case "status.podIP" | "status.hostIP":
            return str(status.get(path.rpartition(".")[2], ""))
        case "status.podIPs" | "status.hostIPs":
            return ",".join(address["ip"] for address in status.get(path.rpartition(".")[2], []))
    raise ValueError(f"fieldRef {path}: the process node does not know this field")


def resource_value(container: Object, capacity: Mapping[str, str], reference: Mapping[str, Any]) -> str:
    """The value of a resourceFieldRef; a limit that was not set is what the node has."""
    kind, _, name = reference["resource"].partition(".")
    amounts = container.get("resources", {}).get(kind, {})
    unset = capacity.get(name, "0") if kind == "limits" else "0"
    return divided(str(amounts.get(name, unset)), str(reference.get("divisor", "")))


def quantity(text: str) -> Fraction:
    """The exact value of ``text``, such as ``250m`` or ``1.5Gi``."""
    match = _FORM.fullmatch(text)
    if match and (suffix := match[2]) in _SUFFIXES:
        return Fraction(match[1]) * _SUFFIXES[suffix]
    if match and suffix[1:].lstrip("+-").isdecimal():
        return Fraction(text)
    raise ValueError(f"{text!r} is not a quantity such as 250m or 1.5Gi")


def divided(amount: str, divisor: str) -> str:
    """``amount`` in units of ``divisor`` (absent or ``0``: 1), rounded up."""
    unit = quantity(divisor) if divisor else Fraction(0)
    return str(math.ceil(quantity(amount) / (unit or 1)))
