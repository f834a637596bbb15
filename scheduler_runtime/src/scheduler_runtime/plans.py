"""From a document as it is written to what a process is to do by it, or to everything that is wrong with it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scheduler_runtime import config, discovery, extras
from scheduler_runtime.api import Plugin, Watch, declaration_of
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config import Document, EffectiveProfile, Extender, Problem, Problems
from scheduler_runtime.extras import Extras
from scheduler_runtime.following import EXTRAS_KEY, Found
from scheduler_runtime.objects import declared_watches
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.sources import Sources, undeclared


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A document that can be followed."""

    found: Found
    document: Document
    extras: Extras
    profiles: tuple[EffectiveProfile, ...]
    plugins: Mapping[str, type[Plugin]]
    """The plugins that do not come with this build, by the names that profiles use."""
    in_full: Mapping[str, Any]
    """The document with all that it leaves out."""

    @property
    def classes(self) -> Mapping[str, type[Plugin]]:
        """Every plugin that there is."""
        return {**IN_TREE, **self.plugins}

    @property
    def origins(self) -> list[str]:
        """Where each plugin that does not come with this build is from, for people."""
        sources = {name: own.config_map for name, own in self.extras.plugins.items() if own.config_map}
        read = {name: f"{at.key} of ConfigMap {at.name}, SHA-256 {at.sha256}" for name, at in sources.items()}
        found = {**discovery.origins(self.plugins), **read}
        return [f"{name}: {found.get(name, 'given')}" for name in sorted(self.plugins)]

    @property
    def watches(self) -> tuple[Watch, ...]:
        """What the plugins of the profiles read."""
        return tuple(dict.fromkeys(declared_watches(self.profiles, self.classes)))

    def extenders_of(self, profile: EffectiveProfile) -> tuple[Extender, ...]:
        """Whom a profile asks."""
        return asked_by(profile.scheduler_name, self.document, self.extras)

    def classes_of(self, profile: EffectiveProfile) -> Mapping[str, type[Plugin] | None]:
        """What a profile is made of, as far as it is there."""
        return {name: self.classes.get(name) for name in profile.names}


@dataclass(frozen=True, slots=True)
class Planner:
    """Understands documents as the kube-scheduler that is the ``target`` would, with plugins of one's own."""

    target: Target
    sources: Sources
    read: Callable[[str], Document | Problems] = config.load
    """How the text of a document is read."""

    async def plan(self, found: Found) -> Plan | Problems:
        """Understand what was ``found``. What may take long is done in a thread: scheduling goes on meanwhile.

        Raises NotNowError when the code of a plugin cannot be read for the time being.
        """
        document, told = await asyncio.to_thread(self.read, found.text), _extras(found.extras)
        if isinstance(document, Problems) or isinstance(told, Problems):
            return _all(document, told)
        installed, loaded = await asyncio.to_thread(discovery.installed, document), await self.sources.load(told)
        if isinstance(installed, Problems) or isinstance(loaded, Problems):
            return _all(installed, loaded)
        plugins = {**installed, **loaded}
        if problems := undeclared(plugins, told) or await asyncio.to_thread(discovery.missing, document, plugins):
            return problems
        if problems := _misplaced(document, told):
            return problems
        profiles = await asyncio.to_thread(self._profiles, document, plugins, told)
        if isinstance(profiles, Problems):
            return profiles
        in_full = config.defaulted(document, self.target, _declared(plugins))
        return Plan(found=found, document=document, extras=told, profiles=profiles, plugins=plugins, in_full=in_full)

    def _profiles(
        self, document: Document, plugins: Mapping[str, type[Plugin]], told: Extras
    ) -> tuple[EffectiveProfile, ...] | Problems:
        declared = _declared(plugins)
        extenders = {each.scheduler_name: asked_by(each.scheduler_name, document, told) for each in document.profiles}
        profiles = config.effective_profiles(document, self.target, declared, extenders)
        if isinstance(profiles, Problems):
            return Problems(tuple(_for_a_process(each) for each in profiles))
        return tuple(_sampled(each, document) for each in profiles)


def _declared(plugins: Mapping[str, type[Plugin]]) -> dict[str, Declaration]:
    return {name: declaration_of(plugin) for name, plugin in plugins.items()}


def asked_by(profile: str, document: Document, told: Extras) -> tuple[Extender, ...]:
    """The extenders that the profile called ``profile`` asks: all of the document, where nothing else is told."""
    if told.extenders is None:
        return document.extenders
    return tuple(document.extenders[place] for place in told.extenders.get(profile, ()))


def _misplaced(document: Document, told: Extras) -> Problems | None:
    """That something is told of extenders which are not there."""
    count = len(document.extenders)
    found = [
        Problem(
            f"{EXTRAS_KEY}: extenders.{profile}[{index}]", f"the document has {count} extenders, and none at {place}"
        )
        for profile, places in (told.extenders or {}).items()
        for index, place in enumerate(places)
        if place >= count
    ]
    return Problems(tuple(found)) if found else None


def _for_a_process(problem: Problem) -> Problem:
    """A process has no PluginConfigs: what is one's own is installed beside it."""
    return Problem(problem.path, problem.message.replace(config.OF_ONES_OWN, "it is your own, install its package"))


def _sampled(profile: EffectiveProfile, document: Document) -> EffectiveProfile:
    """``profile``, with the document's percentage of nodes to score if it has none of its own."""
    own, general = profile.percentage_of_nodes_to_score, document.percentage_of_nodes_to_score
    return replace(profile, percentage_of_nodes_to_score=general if own is None else own)


def _extras(text: str) -> Extras | Problems:
    if not text:
        return Extras()
    told = extras.load(text, EXTRAS_KEY)
    if isinstance(told, Problems):
        return Problems(tuple(Problem(f"{EXTRAS_KEY}: {each.path}", each.message) for each in told))
    return told


def _all(*outcomes: object) -> Problems:
    found: Iterable[Problem] = (each for outcome in outcomes if isinstance(outcome, Problems) for each in outcome)
    return Problems(tuple(found))
