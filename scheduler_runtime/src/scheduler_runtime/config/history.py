"""When the fields of a document appeared: what a message about an older version says."""

from __future__ import annotations

import re

from .. import catalog

_FIELDS = {
    "delayCacheUntilActive": "1.28",
    "profiles.percentageOfNodesToScore": "1.26",
    "profiles.plugins.preEnqueue": "1.26",
    "DynamicResourcesArgs.filterTimeout": "1.34",
    "DynamicResourcesArgs.bindingTimeout": "1.35",
}
"""Fields that are younger than the API version. Plugins and extension points are in the catalog."""


def since(name: str) -> str | None:
    """The version in which a plugin, an extension point or a field, named by its path, appeared.

    None when it was there before the oldest version that is known, or never.
    """
    path = re.sub(r"\[\d+\]", "", name)
    if path in _FIELDS:
        return _FIELDS[path]
    found = catalog.since(path.rpartition(".")[2])
    return None if found == catalog.OLDEST else found
