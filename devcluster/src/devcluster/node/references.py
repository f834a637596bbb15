"""Which ConfigMaps and Secrets a pod uses."""

from collections.abc import Iterator

from devcluster.node.api import Object
from devcluster.node.objects import Reference
from devcluster.node.volumes import sources


def references(pod: Object) -> set[Reference]:
    """Everything that the volumes and environments of ``pod`` are made from."""
    namespace, spec = pod["metadata"]["namespace"], pod["spec"]
    named = set(_in_volumes(spec))
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        named |= set(_in_environment(container))
    return {Reference(kind, namespace, name) for kind, name in named}


def _in_volumes(spec: Object) -> Iterator[tuple[str, str]]:
    for volume in spec.get("volumes", []):
        for kind, source in sources(volume):
            if kind == "configMap":
                yield "ConfigMap", source["name"]
            elif kind == "secret":
                yield "Secret", source.get("name") or source["secretName"]


def _in_environment(container: Object) -> Iterator[tuple[str, str]]:
    origins = [entry.get("valueFrom", {}) for entry in container.get("env", [])]
    for origin in [*origins, *container.get("envFrom", [])]:
        for kind, keys in (
            ("ConfigMap", ("configMapKeyRef", "configMapRef")),
            ("Secret", ("secretKeyRef", "secretRef")),
        ):
            for key in keys:
                if key in origin:
                    yield kind, origin[key]["name"]
