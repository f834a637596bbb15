"""From a document as it is written to what a process is to do by it, or to everything that is wrong with it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scheduler_runtime import config
from scheduler_runtime.api import Plugin, PluginArgs, Watch, declaration_of
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config import Document, EffectiveProfile, Extender, Problem, Problems
from scheduler_runtime.config import berth_options as extras
from scheduler_runtime.config.berth_options import Extras
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.reload import installed_plugins as discovery
from scheduler_runtime.reload.document_sources import EXTRAS_KEY, DocumentText
from scheduler_runtime.reload.plugin_sources import PluginSources, PluginSourceUnavailableError, undeclared
from scheduler_runtime.scheduling.watched_objects import declared_watches

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A document that can be followed."""

    found: DocumentText
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
        return [f"{name}: {self._origin(name, plugin)}" for name, plugin in sorted(self.plugins.items())]

    @property
    def for_the_log(self) -> dict[str, list[str]]:
        """Which profiles it has, and which plugins of one's own, if there are any."""
        profiles = [profile.scheduler_name for profile in self.profiles]
        return {"profiles": profiles, **({"plugins": self.origins} if self.plugins else {})}

    def _origin(self, name: str, plugin: type[Plugin]) -> str:
        own = self.extras.plugins.get(name)
        if own is None or own.config_map is None:
            return discovery.origin_of(plugin)
        return f"{own.config_map.key} of ConfigMap {own.config_map.name}, SHA-256 {own.config_map.sha256}"

    @property
    def watches(self) -> tuple[Watch, ...]:
        """What the plugins of the profiles read."""
        return tuple(dict.fromkeys(declared_watches(self.profiles, self.classes)))

    def extenders_of(self, profile: EffectiveProfile) -> tuple[Extender, ...]:
        """Whom a profile asks."""
        return extenders_for(profile.scheduler_name, self.document, self.extras)

    def classes_of(self, profile: EffectiveProfile) -> Mapping[str, type[Plugin] | None]:
        """What a profile is made of, as far as it is there."""
        return {name: self.classes.get(name) for name in profile.names}


@dataclass(frozen=True, slots=True)
class Planner:
    """Understands documents as the kube-scheduler that is the ``target`` would, with plugins of one's own."""

    target: Target
    sources: PluginSources
    read: Callable[[str], Document | Problems] = config.load
    """How the text of a document is read."""

    async def plan(self, found: DocumentText) -> Plan | Problems:
        """Understand what was ``found``. What may take long is done in a thread: scheduling goes on meanwhile.

        Raises PluginSourceUnavailableError when the code of a plugin cannot be read for the time being. Whatever else
        that code, or what it declares, raises is said of the document: one that cannot be understood ends nothing.
        """
        try:
            return await self._plan(found)
        except PluginSourceUnavailableError:
            raise
        except (Exception, SystemExit) as error:
            logger.exception("the document cannot be understood")
            return Problems((Problem("", f"cannot be understood: {type(error).__name__}: {error}"),))

    async def _plan(self, found: DocumentText) -> Plan | Problems:
        document, told = await asyncio.to_thread(self.read, found.text), _extras(found.extras)
        if isinstance(document, Problems) or isinstance(told, Problems):
            return Problems(_all(document, told))
        installed, loaded = await asyncio.to_thread(discovery.installed, document), await self.sources.load(told)
        if isinstance(installed, Problems) or isinstance(loaded, Problems):
            return Problems(_all(installed, loaded))
        plugins = {**installed, **loaded}
        absent = await asyncio.to_thread(discovery.missing, document, plugins)
        profiles = await asyncio.to_thread(self._profiles, document, plugins, told, absent)
        unwatched = None if isinstance(profiles, Problems) else _unwatched(profiles, plugins)
        wrong = _all(undeclared(plugins, told), _misplaced(document, told), profiles, unwatched)
        if wrong or isinstance(profiles, Problems):
            return Problems(wrong)
        in_full = config.defaulted(document, self.target, _declared(plugins))
        return Plan(found=found, document=document, extras=told, profiles=profiles, plugins=plugins, in_full=in_full)

    def _profiles(
        self, document: Document, plugins: Mapping[str, type[Plugin]], told: Extras, absent: Mapping[str, str]
    ) -> tuple[EffectiveProfile, ...] | Problems:
        """What the profiles come to, or what is wrong with them; of plugins that are ``absent`` what is said there."""
        declared = _declared(plugins)
        extenders = {
            each.scheduler_name: extenders_for(each.scheduler_name, document, told) for each in document.profiles
        }
        profiles = config.effective_profiles(document, self.target, declared, extenders)
        if isinstance(profiles, Problems):
            sentences = {config.unknown(name, self.target): sentence for name, sentence in absent.items()}
            return Problems(tuple(_for_a_process(each, sentences) for each in profiles))
        return tuple(_sampled(each, document) for each in profiles)


def _declared(plugins: Mapping[str, type[Plugin]]) -> dict[str, Declaration]:
    return {name: declaration_of(plugin) for name, plugin in plugins.items()}


def extenders_for(profile: str, document: Document, told: Extras) -> tuple[Extender, ...]:
    """The extenders that the profile called ``profile`` asks: all of the document, where nothing else is told."""
    if told.extenders is None:
        return document.extenders
    places = told.extenders.get(profile, ())
    return tuple(document.extenders[place] for place in places if place < len(document.extenders))


def _unwatched(profiles: Iterable[EffectiveProfile], plugins: Mapping[str, type[Plugin]]) -> Problems | None:
    """What goes wrong where plugins of one's own say what they watch, as that may depend on their arguments."""
    own = [(name, profile.args.get(name)) for profile in profiles for name in profile.names if name in plugins]
    found = [Problem(f"plugin {name}", why) for name, args in own if (why := _said_of_watches(plugins[name], args))]
    return Problems(tuple(dict.fromkeys(found))) if found else None


def _said_of_watches(plugin: type[Plugin], args: PluginArgs | None) -> str:
    try:
        watches: Iterable[object] = declaration_of(plugin).watches_for(args)
        odd = next((each for each in watches if not isinstance(each, Watch)), None)
        hash(tuple(watches))
    except (Exception, SystemExit) as error:  # noqa: BLE001  it is code of theirs
        return f"watches: {type(error).__name__}: {error}"
    return f"watches: {odd!r} is not a Watch" if odd is not None else ""


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


def _for_a_process(problem: Problem, sentences: Mapping[str, str]) -> Problem:
    """A process has no PluginConfigs: what is one's own is installed beside it."""
    message = problem.message.replace(config.OF_ONES_OWN, "it is your own, install its package")
    return Problem(problem.path, sentences.get(problem.message, message))


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


def _all(*outcomes: object) -> tuple[Problem, ...]:
    """What is wrong with any of these."""
    return tuple(each for outcome in outcomes if isinstance(outcome, Problems) for each in outcome)
