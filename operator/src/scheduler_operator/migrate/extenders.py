"""Read extenders of every age into the fields that they have in v1."""

from __future__ import annotations

from typing import Any

from scheduler_operator.migrate.input_part import InputPart

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
_RESOURCE_FIELDS = ("name", "ignoredByScheduler")
_DEFAULT_TIMEOUTS = ("5s", "0s", "0")
_UNITS = ((3_600_000_000_000, "h"), (60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))


def read_extender(source: InputPart) -> dict[str, Any]:
    """Return the extender at ``source``, without fields that are empty or have their default.

    Policies were read without regard to case, and had their time-outs in nanoseconds.
    """
    extender: dict[str, Any] = {}
    for field, key in _fields_with_keys(source, _FIELDS):
        match field:
            case "tlsConfig":
                extender[field] = _read_non_empty(source.mapping(key), _TLS_FIELDS)
            case "httpTimeout":
                value = source.take(key)
                if isinstance(value, int) and not isinstance(value, bool) and value != 0:
                    # A Go time.Duration in JSON: nanoseconds, written here in the largest unit that divides them.
                    text = next((f"{value // size}{unit}" for size, unit in _UNITS if value % size == 0), f"{value}ns")
                    became = "the default, and left out" if text in _DEFAULT_TIMEOUTS else f"written as {text}"
                    source.remark(key, f"{value} nanoseconds are {became}")
                    value = text
                if value not in _DEFAULT_TIMEOUTS:
                    extender[field] = value
            case "managedResources":
                extender[field] = [_read_non_empty(entry, _RESOURCE_FIELDS) for entry in source.entries(key)]
            case _:
                extender[field] = source.take(key)
    # urlPrefix is required: without it the check of the objects has to find it empty.
    return {field: value for field, value in extender.items() if value or field == "urlPrefix"}


def _read_non_empty(source: InputPart, fields: tuple[str, ...]) -> dict[str, Any]:
    values = {field: source.take(key) for field, key in _fields_with_keys(source, fields)}
    return {field: value for field, value in values.items() if value}


def _fields_with_keys(source: InputPart, fields: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return each field that is there, with the key under which the input has it, in whatever case."""
    keys = {key.lower(): key for key in source.value}
    return [(field, keys[field.lower()]) for field in fields if field in source or field.lower() in keys]
