"""Code of plugins in ConfigMaps of the operator's namespace, as a watch shows it: names of files, with their SHA-256.

A running scheduler goes on with the code that it has loaded. That the code has changed or is gone would show only when
it starts anew, and then it cannot.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from scheduler_operator.cluster.following import follow
from scheduler_operator.resources import kinds
from scheduler_operator.resources.names import PROFILE_LABEL
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.config import Problem
from scheduler_runtime.kube import Change, Kind
from scheduler_runtime.kube.watch.kinds import Identity, ObjectIdentity, Wire, read_items

_PATH = "spec.source.configMap"
_FILES = ".py"
"""The end of every key with code."""


@dataclass(frozen=True, slots=True)
class CodeSource:
    """The file with the code of a plugin, as a PluginConfig names it."""

    config_map: str
    key: str
    sha256: str

    @classmethod
    def of(cls, plugin_config: UserObject) -> "CodeSource | None":
        """Return the source that a PluginConfig names; None if it names none that can be read."""
        source = plugin_config.spec.get("source")
        config_map = source.get("configMap") if isinstance(source, Mapping) else None
        if not isinstance(config_map, Mapping):
            return None
        name, key, sha256 = (config_map.get(field) for field in ("name", "key", "sha256"))
        if not (isinstance(name, str) and isinstance(key, str) and isinstance(sha256, str)):
            return None
        return cls(name, key, sha256)


class PluginCode:
    """The files with code that there are."""

    def __init__(self) -> None:
        self._digests: dict[str, Mapping[str, str]] = {}
        """By ConfigMap and file."""
        self.is_known = False
        """False before all ConfigMaps are listed, and where nobody watches them."""

    def put(self, config_map: str, digests: Mapping[str, str]) -> None:
        """Keep what a ConfigMap has now."""
        self._digests[config_map] = digests

    def remove(self, config_map: str) -> None:
        """Forget a ConfigMap that was deleted."""
        self._digests.pop(config_map, None)

    def problem(self, plugin_config: UserObject, namespace: str) -> Problem | None:
        """Return why a scheduler that starts now could not load the code that a PluginConfig names; None if it can.

        ``namespace`` is the one that is watched.
        """
        source = CodeSource.of(plugin_config)
        if source is None or not self.is_known:
            return None
        title = f"ConfigMap {namespace}/{source.config_map}"
        goes_on = "schedulers that run go on with the code that they have loaded, and none can start"
        digests = self._digests.get(source.config_map)
        if digests is None:
            return Problem(f"{_PATH}.name", f"{title} does not exist; create it with the code. Until then {goes_on}")
        digest = digests.get(source.key)
        if digest is None:
            return Problem(f"{_PATH}.key", f"{title} has no {source.key}; put the code there. Until then {goes_on}")
        if digest != source.sha256:
            message = (
                f"{source.key} in {title} has the SHA-256 {digest}; look at what changed, and write this hash here"
            )
            return Problem(f"{_PATH}.sha256", f"{message}, or restore the code. Until then {goes_on}")
        return None


class _ConfigMap(Wire, frozen=True):
    metadata: Identity
    data: dict[str, str] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Files:
    """A ConfigMap, and of its files no more than the SHA-256."""

    metadata: Identity
    digests: Mapping[str, str]


_decode = msgspec.json.Decoder(_ConfigMap).decode


def _read(raw: Any) -> _Files:
    config_map = _decode(raw)
    files = {key: text for key, text in config_map.data.items() if key.endswith(_FILES)}
    return _Files(config_map.metadata, {key: hashlib.sha256(text.encode()).hexdigest() for key, text in files.items()})


def _name(files: _Files | ObjectIdentity) -> str:
    return files.metadata.name


async def watch_plugin_code(
    kubeconfig: str, user_agent: str, namespace: str, code: PluginCode, queue: Callable[[str | None], None]
) -> None:
    """Keep in ``code`` what ConfigMaps have until cancelled.

    ``queue`` gets the name of each whose files change, and None once all are known.
    """

    def take(change: Change[_Files]) -> None:
        name = _name(change.new or change.old)  # type: ignore[arg-type]  # one of them is there
        if change.new is not None:
            code.put(name, change.new.digests)
        else:
            code.remove(name)
        if (change.old and change.old.digests) != (change.new and change.new.digests):
            queue(name)

    config_maps: Kind[_Files] = Kind(
        kinds.CONFIG_MAP.collection(namespace),
        _name,
        lambda raw: read_items(raw, _read),
        _read,
        {"labelSelector": f"!{PROFILE_LABEL}"},  # not those that are generated
    )

    def note_listed() -> None:
        code.is_known = True
        queue(None)

    await follow(kubeconfig, user_agent, config_maps, take, note_listed)
