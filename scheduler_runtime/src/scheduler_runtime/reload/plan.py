"""From the text of a document to a ``Plan``, or to everything that is wrong with the document."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scheduler_runtime import config
from scheduler_runtime.api import Plugin, Watch, declaration_of
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config import Document, EffectiveProfile, ExtenderConfig, Problem, Problems, berth_options
from scheduler_runtime.config.berth_options import BerthOptions
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.reload.installed_plugins import explain_missing, load_installed, origin_of
from scheduler_runtime.reload.plugin_sources import PluginSources, PluginSourceUnavailableError, check_declarations

logger = logging.getLogger(__name__)

DOCUMENT_KEY = "config.yaml"
EXTRAS_KEY = "berth.yaml"
"""The keys of a ConfigMap with a document. The second also stands for the file of ``--extras`` in problems."""


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
    watches: tuple[Watch, ...]
    """The watches that the plugins of all profiles declare, each once."""
    full_document: Mapping[str, Any]
    """The document with the defaults of all fields that it leaves out."""

    @property
    def classes(self) -> Mapping[str, type[Plugin]]:
        """Every plugin class, of this build and of others, by its name."""
        return {**IN_TREE, **self.plugins}

    def extenders_of(self, profile: EffectiveProfile) -> tuple[ExtenderConfig, ...]:
        """Return the extenders that this profile asks."""
        return extenders_for(profile.scheduler_name, self.document, self.extras)

    def classes_of(self, profile: EffectiveProfile) -> Mapping[str, type[Plugin] | None]:
        """Return the plugin classes of a profile by their names, None where there is none."""
        return {name: self.classes.get(name) for name in profile.names}


@dataclass(frozen=True, slots=True)
class Planner:
    """Reads documents like the kube-scheduler that is the ``target``, and loads the plugins that they name."""

    target: Target
    sources: PluginSources
    load: Callable[[str], Document | Problems] = config.load
    """Parses the text of a document."""

    async def plan(self, text: DocumentText) -> Plan | Problems:
        """Return the plan for a document, or all of its problems. What may take long runs in threads.

        Whatever the code of a plugin raises, SystemExit too, is a problem of the document and ends nothing.
        Raises PluginSourceUnavailableError when the code of a plugin cannot be read at present.
        """
        try:
            document = await asyncio.to_thread(self.load, text.text)
            extras = berth_options.load(text.extras, EXTRAS_KEY) if text.extras else BerthOptions()
            if isinstance(extras, Problems):
                # They are shown as those of the file or key that the options come from.
                extras = Problems(tuple(replace(problem, path=f"{EXTRAS_KEY}: {problem.path}") for problem in extras))
            if isinstance(document, Problems) or isinstance(extras, Problems):
                return Problems(_collect(document, extras))
            # Importing a package may take seconds, in which pods are scheduled.
            installed = await asyncio.to_thread(load_installed, document)
            sourced = await self.sources.load(extras)
            if isinstance(installed, Problems) or isinstance(sourced, Problems):
                return Problems(_collect(installed, sourced))
            plugins = {**installed, **sourced}  # code in a ConfigMap counts before a package of the same name
            return await asyncio.to_thread(self._judge, text, document, extras, plugins)
        except PluginSourceUnavailableError:
            raise
        except (Exception, SystemExit) as error:
            logger.exception("the document cannot be understood")
            return Problems((Problem("", f"cannot be understood: {type(error).__name__}: {error}"),))

    def _judge(
        self, text: DocumentText, document: Document, extras: BerthOptions, plugins: Mapping[str, type[Plugin]]
    ) -> Plan | Problems:
        """Compare the document with the plugins that are there; return the plan, or all problems."""
        declarations = {name: declaration_of(plugin) for name, plugin in plugins.items()}
        profiles = self._expand_profiles(document, declarations, extras)
        watches = None if isinstance(profiles, Problems) else _collect_watches(profiles, {**IN_TREE, **plugins})
        extenders = _check_extender_indexes(document, extras)
        problems = _collect(check_declarations(plugins, extras), extenders, profiles, watches)
        if problems or isinstance(profiles, Problems) or watches is None or isinstance(watches, Problems):
            return Problems(problems)
        return Plan(
            text=text,
            document=document,
            extras=extras,
            profiles=profiles,
            plugins=plugins,
            watches=watches,
            full_document=config.with_defaults(document, self.target, declarations),
        )

    def _expand_profiles(
        self, document: Document, plugins: Mapping[str, Declaration], extras: BerthOptions
    ) -> tuple[EffectiveProfile, ...] | Problems:
        extenders = {
            profile.scheduler_name: extenders_for(profile.scheduler_name, document, extras)
            for profile in document.profiles
        }
        profiles = config.expand_profiles(document, self.target, plugins, extenders)
        if isinstance(profiles, Problems):
            missing = explain_missing(document, plugins)
            sentences = {
                config.unknown_plugin_message(name, self.target): sentence for name, sentence in missing.items()
            }
            # A process has no PluginConfigs, so advice to declare a plugin there becomes advice to install it.
            advice = "it is your own, install its package"
            return Problems(
                tuple(
                    Problem(
                        problem.path,
                        sentences.get(problem.message, problem.message.replace(config.DECLARE_IT, advice)),
                    )
                    for problem in profiles
                )
            )
        # The document's percentage of nodes to score holds for profiles that have none of their own.
        general = document.percentage_of_nodes_to_score
        return tuple(
            replace(profile, percentage_of_nodes_to_score=general)
            if profile.percentage_of_nodes_to_score is None
            else profile
            for profile in profiles
        )


def extenders_for(profile: str, document: Document, options: BerthOptions) -> tuple[ExtenderConfig, ...]:
    """Return the extenders that the profile called ``profile`` asks: all, unless ``options`` name the profile's own."""
    if options.extenders is None:
        return document.extenders
    indexes = options.extenders.get(profile, ())
    return tuple(document.extenders[index] for index in indexes if index < len(document.extenders))


def _collect(*outcomes: object) -> tuple[Problem, ...]:
    """Return the problems among the outcomes: a document's author wants to see all of them at once."""
    return tuple(problem for outcome in outcomes if isinstance(outcome, Problems) for problem in outcome)


def _collect_watches(
    profiles: Iterable[EffectiveProfile], classes: Mapping[str, type[Plugin]]
) -> tuple[Watch, ...] | Problems:
    """Return what the plugins watch with their arguments in each profile, each once, or the errors in that."""
    collected: dict[Watch, None] = {}
    problems: dict[Problem, None] = {}
    for profile in profiles:
        for name in profile.names:
            if name not in classes:
                continue
            try:
                watches: Iterable[object] = declaration_of(classes[name]).watches_for(profile.args.get(name))
                for watch in watches:
                    if isinstance(watch, Watch):
                        collected[watch] = None
                    else:
                        problems[Problem(f"plugin {name}", f"watches: {watch!r} is not a Watch")] = None
                        break
            except (Exception, SystemExit) as error:  # noqa: BLE001  it is code of theirs
                problems[Problem(f"plugin {name}", f"watches: {type(error).__name__}: {error}")] = None
    return Problems(tuple(problems)) if problems else tuple(collected)


def _check_extender_indexes(document: Document, extras: BerthOptions) -> Problems | None:
    count = len(document.extenders)
    problems = tuple(
        Problem(
            f"{EXTRAS_KEY}: extenders.{profile}[{place}]", f"the document has {count} extenders, and none at {index}"
        )
        for profile, indexes in (extras.extenders or {}).items()
        for place, index in enumerate(indexes)
        if index >= count
    )
    return Problems(problems) if problems else None


def log_values(plan: Plan) -> dict[str, list[str]]:
    """Return the names of the profiles, and the plugins that do not come with this build, for the log."""
    profiles = [profile.scheduler_name for profile in plan.profiles]
    return {"profiles": profiles, **({"plugins": plugin_origins(plan)} if plan.plugins else {})}


def plugin_origins(plan: Plan) -> list[str]:
    """Return where each plugin that does not come with this build is from, for people."""
    lines: list[str] = []
    for name, plugin in sorted(plan.plugins.items()):
        own = plan.extras.plugins.get(name)
        source = own.config_map if own else None
        origin = f"{source.key} of ConfigMap {source.name}, SHA-256 {source.sha256}" if source else origin_of(plugin)
        lines.append(f"{name}: {origin}")
    return lines
