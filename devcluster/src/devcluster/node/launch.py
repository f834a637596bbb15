"""From a container's specification to a program, with everything its process needs in the pod's own directory."""

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devcluster.node.api import Object
from devcluster.node.config import Config, Image, find_image
from devcluster.node.environment import Find, command_line, environment, variables
from devcluster.node.mounts import SERVICE_ACCOUNT, Mounts, announcements, expand, mounts
from devcluster.node.processes import Program
from devcluster.node.tokens import kubeconfig
from devcluster.node.volumes import sources

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Launch:
    """A container ready to be started."""

    program: Program
    variables: Mapping[str, str]
    mounts: Mounts

    def execute(self, command: list[str]) -> Program:
        """Another program in the same surroundings, for probes and hooks."""
        argv = [self.mounts.relocate(expand(part, self.variables)) for part in command]
        return Program(argv=argv, environment=self.program.environment, directory=self.program.directory)


@dataclass(frozen=True, slots=True)
class PodDirectory:
    """The files of a pod: its volumes, its containers' homes, its kubeconfig; and, outside, its logs."""

    path: Path
    logs: Path

    @property
    def volumes(self) -> Path:
        return self.path / "volumes"

    def home(self, container: str) -> Path:
        """Make sure the container's own directory exists: its working directory, its HOME, its temporary files."""
        home = self.path / "containers" / container
        (home / "tmp").mkdir(parents=True, exist_ok=True)
        return home

    def log(self, container: str, restarts: int) -> Path:
        """The file for the output of a container's next run; ``current`` beside it leads there."""
        directory = self.logs / container
        directory.mkdir(parents=True, exist_ok=True)
        link = directory / "current"
        link.unlink(missing_ok=True)
        link.symlink_to(f"{restarts}.log")
        return directory / f"{restarts}.log"

    def remove(self) -> None:
        """Remove everything but the logs. The next agent removes what cannot be removed now."""
        try:
            if self.path.exists():
                shutil.rmtree(self.path)
        except OSError as error:
            logger.warning("pod directory not removed: %s", error)


def pod_directory(config: Config, pod: Object) -> PodDirectory:
    """The places of ``pod``."""
    metadata = pod["metadata"]
    unique = f"{metadata['namespace']}_{metadata['name']}_{metadata['uid']}"
    return PodDirectory(config.directory / "pods" / metadata["uid"], config.directory / "logs" / unique)


def launch(container: Object, pod: Object, config: Config, directory: PodDirectory, find: Find) -> Launch:
    """The program for ``container``. Raises NotAvailable while an object that it needs does not exist."""
    image = find_image(config.images, container["image"]) or Image()
    home = directory.home(container["name"])
    values = variables(container, pod, config.capacity, find)
    where = mounts(container, directory.volumes, values)
    volumes = sorted({mount["name"] for mount in container.get("volumeMounts", [])})
    surroundings = {
        "HOSTNAME": pod["metadata"]["name"],
        **announcements(volumes, directory.volumes),
        **_credentials(pod, config, directory, where),
        **environment(values, where, image, home),
    }
    program = Program(
        argv=command_line(container, image, values, where),
        environment=surroundings,
        directory=Path(where.relocate(container.get("workingDir", "")) or home),
        forks=image.forks or bool(container.get("command")),
    )
    return Launch(program, values, where)


def _credentials(pod: Object, config: Config, directory: PodDirectory, where: Mounts) -> Mapping[str, str]:
    """KUBECONFIG, for a container that would find in-cluster credentials in a real node."""
    volume = where.real(SERVICE_ACCOUNT)
    if volume is None:
        return {}
    parts = [
        part for source in pod["spec"].get("volumes", []) if source["name"] == volume.name for part in sources(source)
    ]
    if not any(kind == "serviceAccountToken" for kind, _ in parts):
        return {}
    text = kubeconfig(config.server, config.ca_file, volume / "token", pod["metadata"]["namespace"])
    file = directory.path / "kubeconfig"
    file.touch(mode=0o600)
    file.write_text(text)
    return {"KUBECONFIG": str(file)}
