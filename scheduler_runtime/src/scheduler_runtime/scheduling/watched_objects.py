"""The objects that plugins watch: a copy of each, and an event for each change.

declared watches ──► one reflector each ──► the copy that handles read
                            │
                            └──► events, for the pods that wait for such a change

Pods and nodes are not watched a second time: plugins read the scheduler's own copy, so that whatever is
decided about is in it. ``Intake`` tells the events of these, to plugins that watch pods those without a node too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec

from scheduler_runtime.api import Action, Event, Plugin, Watch, declaration_of
from scheduler_runtime.config import EffectiveProfile
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.watch import Change, Kind, Reflector
from scheduler_runtime.kube.watch.envelopes import Page, WatchEvent, read_items
from scheduler_runtime.state.objects import KINDS, ObjectMeta

Told = Callable[[Event], None]
Kinded = tuple[str, str]
"""An API version and a kind."""
_NOTHING: Mapping[Kinded, Reflector[Any]] = MappingProxyType({})


class WatchedObjects:
    """What plugins read through their handles."""

    def __init__(
        self, watches: Iterable[Watch], client: Client, told: Told, followed: Mapping[Kinded, Reflector[Any]] = _NOTHING
    ) -> None:
        """``told`` hears of every change of something that is read, after the copy has it.

        What is ``followed`` anyway is read there, and nobody hears of it here.
        """
        self._told = told
        self._client = client
        self._followed = followed
        self._revisions: dict[Watch, int] = {}
        self._of_followed: dict[Kinded, list[Watch]] = {}
        self._reflectors = self.reflectors_for(watches)

    @property
    def reflectors(self) -> Collection[Reflector[Any]]:
        """What has to run for the copies to be true."""
        return tuple(self._reflectors.values())

    def reflectors_for(self, watches: Iterable[Watch]) -> dict[Watch, Reflector[Any]]:
        """What would have to run besides, were ``watches`` read as well. They can be read once it is adopted."""
        new = [watch for watch in dict.fromkeys(watches) if watch not in self._revisions]
        self._revisions |= dict.fromkeys(new, 0)
        for watch in new:
            if _kinded(watch) in self._followed:
                self._of_followed.setdefault(_kinded(watch), []).append(watch)
        missing = [watch for watch in new if _kinded(watch) not in self._followed]
        return {watch: Reflector(kind_of(watch), self._client, partial(self._take, watch)) for watch in missing}

    def adopt(self, reflectors: Mapping[Watch, Reflector[Any]]) -> None:
        """From now on what ``reflectors`` hold can be read as well."""
        self._reflectors = {**self._reflectors, **reflectors}

    def drop(self, watches: Iterable[Watch]) -> list[Reflector[Any]]:
        """Nobody reads ``watches`` any more: return what need not run any longer."""
        gone = frozenset(watches)
        for watch in gone:
            self._revisions.pop(watch, None)
        for of_kind in self._of_followed.values():
            of_kind[:] = [watch for watch in of_kind if watch not in gone]
        dropped = [each for watch, each in self._reflectors.items() if watch in gone]
        self._reflectors = {watch: each for watch, each in self._reflectors.items() if watch not in gone}
        return dropped

    @property
    def watches(self) -> frozenset[Watch]:
        """What can be read."""
        return frozenset(self._reflectors).union(*self._of_followed.values())

    def get(self, watch: Watch) -> Any:
        """The one object that ``watch`` names, or None."""
        return next(iter(self.list(watch)), None)

    def list(self, watch: Watch) -> Iterable[Any]:
        """The objects of ``watch`` now: pods, nodes and those of ``wire.KINDS`` as structs, any other as it came.

        What comes and goes while an asynchronous hook goes through them changes nothing of what it was given.
        """
        if followed := self._followed.get(_kinded(watch)):
            return tuple([each for each in followed.objects.values() if _is_of(watch, each.metadata)])
        return tuple([_content(each) for each in self._reflectors[watch].objects.values()])

    def find(self, watch: Watch, name: str, namespace: str = "") -> Any:
        """The object of ``watch`` that has this name, or None."""
        if followed := self._followed.get(_kinded(watch)):
            item = followed.objects.get(f"{namespace}/{name}" if namespace else name)
            return item if item and _is_of(watch, item.metadata) else None
        return _content(self._reflectors[watch].objects.get(f"{namespace}/{name}"))

    def revision(self, watch: Watch) -> int:
        """How often something that is read of the objects of ``watch`` changed.

        0 once it was dropped: a pod on its way keeps its plugins, and pods and nodes can be read nevertheless.
        """
        return self._revisions.get(watch, 0)

    def saw(self, kind: Kinded, change: Change[Any]) -> bool:
        """Count a change of what is followed; whether a plugin that watches this ``kind`` sees something else now."""
        watches, there = self._of_followed.get(kind), change.new or change.old
        concerned = [watch for watch in watches if _is_of(watch, there.metadata)] if watches and there else ()
        if not concerned or not _action(change):
            return False
        for watch in concerned:
            self._revisions[watch] += 1
        return True

    def _take(self, watch: Watch, change: Change[Any]) -> None:
        action = _action(change)
        if action:
            self._revisions[watch] += 1
            old, new = _content(change.old), _content(change.new)
            self._told(Event(watch.event_resource, action, old, new))


def declared_watches(profiles: Iterable[EffectiveProfile], classes: Mapping[str, type[Plugin]]) -> list[Watch]:
    """What the plugins of ``profiles`` that are in ``classes`` watch, with the arguments they have there."""
    return [
        watch
        for profile in profiles
        for name in profile.names
        if name in classes
        for watch in declaration_of(classes[name]).watches_for(profile.args.get(name))
    ]


class Untyped(msgspec.Struct, frozen=True):
    """An object of a kind without a struct."""

    metadata: ObjectMeta
    content: dict[str, Any]


def kind_of(watch: Watch) -> Kind[Any]:
    """What to list and watch for ``watch``, and how to read it."""
    struct = KINDS.get((watch.api_version, watch.kind))
    read: Callable[[msgspec.Raw], Any] = msgspec.json.Decoder(struct).decode if struct else _untyped

    def read_list(body: bytes) -> Page[Any]:
        return read_items(body, read)

    def read_item(event: WatchEvent) -> Any:
        return read(event.object)

    root = f"/apis/{watch.api_version}" if watch.group else f"/api/{watch.api_version}"
    where = f"/namespaces/{watch.namespace}" if watch.namespace else ""
    only = {"fieldSelector": f"metadata.name={watch.name}"} if watch.name else {}
    return Kind(f"{root}{where}/{watch.resource}", _key, read_list, read_item, only)


def _kinded(watch: Watch) -> Kinded:
    return watch.api_version, watch.kind


def _is_of(watch: Watch, metadata: Any) -> bool:
    return watch.namespace in ("", metadata.namespace) and watch.name in ("", metadata.name)


def _key(item: Any) -> str:
    return f"{item.metadata.namespace}/{item.metadata.name}"


def _untyped(raw: msgspec.Raw) -> Untyped:
    content = msgspec.json.decode(raw, type=dict[str, Any])
    return Untyped(msgspec.convert(content["metadata"], ObjectMeta), content)


def _content(item: Any) -> Any:
    return item.content if isinstance(item, Untyped) else item


def _action(change: Change[Any]) -> Action:
    """What a change is to plugins; nothing when only fields changed that nobody reads."""
    match change:
        case Change(old=None):
            return Action.ADD
        case Change(new=None):
            return Action.DELETE
        case Change(old=Untyped()):
            return Action.UPDATE
        case Change(old=old, new=new):
            return Action.UPDATE if _unversioned(old) != _unversioned(new) else Action(0)


def _unversioned(item: Any) -> Any:
    metadata = msgspec.structs.replace(item.metadata, resource_version="", generation=0)
    return msgspec.structs.replace(item, metadata=metadata)
