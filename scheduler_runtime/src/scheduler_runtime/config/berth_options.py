"""The file of ``--extras``: settings of Berth's scheduler for which upstream's document has no field.

The operator writes it beside the document, with the same lifetime; both together are hashed and take effect together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError
from pydantic.alias_generators import to_camel

from scheduler_runtime.config.problems import Problem, Problems, explain
from scheduler_runtime.config.yaml import read_yaml

EventsMode = Literal["All", "Failures", "None"]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)


class ConfigMapSource(_Section):
    """Code of a plugin in a ConfigMap of the scheduler's namespace, with the hash that it must have."""

    name: str
    key: str
    sha256: str


class DeclaredRule(_Section):
    """One permission, as a rule of a role."""

    api_groups: list[str]
    resources: list[str]
    verbs: list[str]
    resource_names: list[str] = Field(default_factory=list)
    namespace: str = ""


class DeclaredEvent(_Section):
    """A kind of change that may make a pod schedulable which the plugin rejected."""

    resource: str
    actions: list[str]


class Declares(_Section):
    """The declaration of a plugin in the words of a PluginConfig, known without the plugin's code."""

    hooks: list[str]
    args_schema: Mapping[str, Any] | None = None
    rules: list[DeclaredRule] = Field(default_factory=list)
    events: list[DeclaredEvent] = Field(default_factory=list)


class OwnPlugin(_Section):
    """A plugin that does not come with this build."""

    config_map: ConfigMapSource | None = None
    """The place of its code; absent when it is installed beside the scheduler."""
    declares: Declares | None = None
    """The declaration for which the permissions were granted: code that declares something else is not run."""


class BerthOptions(_Section):
    """The fields of the file, each with the default that holds without a file."""

    events: EventsMode = "All"
    """The events about pods that are posted: ``Failures`` leaves out those of pods that were placed."""
    plugins: Mapping[str, OwnPlugin] = Field(default_factory=dict)
    extenders: Mapping[str, list[NonNegativeInt]] | None = None
    """The indices of the extenders that each profile calls, by its name; without it every profile calls all."""


def load(text: str, name: str) -> BerthOptions | Problems:
    """Read the text of the file called ``name``. An empty text is a problem, as with any document."""
    sources = read_yaml(text, name)
    if isinstance(sources, Problems):
        return sources
    if len(sources) > 1:
        return Problems((Problem("", f"holds {len(sources)} documents; one is expected"),))
    try:
        return BerthOptions.model_validate(sources[0].value if sources else {})
    except ValidationError as error:
        return Problems(tuple(explain(error, BerthOptions)))
