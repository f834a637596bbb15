"""What a pod may ask about itself: fieldRef and resourceFieldRef, in environments and volumes alike."""

import json
import re
from collections.abc import Mapping
from typing import Any

from devcluster.node.api import Object
from devcluster.node.quantities import divided

_ENTRY = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


def field_value(pod: Object, path: str) -> str:
    """The value of a fieldRef. Raises ValueError when there is no such field to ask for."""
    metadata, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
    if entry := _ENTRY.fullmatch(path):
        return str(metadata.get(entry[1], {}).get(entry[2], ""))
    match path:
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(metadata[path.rpartition(".")[2]])
        case "metadata.labels" | "metadata.annotations":
            return _lines(metadata.get(path.rpartition(".")[2], {}))
        case "spec.nodeName" | "spec.serviceAccountName":
            return str(spec.get(path.rpartition(".")[2], ""))
        case "status.podIP" | "status.hostIP":
            return str(status.get(path.rpartition(".")[2], ""))
        case "status.podIPs" | "status.hostIPs":
            return ",".join(each["ip"] for each in status.get(path.rpartition(".")[2], []))
    raise ValueError(f"fieldRef {path}: the process node does not know this field")


def _lines(entries: Mapping[str, str]) -> str:
    return "\n".join(f"{key}={json.dumps(value)}" for key, value in sorted(entries.items()))


def resource_value(container: Object, capacity: Mapping[str, str], reference: Mapping[str, Any]) -> str:
    """The value of a resourceFieldRef; a limit that was not set is what the node has."""
    kind, _, name = reference["resource"].partition(".")
    asked = container.get("resources", {}).get(kind, {})
    unset = capacity.get(name, "0") if kind == "limits" else "0"
    return divided(str(asked.get(name, unset)), str(reference.get("divisor", "")))
