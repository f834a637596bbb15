"""The volumes of one pod, kept as the objects say from which they are made."""

from collections.abc import Callable

from devcluster.node.api import Object
from devcluster.node.config import Config
from devcluster.node.launch import PodDirectory
from devcluster.node.objects import Objects, Reference
from devcluster.node.references import references
from devcluster.node.tokens import Tokens
from devcluster.node.volumes import File, files, publish


class PodVolumes:
    """Follows what the pod refers to, from creation until ``close``, and writes it where the pod reads it."""

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
        """Follow nothing any more."""
        for reference in self._followed:
            self._objects.forget(reference, self._changed)
        self._followed = set()

    def find(self, kind: str, name: str) -> Object | None:
        """An object of the pod's namespace. Raises NotAvailable while it is not known whether it exists."""
        return self._objects.find(Reference(kind, self._namespace, name))

    def write(self, pod: Object, tokens: Tokens) -> None:
        """Write what has changed. Raises NotAvailable when something the volumes are made from does not exist."""
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
