"""The volumes of one pod, kept equal to the objects from which they are made."""

from collections.abc import Callable

from devcluster.node.api import Object
from devcluster.node.config import Config
from devcluster.node.launch import PodDirectory
from devcluster.node.objects import Objects, Reference
from devcluster.node.tokens import Tokens
from devcluster.node.volumes import File, files, publish, sources

_KEYS = {"ConfigMap": ("configMapKeyRef", "configMapRef"), "Secret": ("secretKeyRef", "secretRef")}


class PodVolumes:
    """Follows the objects that the pod refers to, from creation until ``close``, and writes them into its volumes."""

    def __init__(
        self, config: Config, objects: Objects, pod: Object, directory: PodDirectory, changed: Callable[[], None]
    ) -> None:
        self._config = config
        self._objects = objects
        self._namespace: str = pod["metadata"]["namespace"]
        self._volumes: list[Object] = pod["spec"].get("volumes", [])
        self._directory = directory
        self._changed = changed
        self._published: dict[str, dict[str, File]] = {}
        self._followed = references(pod)
        for reference in self._followed:
            objects.follow(reference, changed)

    def close(self) -> None:
        """Stop following."""
        for reference in self._followed:
            self._objects.forget(reference, self._changed)
        self._followed = set()

    def find(self, kind: str, name: str) -> Object | None:
        """An object of the pod's namespace, None if there is none. Raises NotAvailable while it cannot be read."""
        return self._objects.find(Reference(kind, self._namespace, name))

    def write(self, pod: Object, tokens: Tokens) -> None:
        """Write the changed volumes. Raises NotAvailable when an object that they are made from does not exist."""
        for reference in self._followed:
            self._objects.find(reference)
        for volume in self._volumes:
            directory = self._directory.volumes / volume["name"]
            directory.mkdir(parents=True, exist_ok=True)
            if "emptyDir" in volume:
                continue
            content = files(volume, pod, self._config.capacity, self.find, tokens.get)
            if self._published.get(volume["name"]) != content:
                publish(directory, content)
                self._published[volume["name"]] = content


def references(pod: Object) -> set[Reference]:
    """The ConfigMaps and Secrets that the volumes and environments of ``pod`` are made from."""
    namespace, spec = pod["metadata"]["namespace"], pod["spec"]
    names: set[tuple[str, str]] = set()
    for volume in spec.get("volumes", []):
        for kind, source in sources(volume):
            if kind == "configMap":
                names.add(("ConfigMap", source["name"]))
            elif kind == "secret":
                names.add(("Secret", source.get("name") or source["secretName"]))
    for container in [*spec.get("initContainers", []), *spec["containers"]]:
        for origin in [entry.get("valueFrom", {}) for entry in container.get("env", [])] + container.get("envFrom", []):
            for kind, keys in _KEYS.items():
                names |= {(kind, origin[key]["name"]) for key in keys if key in origin}
    return {Reference(kind, namespace, name) for kind, name in names}
