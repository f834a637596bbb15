"""Arguments that no plugin reads."""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import Severity
from .code import Code, Told, check
from .subjects import Meaning


@check(
    Code(
        "DisabledButConfigured",
        Severity.WARNING,
        "A plugin has arguments but is enabled nowhere, so nothing ever reads them.",
        "Enable the plugin, or remove its entry from pluginConfig.",
    )
)
def disabled_but_configured(meaning: Meaning) -> Iterator[Told]:
    for index, entry in enumerate(meaning.written.profile.plugin_config):
        points = meaning.written.points(entry.name)
        if points and entry.name not in meaning.effective.names:
            yield Told(
                f"pluginConfig[{index}]",
                f"{entry.name} is enabled at no extension point, so these arguments are never read",
                f"plugins: {{multiPoint: {{enabled: [{{name: {entry.name}}}]}}}}, or remove this entry",
            )
