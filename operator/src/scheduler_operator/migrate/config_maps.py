"""ConfigMaps that hold a configuration under whichever key."""

from __future__ import annotations

from scheduler_operator.migrate.parts import Part
from scheduler_operator.migrate.texts import holds_a_document, read_text


def configuration(source: Part, key: str | None = None) -> Part | None:
    """The configuration under ``key``, or under the only key that holds one."""
    source.take("apiVersion")
    source.take("kind")
    data = source.mapping("data")
    texts = {name: value for name, value in data.value.items() if isinstance(value, str)}
    if key is None:
        keys = [name for name, value in texts.items() if holds_a_document(value)]
        if len(keys) != 1:
            data.notes.refuse(data.path, _choice(keys, list(texts)))
            return None
        key = keys[0]
    if key not in texts:
        data.notes.refuse(data.path, f"has no key {key!r}; it has {', '.join(texts) or 'none'}")
        return None
    found = read_text(data.text(key) or "", data.at(key), data.notes, source.allowed)
    source.report_unread(lambda _path, name: f"left out: {name} is not part of a scheduler's configuration")
    return found


def _choice(found: list[str], keys: list[str]) -> str:
    if found:
        return f"holds several configurations, {', '.join(found)}: import each as a file of its own"
    return f"holds no configuration of a scheduler; its keys are {', '.join(keys) or 'none'}"
