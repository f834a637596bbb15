"""Refusals: the features of a pod that the process node does not have, reported before anything is started."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from devcluster.node.api import Object
from devcluster.node.config import BUILT_IN, Image, find_image
from devcluster.node.mounts import mounts
from devcluster.node.probes import ACTIONS
from devcluster.node.volumes import KINDS as VOLUMES
from devcluster.node.volumes import PROJECTABLE, sources


class Refusal(NamedTuple):
    """A reason in the sense of a container's ``waiting`` state, and a sentence."""

    reason: str
    message: str


UNSUPPORTED = "CreateContainerConfigError"
NO_IMAGE = "ErrImageNeverPull"

_ANYWHERE = Path("/")


def refusals(pod: Object, images: Mapping[str, Image]) -> list[Refusal]:
    """Everything for which the process node does not run ``pod``."""
    spec = pod["spec"]
    result = [
        _unsupported(f"spec.{field}", "the process node does not share the host's namespaces with a pod")
        for field in ("hostNetwork", "hostPID", "hostIPC")
        if spec.get(field)
    ]
    for index, volume in enumerate(spec.get("volumes", [])):
        path = f"spec.volumes[{index}] ({volume['name']})"
        kind = next(key for key in volume if key != "name")
        if kind not in VOLUMES:
            result.append(_unsupported(path, f"the process node has no {kind} volumes, only {', '.join(VOLUMES)}"))
        elif unknown := {part for part, _ in sources(volume)} - {"emptyDir", *PROJECTABLE}:
            names = ", ".join(sorted(unknown))
            why = f"the process node does not project {names}, only {', '.join(PROJECTABLE)}"
            result.append(_unsupported(path, why))
    for key in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(key, [])):
            result += _refused_in_container(container, f"spec.{key}[{index}]", images)
    return result


def _unsupported(path: str, why: str) -> Refusal:
    return Refusal(UNSUPPORTED, f"{path}: {why}")


def _refused_in_container(container: Object, path: str, images: Mapping[str, Image]) -> Iterator[Refusal]:
    image = find_image(images, container["image"])
    if image is None:
        mapped = ", ".join(sorted({*images, *BUILT_IN}))
        yield Refusal(
            NO_IMAGE,
            f"{path}.image: {container['image']} stands for no local command on the process node; "
            f"mapped are: {mapped}; 'devcluster up --image' maps more",
        )
    elif not (container.get("command") or image.entrypoint):
        yield _unsupported(f"{path}.command", f"{container['image']} is mapped without an entrypoint; give a command")
    context = container.get("securityContext", {})
    if context.get("privileged"):
        yield _unsupported(f"{path}.securityContext.privileged", "the process node runs nothing privileged")
    added = set(context.get("capabilities", {}).get("add", [])) - {"NET_BIND_SERVICE"}
    if added:
        names = ", ".join(sorted(added))
        yield _unsupported(f"{path}.securityContext.capabilities.add", f"the process node cannot grant {names}")
    yield from _refused_actions(container, path)
    if container.get("restartPolicy") == "Always":
        yield _unsupported(f"{path}.restartPolicy", "the process node runs no sidecars; make it an ordinary container")
    if any(port.get("hostPort") for port in container.get("ports", [])):
        yield _unsupported(f"{path}.ports", "the process node maps no hostPort; connect to the pod's own address")
    directory = container.get("workingDir", "")
    if directory and not mounts(container, _ANYWHERE, {}).covers(directory):
        yield _unsupported(f"{path}.workingDir", f"{directory} is in no volume of this container; mount one there")


def _refused_actions(container: Object, path: str) -> Iterator[Refusal]:
    probes = ("startupProbe", "livenessProbe", "readinessProbe")
    actions = {f"{path}.{name}": container[name] for name in probes if name in container}
    hooks = container.get("lifecycle", {})
    if "preStop" in hooks:
        actions[f"{path}.lifecycle.preStop"] = hooks["preStop"]
    if "postStart" in hooks:
        yield _unsupported(f"{path}.lifecycle.postStart", "the process node runs no postStart hook")
    for where, action in actions.items():
        if not ACTIONS & action.keys():
            yield _unsupported(where, f"the process node knows only {', '.join(sorted(ACTIONS))}")
