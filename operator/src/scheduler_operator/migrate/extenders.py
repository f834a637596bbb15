"""Extenders of every age as upstream writes them today."""

from __future__ import annotations

from typing import Any

from scheduler_operator.migrate.parts import Part

_FIELDS = (
    "urlPrefix",
    "filterVerb",
    "preemptVerb",
    "prioritizeVerb",
    "weight",
    "bindVerb",
    "enableHTTPS",
    "tlsConfig",
    "httpTimeout",
    "nodeCacheCapable",
    "managedResources",
    "ignorable",
)
_TLS_FIELDS = ("insecure", "serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData")
_DEFAULTS = {"httpTimeout": ("5s", "0s", "0")}
_UNITS = ((3_600_000_000_000, "h"), (60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))


def read_extender(source: Part) -> dict[str, Any]:
    """One extender of ``source``, without what says nothing.

    Policies were read without regard to case, and counted their time-outs in nanoseconds.
    """
    found: dict[str, Any] = {}
    for field, key in _spelled(source, _FIELDS):
        match field:
            case "tlsConfig":
                found[field] = _tls(source.mapping(key))
            case "httpTimeout":
                found[field] = _duration(source, key)
            case "managedResources":
                found[field] = [_managed(entry) for entry in source.entries(key)]
            case _:
                found[field] = source.take(key)
    said = {key: value for key, value in found.items() if value not in _DEFAULTS.get(key, ())}
    return {key: value for key, value in said.items() if value or key == "urlPrefix"}


def _spelled(source: Part, fields: tuple[str, ...]) -> list[tuple[str, str]]:
    """Each field that is there, with the key it is written under."""
    keys = {key.lower(): key for key in source.value}
    return [(field, keys[field.lower()]) for field in fields if field in source or field.lower() in keys]


def _tls(source: Part) -> dict[str, Any]:
    found = {field: source.take(key) for field, key in _spelled(source, _TLS_FIELDS)}
    return {field: value for field, value in found.items() if value}


def _managed(source: Part) -> dict[str, Any]:
    found = {field: source.take(key) for field, key in _spelled(source, ("name", "ignoredByScheduler"))}
    return {field: value for field, value in found.items() if value}


def _duration(source: Part, key: str) -> Any:
    """Nanoseconds in the largest unit that divides them; anything else as it stands."""
    value = source.take(key)
    if not isinstance(value, int) or isinstance(value, bool) or value == 0:
        return value
    written = next((f"{value // size}{unit}" for size, unit in _UNITS if value % size == 0), f"{value}ns")
    became = "the default, and left out" if written in _DEFAULTS["httpTimeout"] else f"written as {written}"
    source.remark(key, f"{value} nanoseconds are {became}")
    return written
