"""A valid configuration document with the plugin classes that it names, and a prepared change from one to another.

A part of the scheduler that depends on the document has a method ``prepare``, which takes a ``Plan`` and returns a
``PreparedChange``; ``reload.reloader`` calls both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scheduler_runtime import config
from scheduler_runtime.api import Plugin, Watch
from scheduler_runtime.config import Document, EffectiveProfile, Extender
from scheduler_runtime.config.berth_options import BerthOptions
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.scheduling.watched_objects import declared_watches


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a KubeSchedulerConfiguration, and that of the options for which it has no field."""

    text: str
    extras: str = ""

    @property
    def hash(self) -> str:
        """SHA-256 of both texts."""
        return config.document_hash(self.text, self.extras)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A valid document and the plugins that it names: everything that decides how this process schedules."""

    text: DocumentText
    document: Document
    extras: BerthOptions
    profiles: tuple[EffectiveProfile, ...]
    plugins: Mapping[str, type[Plugin]]
    """The plugins that do not come with this build, by the names that profiles use."""
    full_document: Mapping[str, Any]
    """The document with the defaults of all fields that it leaves out."""

    @property
    def classes(self) -> Mapping[str, type[Plugin]]:
        """Every plugin class, of this build and of others, by its name."""
        return {**IN_TREE, **self.plugins}

    @property
    def watches(self) -> tuple[Watch, ...]:
        """The watches that the plugins of all profiles declare, each once."""
        return tuple(dict.fromkeys(declared_watches(self.profiles, self.classes)))

    @property
    def watches_pods(self) -> bool:
        """Whether a plugin declares a watch for pods."""
        return any((watch.api_version, watch.kind) == ("v1", "Pod") for watch in self.watches)

    def extenders_of(self, profile: EffectiveProfile) -> tuple[Extender, ...]:
        """Return the extenders that this profile asks."""
        return extenders_for(profile.scheduler_name, self.document, self.extras)

    def classes_of(self, profile: EffectiveProfile) -> Mapping[str, type[Plugin] | None]:
        """Return the plugin classes of a profile by their names, None where there is none."""
        return {name: self.classes.get(name) for name in profile.names}


def extenders_for(profile: str, document: Document, options: BerthOptions) -> tuple[Extender, ...]:
    """Return the extenders that the profile called ``profile`` asks: all, unless ``options`` name the profile's own."""
    if options.extenders is None:
        return document.extenders
    indexes = options.extenders.get(profile, ())
    return tuple(document.extenders[index] for index in indexes if index < len(document.extenders))


@dataclass(frozen=True, slots=True)
class PreparedChange:
    """A change to another plan that is ready, and has had no effect on decisions so far."""

    commit: Callable[[], None]
    """Makes the change take effect. Called between two decisions; must neither wait nor raise."""
    discard: Callable[[], None] = lambda: None
    """Undoes the preparation. Called instead of ``commit``; must not raise either."""
