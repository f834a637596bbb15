"""Users' objects as the watches last told of them: read once, and kept as small as they were sent.

A spec stays text until somebody needs it. What profiles and PluginConfigs have to do with each other is kept beside it,
so that no look at one object decodes the others.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scheduler_operator.cluster.json_reading import read_json
from scheduler_operator.cluster.plugin_code import PluginCode
from scheduler_operator.render import joiners
from scheduler_operator.resources import kinds
from scheduler_operator.resources.kinds import ResourceKind
from scheduler_operator.resources.user_object import UserObject


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object of a user's."""

    relations: UserObject
    """The object with those fields of its spec only by which objects refer to each other."""
    version: int
    spec: bytes
    """The spec as JSON; empty if it exceeds the bounds."""

    @classmethod
    def from_object(cls, raw: Mapping[str, Any]) -> "StoredObject":
        """Store an object as the API server sends it."""
        user_object = UserObject.from_object(raw)
        version = raw["metadata"].get("resourceVersion", "")
        return cls(
            replace(user_object, spec=_relations(user_object.spec)),
            int(version) if version.isdecimal() else 0,
            json.dumps(user_object.spec).encode(),
        )

    @classmethod
    def unlistable(cls, kind: str, name: str) -> "StoredObject":
        """Return an object of which nothing is known but that the API server cannot read it."""
        reason = "the API server cannot read it back, because it is nested too deep; it has to be removed from etcd"
        return cls(UserObject(kind, name, "", 0, {}, {}, unreadable=reason), 0, b"{}")

    @property
    def name(self) -> str:
        return self.relations.name

    @property
    def plugin(self) -> Any:
        """The plugin of a PluginConfig."""
        return self.relations.spec.get("plugin")

    @property
    def declares(self) -> bool:
        """Whether this PluginConfig declares its plugin."""
        return bool(self.relations.spec.get("declares"))

    def decode(self) -> UserObject:
        """Return the whole object."""
        return replace(self.relations, spec=read_json(self.spec))


def _relations(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a spec, however wrong, that ``render.relations`` reads."""
    kept = {field: spec[field] for field in ("joins", "paused", "plugin") if isinstance(spec.get(field), str | bool)}
    if spec.get("declares"):
        kept["declares"] = True
    if isinstance(entries := spec.get("pluginConfig"), list):
        named = [entry for entry in entries if isinstance(entry, dict)]
        kept["pluginConfig"] = [{key: entry[key] for key in ("name", "ref") if key in entry} for entry in named]
    if isinstance(source := spec.get("source"), dict):
        kept["source"] = source
    if isinstance(plugins := spec.get("plugins"), dict):
        kept["plugins"] = plugins
    return kept


class UserObjects:
    """The profiles and PluginConfigs that exist, by name."""

    def __init__(self) -> None:
        self._objects: dict[ResourceKind, dict[str, StoredObject]] = {kinds.PROFILE: {}, kinds.PLUGIN_CONFIG: {}}
        self._listed: dict[ResourceKind, set[str]] = {}
        """The names in the pages of a list that is under way."""
        self._known: set[ResourceKind] = set()
        self.code = PluginCode()
        """The code of plugins, which is in ConfigMaps of users."""
        self.unlistable: dict[ResourceKind, list[str]] = {}
        """The names of objects that the API server cannot read, by kind, where it could not list the kind at last."""

    @property
    def is_complete(self) -> bool:
        """True once both kinds have been listed."""
        return self._known == self._objects.keys()

    @property
    def profiles(self) -> Mapping[str, StoredObject]:
        return self._objects[kinds.PROFILE]

    @property
    def plugin_configs(self) -> Mapping[str, StoredObject]:
        return self._objects[kinds.PLUGIN_CONFIG]

    def of(self, kind: ResourceKind) -> Mapping[str, StoredObject]:
        """Return the objects of a kind, by name."""
        return self._objects[kind]

    def joiners(self, name: str) -> list[StoredObject]:
        """Return the profiles that join the one called ``name``, the oldest first."""
        found = joiners(name, (stored.relations for stored in self.profiles.values()))
        return [self.profiles[joiner.name] for joiner in found]

    def put(self, kind: ResourceKind, stored: StoredObject) -> bool:
        """Keep an object, unless a newer version is here: the watch and answers to requests are not in one order.

        Returns whether that is worth a look: not if it is the answer to our own write, of a status about this spec.
        """
        before = self._objects[kind].get(stored.name)
        is_judged = stored.relations.status.get("observedGeneration") == stored.relations.generation
        is_known = before is not None and before.relations.uid == stored.relations.uid and is_judged
        is_new = not is_known or before is None or before.version != stored.version
        if before is None or before.relations.uid != stored.relations.uid or before.version <= stored.version:
            self._objects[kind][stored.name] = stored
        return is_new

    def put_written(self, kind: ResourceKind, stored: StoredObject) -> None:
        """Keep what an answer to a request of ours contained, unless the object was deleted meanwhile."""
        before = self._objects[kind].get(stored.name)
        if before is not None and before.relations.uid == stored.relations.uid:
            self.put(kind, stored)

    def remove(self, kind: ResourceKind, name: str) -> None:
        """Forget an object that was deleted."""
        self._objects[kind].pop(name, None)

    def put_page(self, kind: ResourceKind, page: Iterable[StoredObject], is_first: bool, is_last: bool) -> None:
        """Keep the objects on a page of a list; after the last page forget what was on none."""
        if is_first:
            self._listed[kind] = set()
        names = self._listed.setdefault(kind, set())
        for stored in page:
            names.add(stored.name)
            self.put(kind, stored)
        if is_last:
            for gone in self._objects[kind].keys() - names:
                self.remove(kind, gone)
            self._known.add(kind)
            self.unlistable.pop(kind, None)
