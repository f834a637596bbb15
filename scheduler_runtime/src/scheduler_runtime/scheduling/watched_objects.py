"""The objects that plugins watch: a copy of each, and an event for each change.

declared watches ──► one reflector each ──► the copy that handles read
                            │
                            └──► events, for the pods that wait for such a change

Pods and nodes are not watched a second time: plugins read the scheduler's own copy, so that whatever is decided about
is in it. ``ClusterUpdates`` makes the events of pods and nodes, for plugins that watch pods also those without a node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec

from scheduler_runtime.api import Action, Event, Watch
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.watch import Change, Kind, Reflector
from scheduler_runtime.kube.watch.kinds import ListPage, read_items
from scheduler_runtime.state.objects import KINDS, ObjectMeta

ApiKind = tuple[str, str]
"""An API version and a kind."""
NODE: ApiKind = ("v1", "Node")
POD: ApiKind = ("v1", "Pod")
_NOTHING: Mapping[ApiKind, Reflector[Any]] = MappingProxyType({})


class WatchRevisions:
    """Counters of the changes of each watch, as far as plugins can see them.

    Plugins compare revisions to know whether what they computed still holds. Shared by ``WatchedObjects`` and by
    ``ClusterUpdates``, which sees the changes of pods and nodes.
    """

    def __init__(self) -> None:
        self.include_pods = False
        """Whether a plugin watches pods: those without a node make events as well then."""
        self.include_nodes = False
        self.by_watch: dict[Watch, int] = {}
        self._by_kind: dict[ApiKind, list[Watch]] = {}

    def __contains__(self, watch: object) -> bool:
        """Return whether the changes of ``watch`` are counted."""
        return watch in self.by_watch

    def of_kind(self, kind: ApiKind) -> Sequence[Watch]:
        """Return the watches of this kind."""
        return self._by_kind.get(kind, ())

    def add(self, watch: Watch) -> None:
        """Count the changes of ``watch`` from now on."""
        self.by_watch[watch] = 0
        self._by_kind.setdefault(_kind_of(watch), []).append(watch)
        self._note_followed_kinds()

    def remove(self, watch: Watch) -> None:
        """Count no more changes of ``watch``, which was added."""
        del self.by_watch[watch]
        self._by_kind[_kind_of(watch)].remove(watch)
        self._note_followed_kinds()

    def _note_followed_kinds(self) -> None:
        # Most schedulers have neither: each change of a pod or a node then costs a look at a flag.
        self.include_pods, self.include_nodes = bool(self._by_kind.get(POD)), bool(self._by_kind.get(NODE))

    def count(self, watch: Watch) -> None:
        """Count a change of one object of ``watch``. While the watch is only being prepared, nothing is counted."""
        if watch in self.by_watch:
            self.by_watch[watch] += 1

    def count_change(self, kind: ApiKind, change: Change[Any]) -> bool:
        """Count a change for the watches of this kind that include the object; return whether a plugin can see it."""
        watches, item = self._by_kind.get(kind), change.new or change.old
        if not watches or item is None:
            return False
        concerned = [watch for watch in watches if _includes(watch, item.metadata)]
        if not concerned or not _action_of(change):
            return False
        for watch in concerned:
            self.by_watch[watch] += 1
        return True


class WatchedObjects:
    """The objects that plugins read through their handles.

    A new document is taken over in three steps: ``create_reflectors`` for what is not watched yet, which have to run
    until they have listed everything; ``adopt``, after which the new plugins can read; and ``keep_only``, once the old
    plugins are no longer asked. The last two take effect at once and cannot fail.
    """

    def __init__(
        self,
        watches: Iterable[Watch],
        client: Client,
        on_event: Callable[[Event], None],
        followed: Mapping[ApiKind, Reflector[Any]] = _NOTHING,
        revisions: WatchRevisions | None = None,
    ) -> None:
        """``on_event`` is called with every change of something that is read, after the copy has it.

        Kinds that are ``followed`` anyway are read there, and make no events here.
        """
        self._client = client
        self._on_event = on_event
        self._followed = followed
        self._revisions = revisions or WatchRevisions()
        self._reflectors: dict[Watch, Reflector[Any]] = {}
        watches = tuple(watches)
        self.adopt(watches, self.create_reflectors(watches))

    @property
    def reflectors(self) -> Collection[Reflector[Any]]:
        """The reflectors that have to run for the copies to be true."""
        return tuple(self._reflectors.values())

    @property
    def watches(self) -> frozenset[Watch]:
        """The watches that can be read."""
        return frozenset(self._reflectors).union(*map(self._revisions.of_kind, self._followed))

    # Taking over another document

    def create_reflectors(self, watches: Iterable[Watch]) -> dict[Watch, Reflector[Any]]:
        """Return what has to run besides so that ``watches`` can be adopted. Events are delivered from the start."""
        return {
            watch: Reflector(reflected_kind(watch), self._client, partial(self._on_change, watch))
            for watch in dict.fromkeys(watches)
            if watch not in self._revisions and _kind_of(watch) not in self._followed
        }

    def adopt(self, watches: Iterable[Watch], reflectors: Mapping[Watch, Reflector[Any]]) -> None:
        """From now on ``watches`` can be read as well; ``reflectors`` are what ``create_reflectors`` made for them."""
        for watch in dict.fromkeys(watches):
            if watch not in self._revisions:
                self._revisions.add(watch)
        self._reflectors = {**self._reflectors, **reflectors}

    def keep_only(self, watches: Collection[Watch]) -> list[Reflector[Any]]:
        """Nobody reads anything but ``watches`` any more: return what need not run any longer."""
        obsolete = self.watches.difference(watches)
        for watch in obsolete:
            self._revisions.remove(watch)
        stopped = [reflector for watch, reflector in self._reflectors.items() if watch in obsolete]
        self._reflectors = {watch: reflector for watch, reflector in self._reflectors.items() if watch not in obsolete}
        return stopped

    def _on_change(self, watch: Watch, change: Change[Any]) -> None:
        action = _action_of(change)
        if action:
            self._revisions.count(watch)
            self._on_event(Event(watch.event_resource, action, _content_of(change.old), _content_of(change.new)))

    # Reading, for plugins

    def get(self, watch: Watch) -> Any:
        """Return the one object that ``watch`` names, or None."""
        return next(iter(self.list(watch)), None)

    def list(self, watch: Watch) -> Iterable[Any]:
        """Return the objects of ``watch`` now: structs for the kinds in ``state.objects.KINDS``, dicts for any other.

        A snapshot: what comes and goes while an asynchronous hook iterates changes nothing of it.
        """
        if followed := self._followed.get(_kind_of(watch)):
            return tuple([item for item in followed.objects.values() if _includes(watch, item.metadata)])
        return tuple([_content_of(item) for item in self._reflectors[watch].objects.values()])

    def find(self, watch: Watch, name: str, namespace: str = "") -> Any:
        """Return the object of ``watch`` that has this name, or None."""
        if followed := self._followed.get(_kind_of(watch)):
            item = followed.objects.get(f"{namespace}/{name}" if namespace else name)
            return item if item and _includes(watch, item.metadata) else None
        return _content_of(self._reflectors[watch].objects.get(f"{namespace}/{name}"))

    def revision(self, watch: Watch) -> int:
        """Return how often something that is read of the objects of ``watch`` changed.

        0 once nobody else reads it: a pod on its way keeps its plugins, which can read pods and nodes nevertheless.
        """
        return self._revisions.by_watch.get(watch, 0)


class Untyped(msgspec.Struct, frozen=True):
    """An object of a kind without a struct."""

    metadata: ObjectMeta
    content: dict[str, Any]


def reflected_kind(watch: Watch) -> Kind[Any]:
    """Return the kind that lists, watches and decodes the objects of ``watch``."""
    struct = KINDS.get(_kind_of(watch))
    decode: Callable[[bytes | msgspec.Raw], Any] = msgspec.json.Decoder(struct).decode if struct else _decode_untyped

    def read_list(body: bytes) -> ListPage[Any]:
        return read_items(body, decode)

    root = f"/apis/{watch.api_version}" if watch.group else f"/api/{watch.api_version}"
    namespace = f"/namespaces/{watch.namespace}" if watch.namespace else ""
    params = {"fieldSelector": f"metadata.name={watch.name}"} if watch.name else {}
    return Kind(f"{root}{namespace}/{watch.resource}", _key, read_list, decode, params)


def _kind_of(watch: Watch) -> ApiKind:
    return watch.api_version, watch.kind


def _includes(watch: Watch, metadata: Any) -> bool:
    return watch.namespace in ("", metadata.namespace) and watch.name in ("", metadata.name)


def _key(item: Any) -> str:
    return f"{item.metadata.namespace}/{item.metadata.name}"


def _decode_untyped(raw: bytes | msgspec.Raw) -> Untyped:
    content = msgspec.json.decode(raw, type=dict[str, Any])
    return Untyped(msgspec.convert(content["metadata"], ObjectMeta), content)


def _content_of(item: Any) -> Any:
    return item.content if isinstance(item, Untyped) else item


def _action_of(change: Change[Any]) -> Action:
    """Return the action of a change for plugins; none when only fields changed that nobody reads."""
    match change:
        case Change(old=None):
            return Action.ADD
        case Change(new=None):
            return Action.DELETE
        case Change(old=Untyped()):
            return Action.UPDATE
        case Change(old=old, new=new):
            return Action.UPDATE if _without_version(old) != _without_version(new) else Action(0)


def _without_version(item: Any) -> Any:
    metadata = msgspec.structs.replace(item.metadata, resource_version="", generation=0)
    return msgspec.structs.replace(item, metadata=metadata)
