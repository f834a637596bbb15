"""``--extras FILE``: what the scheduler is told beside the document, because upstream's has no field for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError
from pydantic.alias_generators import to_camel

from scheduler_runtime import config
from scheduler_runtime.config import Problem, Problems

EventsMode = Literal["All", "Failures", "None"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)


class ConfigMapSource(_Part):
    """Code in a ConfigMap of the scheduler's namespace."""

    name: str
    key: str
    sha256: str


class DeclaredRule(_Part):
    """One permission, as a rule of a role."""

    api_groups: list[str]
    resources: list[str]
    verbs: list[str]
    resource_names: list[str] = Field(default_factory=list)
    namespace: str = ""


class DeclaredEvent(_Part):
    """A change that may help a pod that the plugin rejected."""

    resource: str
    actions: list[str]


class Declares(_Part):
    """What is said about a plugin without its code, in the words of a PluginConfig."""

    hooks: list[str]
    args_schema: Mapping[str, Any] | None = None
    rules: list[DeclaredRule] = Field(default_factory=list)
    events: list[DeclaredEvent] = Field(default_factory=list)


class OwnPlugin(_Part):
    """A plugin that does not come with this build."""

    config_map: ConfigMapSource | None = None
    """Where its code is; absent when it is installed beside the scheduler."""
    declares: Declares | None = None
    """What it was granted its permissions for: code that is something else is not run."""


class BerthOptions(_Part):
    """The fields of the file, each with the default that holds without a file."""

    events: EventsMode = "All"
    """Which events about pods are posted: ``Failures`` leaves out those of pods that were placed."""
    plugins: Mapping[str, OwnPlugin] = Field(default_factory=dict)
    extenders: Mapping[str, list[NonNegativeInt]] | None = None
    """Which of the document's extenders each profile asks, by their places; without it every profile asks all."""


def load(text: str, name: str) -> BerthOptions | Problems:
    """Read the text of the file called ``name``."""
    sources = config.read_yaml(text, name)
    if isinstance(sources, Problems):
        return sources
    if len(sources) > 1:
        return Problems((Problem("", f"holds {len(sources)} documents; one is expected"),))
    try:
        return BerthOptions.model_validate(sources[0].value if sources else {})
    except ValidationError as error:
        return Problems(tuple(config.explain(error, BerthOptions)))
