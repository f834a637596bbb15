"""``--extras FILE``: what the scheduler is told beside the document, because upstream's has no field for it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from scheduler_runtime import config
from scheduler_runtime.config import Problem, Problems

EventsMode = Literal["All", "Failures", "None"]


class Extras(BaseModel):
    """The fields of the file, each with the default that holds without a file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    events: EventsMode = "All"
    """Which events about pods are posted: ``Failures`` leaves out those of pods that were placed."""


def load(text: str, name: str) -> Extras | Problems:
    """Read the text of the file called ``name``."""
    sources = config.read(text, name)
    if isinstance(sources, Problems):
        return sources
    if len(sources) > 1:
        return Problems((Problem("", f"holds {len(sources)} documents; one is expected"),))
    try:
        return Extras.model_validate(sources[0].value if sources else {})
    except ValidationError as error:
        return Problems(tuple(config.explain(error, Extras)))
