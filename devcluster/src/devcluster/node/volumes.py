"""The files of a pod's volumes, and their publication in the volumes' directories."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from devcluster.node.api import Object
from devcluster.node.environment import Find, contents, field_value, resource_value
from devcluster.node.objects import NotAvailable

PROJECTABLE = ("configMap", "secret", "downwardAPI", "serviceAccountToken")
KINDS = ("emptyDir", "configMap", "secret", "downwardAPI", "projected")
TOKEN_SECONDS = 3600


class TokenKind(NamedTuple):
    """The audience and lifetime of a token: sources of the same kind share one token."""

    audience: str
    seconds: int


class File(NamedTuple):
    """One file of a volume."""

    content: bytes
    mode: int


Token = Callable[[TokenKind], str]


def sources(volume: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The sources of ``volume``, each with its kind: several for a projected volume, else one."""
    parts = volume["projected"].get("sources", []) if "projected" in volume else [volume]
    return [(kind, body or {}) for part in parts for kind, body in part.items() if kind != "name"]


def token_kind(source: Mapping[str, Any]) -> TokenKind:
    """The kind of token that a serviceAccountToken source asks for."""
    return TokenKind(source.get("audience", ""), source.get("expirationSeconds", TOKEN_SECONDS))


def files(
    volume: Mapping[str, Any], pod: Object, capacity: Mapping[str, str], find: Find, token: Token
) -> dict[str, File]:
    """The files of ``volume``, by path. Raises NotAvailable when an object that they come from does not exist."""
    mode = next((volume[kind].get("defaultMode") for kind in KINDS if volume.get(kind)), None) or 0o644
    result: dict[str, File] = {}
    for kind, source in sources(volume):
        match kind:
            case "configMap" | "secret":
                entries = _entries("ConfigMap" if kind == "configMap" else "Secret", source, find)
            case "serviceAccountToken":
                entries = iter([(source["path"], token(token_kind(source)).encode(), None)])
            case "downwardAPI":
                entries = _downward(source, pod, capacity)
            case _:
                raise ValueError(f"a {kind} volume cannot be made on the process node")
        result |= {path: File(content, own or mode) for path, content, own in entries}
    return result


Entry = tuple[str, bytes, int | None]


def _entries(kind: str, source: Mapping[str, Any], find: Find) -> Iterator[Entry]:
    values = contents(kind, source, find)
    items = source.get("items")
    if items is None:
        yield from ((key, content, None) for key, content in values.items())
        return
    for item in items:
        if item["key"] in values:
            yield item["path"], values[item["key"]], item.get("mode")
        elif not source.get("optional"):
            name = source.get("name") or source.get("secretName")
            raise NotAvailable(f'{kind} "{name}" has no key {item["key"]}')


def _downward(source: Mapping[str, Any], pod: Object, capacity: Mapping[str, str]) -> Iterator[Entry]:
    containers = {container["name"]: container for container in pod["spec"]["containers"]}
    for item in source.get("items", []):
        if "fieldRef" in item:
            value = field_value(pod, item["fieldRef"]["fieldPath"])
        else:
            reference = item["resourceFieldRef"]
            value = resource_value(containers[reference["containerName"]], capacity, reference)
        yield item["path"], value.encode(), item.get("mode")


def publish(directory: Path, content: Mapping[str, File]) -> None:
    """Make ``directory`` hold exactly ``content``, all of it at once.

    As with a kubelet, names are links through one link, ``..data``, which is replaced atomically: a reader sees the
    old files or the new ones, never a mixture.
    """
    version = directory / f"..{time.time_ns()}"
    for path, file in content.items():
        target = version / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch(mode=0o600)
        target.write_bytes(file.content)
        target.chmod(file.mode)
    version.mkdir(parents=True, exist_ok=True)  # also for a volume without files
    current = directory / "..data"
    before = current.resolve() if current.is_symlink() else None
    _link(current, version.name)
    names = {path.partition("/")[0] for path in content}
    for name in names - {link.name for link in directory.iterdir()}:
        _link(directory / name, f"..data/{name}")
    for link in list(directory.iterdir()):
        if link.name not in names and not link.name.startswith(".."):
            link.unlink()
    if before is not None:
        shutil.rmtree(before)


def _link(link: Path, target: str) -> None:
    fresh = link.with_name(f"..{link.name.lstrip('.')}_fresh")
    fresh.symlink_to(target)
    fresh.rename(link)
