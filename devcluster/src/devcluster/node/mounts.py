"""The mounts of a container: the real paths that stand for the paths in its specification.

A process on the host has the host's file system: nothing can be mounted for it alone. So the content of a volume is
an ordinary directory, ``volumes/NAME`` in the pod's own, which the container learns in two ways:

* ``DEVCLUSTER_MOUNT_NAME`` in its environment holds that directory (NAME in capitals, ``_`` for what a variable's
  name cannot hold);
* wherever a mountPath stands in its command, args, workingDir, probes' commands or values of its environment, as
  whole path components, the real path stands instead: with a volume ``config`` at ``/etc/berth``,
  ``--config=/etc/berth/config.yaml`` becomes ``--config=/…/volumes/config/config.yaml``, and ``/etc/berth-old`` stays.

A path inside the program itself, or in a file, is not replaced: pass it as an argument.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from devcluster.node.api import Object

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"

_REFERENCE = re.compile(r"\$(\$|\(([^()$]+)\))")


class Mounts:
    """The mounts of one container: mountPath to real path."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._paths = {path.rstrip("/") or "/": real for path, real in paths.items()}
        longest_first = sorted(self._paths, key=len, reverse=True)  # so that of two nested mounts the inner one wins
        alternatives = "|".join(map(re.escape, longest_first))
        self._pattern = re.compile(rf"(?<![\w.\-/])({alternatives})(?![\w.\-])") if alternatives else None

    def relocate(self, text: str) -> str:
        """``text`` with every mountPath in it replaced by the real path."""
        return self._pattern.sub(lambda match: str(self._paths[match[1]]), text) if self._pattern else text

    def real(self, path: str) -> Path | None:
        """The real path of exactly ``path``, or None when nothing is mounted there."""
        return self._paths.get(path.rstrip("/"))

    def covers(self, path: str) -> bool:
        """True if ``path`` is at or below a mount."""
        return any(path == mount or path.startswith(mount + "/") for mount in self._paths)


def mounts(container: Object, volumes: Path, variables: Mapping[str, str]) -> Mounts:
    """The mounts of ``container``, whose volumes are in the directory ``volumes``."""
    paths = {}
    for mount in container.get("volumeMounts", []):
        below = expand(mount.get("subPathExpr", ""), variables) or mount.get("subPath", "")
        paths[mount["mountPath"]] = volumes / mount["name"] / below
    return Mounts(paths)


def announcements(names: Iterable[str], volumes: Path) -> dict[str, str]:
    """The ``DEVCLUSTER_MOUNT_…`` variables for the volumes called ``names``."""
    return {f"DEVCLUSTER_MOUNT_{re.sub('[^A-Z0-9]', '_', name.upper())}": str(volumes / name) for name in names}


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` by its value; ``$$`` stands for ``$``, and an unknown name stays as it is."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[1] == "$" else variables.get(match[2], match[0])

    return _REFERENCE.sub(value, text)
