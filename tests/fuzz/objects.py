"""Pods and nodes that nobody meant, by the schema of a real API server: as it lets them in, and as it never would.

``schema.json`` has the type of each field of each type that a pod or a node is made of, taken from the OpenAPI document
of Kubernetes 1.36 by ``python -m tests.fuzz.schema``. A field that the scheduler reads is chosen more often.
"""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec

from scheduler_runtime.state.objects import Node, Pod

Schema = dict[str, dict[str, str]]
SCHEMA: Schema = json.loads((Path(__file__).parent / "schema.json").read_text())
INTS = (0, 1, 2, 3, 80, 100, -1, 2**31 - 1, -(2**31))
"""The API server takes these, for one field or another."""
BAD_INTS = (2**31, 2**63 - 1, -(2**63), 2**63, 10**30, 1.5, "1", "@@digits", "@@exponent")
WORDS = (
    *("a", "b", "c", "n0", "n1", "n2", "web", "x", "", "zone", "kubernetes.io/hostname", "topology.kubernetes.io/zone"),
    *("metadata.name", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "NoSchedule", "PreferNoSchedule"),
    *("NoExecute", "DoNotSchedule", "ScheduleAnyway", "Honor", "Ignore", "Always", "Never", "Infeasible", "TCP", "UDP"),
    *("PodResizePending", "PreemptLowerPriority", "default", "test", "10.0.0.1", "5", "-7", "a:v1", "true"),
    "0.0.0.0",  # noqa: S104 - an address that pods ask for
)
ODD_WORDS = (
    *("é", "🙂", "\u202e", "\0", "\x1b[31m", "\n", "\ud83d", "a" * 253, "9" * 40, "%s{}", "../..", "*", '"', "\\"),
    *('"managedFields":[', '{"metadata":{"name":"x"}}', "metadata", "@@bytes"),
)
QUANTITIES = (
    *("1", "100m", "0", "1Gi", "500Mi", "2", "1e3", "1.5", "1u", "100n", "9E", "8Ei", "1e25", "9223372036854775807"),
    *("9223372036854775808", "99999999999999999999", "1e999999999", "1e-999999999", "0.1234567891", "110"),
)
BAD_QUANTITIES = ("", "x", "-1", "1" * 2000, "1e9999999999", "١", "NaN", 3, 2.5, -(2**63), None)
KEYS = (
    *("cpu", "memory", "ephemeral-storage", "pods", "hugepages-2Mi", "example.com/gpu", "a", "web", "zone", "app"),
    *("kubernetes.io/hostname", "topology.kubernetes.io/zone", "attachable-volumes-x", "name", "uid", "x" * 300, "é"),
)
CHOICES = {
    "operator": ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", ""),
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute", ""),
    "whenUnsatisfiable": ("DoNotSchedule", "ScheduleAnyway"),
    "nodeAffinityPolicy": ("Honor", "Ignore"),
    "nodeTaintsPolicy": ("Honor", "Ignore"),
    "topologyKey": ("kubernetes.io/hostname", "topology.kubernetes.io/zone", "zone", "a"),
    "protocol": ("TCP", "UDP", ""),
}
"""What fields with few words have most times: with another one the rest of their object has no effect."""
LENGTHS = (0, 1, 1, 1, 2, 2, 3, 3, 8)
LONG_LENGTHS = (50, 300)
WRONG: tuple[Any, ...] = (None, True, 0, "", "x", [], {}, [None], {"": None}, [[]], 1e308, "@@deep", "@@array", "@@nan")
LEVELS = 9_993
"""As deep as the API server stores managedFields; other values are cut a little deeper."""
RAW_TEXTS = {
    b'"@@digits"': b"9" * 10_000,
    b'"@@exponent"': b"1e400",
    b'"@@deep"': b'{"a":' * LEVELS + b"{}" + b"}" * LEVELS,
    b'"@@array"': b"[" * LEVELS + b"]" * LEVELS,
    b'"@@nan"': b"NaN",
    b"@@bytes": b"\xff\xfe",
}
"""Texts that no JSON library writes, by what stands for them until then."""
READ = 0.7
"""The part of the fields that are set, of those that the scheduler reads; of the others, a twentieth of that."""
OWN_FIELDS = {
    "metadata.name": "a",
    "metadata.namespace": "default",
    "metadata.uid": "u",
    "metadata.resourceVersion": "1",
}


class MadeObjects:
    """Makes pods and nodes, the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - to be repeated, not to be secret
        self.lengths: tuple[int, ...] = LENGTHS
        """One of these is the length of each list and map."""
        self.odd_words = 0.03
        """The part of the words that are odd."""

    def pod(self, name: str, node: str, scheduler: str) -> bytes:
        """Return the text of a pod, perhaps one that cannot be decoded."""
        pod = self._object("Pod", Pod, name)
        spec = pod.setdefault("spec", {})
        if isinstance(spec, dict):
            spec["schedulerName"], spec["nodeName"] = scheduler, node
            spec["schedulingGates"] = []
            if not spec.get("containers"):
                spec["containers"] = [{"name": "c"}]
        return self._finish(pod, "Pod")

    def node(self, name: str) -> bytes:
        """Return the text of a node, perhaps one that cannot be decoded."""
        return self._finish(self._object("Node", Node, name), "Node")

    def _object(self, kind: str, struct: type, name: str, density: float = 0.6) -> dict[str, Any]:
        made: dict[str, Any] = self._of(kind, struct, density * self.random.random())
        metadata = made["metadata"] if isinstance(made.get("metadata"), dict) else {}
        own = {"name": name, "namespace": "default", "uid": f"uid-of-{name}", "resourceVersion": "7"}
        made["metadata"] = {**metadata, **own, "deletionTimestamp": None, "generation": 1}
        del made["metadata"]["deletionTimestamp"]
        return made

    def _finish(self, made: dict[str, Any], kind: str) -> bytes:
        """Put something odd in a place or two, now and then, and write it all down."""
        if self.random.random() < 0.5:
            for _ in range(self.random.choice((1, 1, 2, 4))):
                self._graft(made, kind)
        text = json.dumps(made, ensure_ascii=self.random.random() < 0.5).encode(errors="surrogatepass")
        if b"@@" in text:
            for placeholder, raw in RAW_TEXTS.items():
                text = text.replace(placeholder, raw)
        return text

    def _graft(self, made: dict[str, Any], kind: str) -> None:
        """Give some field, at any depth, a value of its own type that is odd, or of another type."""
        holder, name = made, kind
        for _ in range(self.random.randint(0, 6)):
            fields = SCHEMA[name]
            field = self.random.choice(list(fields))
            inner = fields[field].removeprefix("[]")
            if self.random.random() < 0.2 or inner not in SCHEMA:
                holder[field] = self._odd(fields[field])
                return
            value = holder.get(field)
            child = value[0] if isinstance(value, list) and value else value
            if not isinstance(child, dict):
                child = {}
                holder[field] = [child] if fields[field].startswith("[]") else child
            holder, name = child, inner
        field = self.random.choice(list(SCHEMA[name]))
        holder[field] = self._odd(SCHEMA[name][field])

    def _odd(self, kind: str) -> Any:
        random = self.random
        if random.random() < 0.4:
            return deepcopy(random.choice(WRONG))
        match kind:
            case "int32" | "int64":
                return random.choice((*INTS, *BAD_INTS))
            case "quantity":
                return random.choice((*QUANTITIES, *BAD_QUANTITIES))
            case "string" | "time":
                return random.choice((*WORDS, *ODD_WORDS))
            case "boolean":
                return deepcopy(random.choice(WRONG))
        if kind.startswith("[]"):
            return [self._of(kind[2:], None, 0.1) for _ in range(random.choice(LONG_LENGTHS))]
        if kind.startswith("{}"):
            length = random.choice(LONG_LENGTHS)
            entries = {f"{random.choice(KEYS)}{number}": self._of(kind[2:], None, 0) for number in range(length)}
            return {**entries, random.choice(KEYS): self._odd(kind[2:])}
        return deepcopy(random.choice((*WRONG, "@@deep", "@@deep")))

    def _of(self, kind: str, struct: Any, density: float, field: str = "") -> Any:
        """A value of a type of the schema, of which the scheduler reads the fields of ``struct``."""
        random = self.random
        if kind.startswith("[]"):
            return [self._of(kind[2:], struct, density, field) for _ in range(random.choice(self.lengths))]
        if kind.startswith("{}"):
            count = random.choice(self.lengths)
            return {random.choice(KEYS): self._of(kind[2:], struct, density) for _ in range(count)}
        match kind:
            case "string":
                words = CHOICES[field] if field in CHOICES and random.random() < 0.8 else WORDS
                return random.choice(ODD_WORDS if random.random() < self.odd_words else words)
            case "int32" | "int64":
                return random.choice(INTS)
            case "quantity":
                return random.choice(QUANTITIES)
            case "boolean":
                return random.random() < 0.5
            case "time":
                return "2026-01-01T00:00:00Z"
            case "any":
                return random.choice(({}, {"f:a": {}}, [], "x"))
        if kind not in SCHEMA:
            return {}
        read = fields_read(struct)
        return {
            field: self._of(type_, read.get(field), density * 0.9, field)
            for field, type_ in SCHEMA[kind].items()
            if random.random() < (max(density, 0.12) if field in read else density * 0.05)
        }


@cache
def fields_read(struct: Any) -> dict[str, Any]:
    """The fields that a struct reads, by their names in JSON, each with the struct of its value if there is one."""
    if not isinstance(struct, type) or not issubclass(struct, msgspec.Struct):
        return {}
    hints = get_type_hints(struct)
    return {
        field.encode_name: _struct_in(hints[field.name])
        for field in msgspec.structs.fields(struct)
        if not field.encode_name.startswith(".")
    }


def _struct_in(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return None
    if isinstance(hint, type) and not get_args(hint):
        return hint if issubclass(hint, msgspec.Struct) else None
    if isinstance(hint, UnionType) or get_args(hint):
        return next((inner for arg in get_args(hint) if (inner := _struct_in(arg))), None)
    return None
