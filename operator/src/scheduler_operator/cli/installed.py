"""Plugins that a plain document names and that are installed beside berth, as berth-scheduler would find them."""

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Declaration
from scheduler_runtime.config import Problem, Problems


def installed(document: Any, known: Container[str]) -> Mapping[str, Declaration] | Problems:
    """What those plugins declare that nobody else knows, or why they cannot be used.

    ``document`` is not read yet, and may have any shape.
    """
    names = frozenset(name for name in _named(document) if name not in known and not _is_of_kubernetes(name))
    return _declared(names) if names else {}


def _named(document: Any) -> Iterator[str]:
    for profile in _listed(document, "profiles"):
        sets = profile.get("plugins") if isinstance(profile, dict) else None
        enabled = (_listed(each, "enabled") for each in sets.values()) if isinstance(sets, dict) else ()
        for entries in (_listed(profile, "pluginConfig"), *enabled):
            yield from (
                each["name"] for each in entries if isinstance(each, dict) and isinstance(each.get("name"), str)
            )


def _listed(value: Any, field: str) -> Iterable[Any]:
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, list) else ()


def _is_of_kubernetes(name: str) -> bool:
    return bool(catalog.find(name)) or catalog.is_upstreams(name)


def _declared(names: Iterable[str]) -> Mapping[str, Declaration] | Problems:
    from scheduler_runtime.api import declaration_of  # with numpy, which documents of Kubernetes' plugins do not need
    from scheduler_runtime.api.offers import chosen, offers

    offered = offers()
    found = {name: chosen(name, offered[name]) for name in sorted(names) if name in offered}
    problems = tuple(Problem("", f"plugin {name}: {why}") for name, why in found.items() if isinstance(why, str))
    if problems:
        return Problems(problems)
    return {name: declaration_of(kind) for name, kind in found.items() if not isinstance(kind, str)}
