"""From a container's specification to a program: everything a process needs, in the pod's own directory."""

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devcluster.node.api import Object
from devcluster.node.config import Config, Image, find_image
from devcluster.node.environment import Find, command_line, environment, variables
from devcluster.node.expansion import expand
from devcluster.node.mounts import SERVICE_ACCOUNT, Mounts, announcements, mounts
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
    """Where a pod's files are: its volumes, its containers' homes, its kubeconfig; and, outside, its logs."""

    path: Path
    logs: Path

    @property
    def volumes(self) -> Path:
        return self.path / "volumes"

    def home(self, container: str) -> Path:
        """The container's own directory, made if it is not there: where it starts, its HOME, its temporary files."""
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
        """Remove everything but the logs. What cannot be removed goes when the next agent starts."""
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
    """What to run for ``container``. Raises NotAvailable while something it needs does not exist."""
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
    if volume is None or not _has_token(pod, volume.name):
        return {}
    text = kubeconfig(config.server, config.ca_file, volume / "token", pod["metadata"]["namespace"])
    file = directory.path / "kubeconfig"
    file.touch(mode=0o600)
    file.write_text(text)
    return {"KUBECONFIG": str(file)}


def _has_token(pod: Object, volume: str) -> bool:
    named = [each for each in pod["spec"].get("volumes", []) if each["name"] == volume]
    return any(kind == "serviceAccountToken" for each in named for kind, _ in sources(each))
