"""Watch of the generated bindings in kube-system: kopf looks into the operator's namespace only."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scheduler_operator.cluster.following import follow
from scheduler_operator.cluster.generated_objects import GeneratedObjects
from scheduler_operator.cluster.json_reading import read_json
from scheduler_operator.resources.kinds import READER_BINDING
from scheduler_operator.resources.names import GENERATED_SELECTOR, profile_of
from scheduler_runtime.kube import Change, Kind
from scheduler_runtime.kube.watch.kinds import Identity, ObjectIdentity, decode_identified, read_items


@dataclass(frozen=True, slots=True)
class _Binding:
    """A binding, and the part of it that a watch needs."""

    metadata: Identity
    raw: dict[str, Any]


def _read(raw: Any) -> _Binding:
    return _Binding(decode_identified(raw).metadata, read_json(bytes(raw)))


def _name(binding: _Binding | ObjectIdentity) -> str:
    return binding.metadata.name


BINDINGS: Kind[_Binding] = Kind(
    READER_BINDING.collection(""),
    _name,
    lambda raw: read_items(raw, _read),
    _read,
    {"labelSelector": GENERATED_SELECTOR},
)


async def watch_reader_bindings(
    kubeconfig: str, user_agent: str, generated: GeneratedObjects, queue: Callable[[str], None]
) -> None:
    """Keep the bindings in ``generated`` until cancelled; ``queue`` gets the profile of each that changes."""

    def take(change: Change[_Binding]) -> None:
        if change.new is not None:
            generated.put(READER_BINDING, change.new.raw)
        elif change.old is not None:
            generated.remove(READER_BINDING, change.old.metadata.name, change.old.metadata.uid)
        for binding in filter(None, (change.old, change.new)):
            queue(profile_of(binding.raw["metadata"]))

    await follow(kubeconfig, user_agent, BINDINGS, take, lambda: generated.mark_listed(READER_BINDING))
