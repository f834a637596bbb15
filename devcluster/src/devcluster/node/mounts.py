"""Where the paths of a container are on this machine.

A process on the host has the host's file system: nothing can be mounted for it alone. So the content of a volume is
an ordinary directory, ``volumes/NAME`` in the pod's own, and the container is told about it in two ways:

* ``DEVCLUSTER_MOUNT_NAME`` in its environment holds that directory (NAME in capitals, ``_`` for what a variable's
  name cannot hold);
* wherever a mountPath stands in its command, args, workingDir, probes' commands or values of its environment, as
  whole path components, the real path stands instead: with a volume ``config`` at ``/etc/berth``,
  ``--config=/etc/berth/config.yaml`` becomes ``--config=/…/volumes/config/config.yaml``, and ``/etc/berth-old`` stays.

A path that is written into the program itself, or into a file, is not found: pass it as an argument.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from devcluster.node.api import Object
from devcluster.node.expansion import expand

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


class Mounts:
    """The mounts of one container: mountPath to real path."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = {path.rstrip("/") or "/": real for path, real in paths.items()}
        longest_first = sorted(self._paths, key=len, reverse=True)
        known = "|".join(map(re.escape, longest_first))
        self._known = re.compile(rf"(?<![\w.\-/])({known})(?![\w.\-])") if known else None

    def relocate(self, text: str) -> str:
        """``text`` with every mountPath in it replaced by the real path."""
        return self._known.sub(lambda found: str(self._paths[found[1]]), text) if self._known else text

    def real(self, path: str) -> Path | None:
        """The real path of exactly ``path``, or None when nothing is mounted there."""
        return self._paths.get(path.rstrip("/"))

    def covers(self, path: str) -> bool:
        """Whether ``path`` is at or below a mount."""
        return any(path == each or path.startswith(each + "/") for each in self._paths)


def mounts(container: Object, volumes: Path, variables: Mapping[str, str]) -> Mounts:
    """The mounts of ``container``, whose volumes are in the directory ``volumes``."""
    found = {}
    for mount in container.get("volumeMounts", []):
        below = expand(mount.get("subPathExpr", ""), variables) or mount.get("subPath", "")
        found[mount["mountPath"]] = volumes / mount["name"] / below
    return Mounts(found)


def announcements(names: Iterable[str], volumes: Path) -> dict[str, str]:
    """The ``DEVCLUSTER_MOUNT_…`` variables for the volumes called ``names``."""
    return {f"DEVCLUSTER_MOUNT_{re.sub('[^A-Z0-9]', '_', name.upper())}": str(volumes / name) for name in names}
