"""From a profile to its plugins and their hooks: plugin objects are made, and their hooks ordered by point."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from traceback import walk_tb
from typing import NamedTuple
from weakref import WeakKeyDictionary

from scheduler_runtime.api import Declaration, Plugin, Watch, declaration_of, flaws_of, hooks_of
from scheduler_runtime.catalog import PluginArgs, Version, find
from scheduler_runtime.config import EffectiveProfile
from scheduler_runtime.framework.answer_cache import CacheablePlugin
from scheduler_runtime.framework.context import FrameworkContext
from scheduler_runtime.framework.decision_hooks import DecisionHooks, Scorer
from scheduler_runtime.framework.hook import UNTIMED, CallCount, Hook, HookTimer, format_exception
from scheduler_runtime.framework.outcomes import RegistrationError, plugin_exceptions
from scheduler_runtime.framework.plugin_handle import PluginHandle
from scheduler_runtime.framework.plugin_times import POINTS, Measures, SlowPluginWatch
from scheduler_runtime.framework.unsupported import reasons_after_filters
from scheduler_runtime.framework.what_if import RowFilter, row_filter

_COUNTED = ("pre_filter", "filter", "filter_row", "pre_score", "score")
"""The hooks of which upstream counts the calls (plugin_evaluation_total)."""


class PluginClass(NamedTuple):
    """A plugin class with what it declares and which hooks it implements."""

    declaration: Declaration
    hooks: frozenset[str]
    is_in_tree: bool
    """Whether it comes with this build. A class that somebody derived from one of these inherits its declaration."""


_CHECKED: WeakKeyDictionary[type[Plugin], PluginClass] = WeakKeyDictionary()
"""The classes without a flaw: a class does not change, and each reload registers the same ones again."""


@dataclass(frozen=True, slots=True)
class RegisteredPlugin:
    """A plugin object of this profile, and what its class declares."""

    name: str
    plugin: Plugin
    declaration: Declaration
    hooks: frozenset[str]
    is_in_tree: bool
    watches: tuple[Watch, ...]
    """Its watches with the arguments it has."""

    @property
    def is_cacheable(self) -> bool:
        """True if answers can be brought up to date: by row, or at any change of a node because pods do not matter.

        See docs/adr/0007.
        """
        hooks = self.hooks
        if "signature" not in hooks:
            return False
        if not self.plugin.looks_at_pods:
            return True
        if not self.plugin.row_local:
            return False
        by_row = ("filter" not in hooks or "filter_row" in hooks) and ("score" not in hooks or "score_row" in hooks)
        return by_row and "normalize_score" not in hooks


def register_plugins(
    profile: EffectiveProfile, classes: Mapping[str, type[Plugin]], context: FrameworkContext
) -> dict[str, RegisteredPlugin]:
    """Make the plugins of ``profile`` that ``classes`` has, in the profile's order.

    Raises RegistrationError naming the plugin, and the hook at fault.
    """
    return {
        name: _register(name, classes[name], profile.args.get(name), context)
        for name in profile.names
        if name in classes
    }


def _register(name: str, kind: type[Plugin], args: PluginArgs | None, context: FrameworkContext) -> RegisteredPlugin:
    """Make one plugin. Raises RegistrationError when it cannot be used here."""
    declaration, hooks, is_in_tree = _CHECKED.get(kind) or check_class(kind)
    if declaration.name != name:
        raise RegistrationError(f"plugin {name}: its class declares itself as {declaration.name}")
    watches = declaration.watches_for(args)
    # Refused here, at start, instead of failing for every pod.
    if watches and context.services.objects is None:
        kinds = ", ".join(watch.kind for watch in watches)
        raise RegistrationError(f"plugin {name}: it watches {kinds}, which this process cannot offer")
    if kind.reads:
        fields = ", ".join(kind.reads)
        raise RegistrationError(f"plugin {name}: it reads {fields}, which this build does not decode")
    handle = PluginHandle(name, watches, context)
    hook = Hook(name, "__init__", kind)  # a Hook, so that find_running_hook can name a constructor that hangs
    try:
        plugin = hook.run(args, handle)
    except plugin_exceptions() as error:
        # The last line of the author's own code that led there, as a traceback would name it.
        package, place = kind.__module__.partition(".")[0], ""
        for frame, line in walk_tb(error.__traceback__):
            if frame.f_globals.get("__name__", "").partition(".")[0] == package:
                place = f" ({frame.f_code.co_filename}:{line})"
        raise RegistrationError(f"plugin {name}: it cannot be created: {format_exception(error)}{place}") from error
    return RegisteredPlugin(name, plugin, declaration, hooks, is_in_tree, watches)


def check_class(kind: type[Plugin]) -> PluginClass:
    """Return a class with its declaration and hooks. Raises RegistrationError for a flaw, or if the two differ."""
    declaration, implemented = declaration_of(kind), hooks_of(kind)
    for flaw in flaws_of(kind):
        raise RegistrationError(f"plugin {declaration.name}: {flaw}")
    declared = frozenset(declaration.hooks)
    for hook in sorted(implemented - declared):
        raise RegistrationError(f"plugin {declaration.name}: {kind.__name__} has {hook}, which is not declared")
    for hook in sorted(declared - implemented):
        raise RegistrationError(f"plugin {declaration.name}: {hook} is declared, but {kind.__name__} has none")
    for hook, base in (
        ("normalize_score", "score"),
        ("filter_row", "filter"),
        ("score_row", "score"),
        ("pre_bind_flight", "pre_bind"),
    ):
        if hook in implemented and base not in implemented:
            raise RegistrationError(f"plugin {declaration.name}: {hook} without {base} never runs")
    own_declaration = vars(kind).get("declaration")
    is_in_tree = own_declaration is not None and own_declaration is find(declaration.name)
    known = _CHECKED[kind] = PluginClass(declaration, implemented, is_in_tree)
    return known


class HookTable:
    """The hooks of one profile, each point in the profile's order."""

    def __init__(
        self,
        profile: EffectiveProfile,
        plugins: Mapping[str, RegisteredPlugin],
        measures: Measures,
        slow_plugins: SlowPluginWatch,
    ) -> None:
        self._profile = profile
        self._plugins = plugins
        self._measures = measures
        self._slow_plugins = slow_plugins
        self._calls: dict[tuple[str, str], CallCount] = {}
        """The counters of calls, by plugin and extension point: several hooks of a plugin count together."""
        cached = {name: plugin for name, plugin in plugins.items() if plugin.is_cacheable}
        self.cached: Collection[str] = cached.keys()
        """The plugins whose answers are cached."""
        watches = [watch for plugin in cached.values() for watch in plugin.watches]
        self.watched_by_cached = frozenset([watch.event_resource for watch in watches])
        """The resources after whose changes the cached answers are out of date."""
        self.looking_at_pods = frozenset([name for name, plugin in plugins.items() if plugin.plugin.looks_at_pods])
        """The plugins whose answers about a node depend on the pods there."""

    def hooks(self, point: str, name: str, timer: HookTimer = UNTIMED) -> tuple[Hook, ...]:
        """Return the hooks called ``name`` of the plugins enabled at ``point``."""
        hooks = []
        for enabled in self._profile.points.get(point, ()):
            registered = self._plugins.get(enabled.name)
            if registered is not None and name in registered.hooks:
                hooks.append(self._hook(registered, name, timer))
        return tuple(hooks)

    def _hook(self, registered: RegisteredPlugin, name: str, timer: HookTimer = UNTIMED) -> Hook:
        """Return the hook ``name`` of a plugin, counted and measured as upstream does it for its point."""
        plugin = registered.plugin
        run = getattr(plugin, name)
        if registered.name in self._slow_plugins.times:
            # Plugins from elsewhere have their clock inside ``run``: it counts calls that bypass Hook.__call__, too.
            run = self._slow_plugins.watch(registered.name, name, run)
        if name not in _COUNTED:
            return Hook(registered.name, name, run, plugin, timer=timer)
        counter = registered.name, POINTS[name]
        if counter not in self._calls:
            self._calls[counter] = self._measures.evaluations(*counter, self._profile.scheduler_name)
        return Hook(registered.name, name, run, plugin, self._calls[counter], timer)

    def decision_hooks(self, timer: HookTimer = UNTIMED) -> DecisionHooks:
        """Return the hooks that choose a node, measured by ``timer`` while it is on."""
        normalizers = {hook.plugin: hook for hook in self.hooks("score", "normalize_score", timer)}
        weights = {plugin.name: plugin.weight for plugin in self._profile.points.get("score", ())}
        scores = self.hooks("score", "score", timer)
        return DecisionHooks(
            self.hooks("preFilter", "pre_filter", timer),
            self.hooks("filter", "filter", timer),
            self.hooks("preScore", "pre_score", timer),
            [Scorer(hook, normalizers.get(hook.plugin), weights[hook.plugin]) for hook in scores],
        )

    def row_filters(self, timer: HookTimer) -> list[RowFilter]:
        """Return the filters for one row at a time, measured by ``timer`` while it is on."""
        filters = []
        for columns in self.hooks("filter", "filter"):
            registered = self._plugins[columns.plugin]
            row = self._hook(registered, "filter_row", timer) if "filter_row" in registered.hooks else None
            filters.append(row_filter(columns, row, registered.plugin, timer))
        return filters

    def post_filters(self, version: Version) -> list[Hook]:
        """Return the ``post_filter`` hooks, and in their places the texts of plugins that this build lacks."""
        hooks = []
        for enabled in self._profile.points.get("postFilter", ()):
            registered = self._plugins.get(enabled.name)
            if registered is not None and "post_filter" in registered.hooks:
                hooks.append(self._hook(registered, "post_filter"))
            elif texts := reasons_after_filters(enabled.name, self._profile, version):
                hooks.append(Hook(enabled.name, "post_filter", texts))
        return hooks

    def queue_sort(self) -> Hook:
        """Return the one hook that sorts the queue. Raises RegistrationError when there is none."""
        hooks = self.hooks("queueSort", "sort_key")
        if len(hooks) != 1:
            name = self._profile.scheduler_name
            raise RegistrationError(f"profile {name}: its queueSort plugin is not in this build")
        return hooks[0]

    def cacheable_plugins(self) -> list[CacheablePlugin]:
        """Return the plugins whose answers are cached, with their enabled hooks, none of them timed."""
        hooks = self.decision_hooks()
        pre_filters = {hook.plugin: hook for hook in hooks.pre_filter}
        filters = {hook.plugin: hook for hook in hooks.filter}
        pre_scores = {hook.plugin: hook for hook in hooks.pre_score}
        scorers = {scorer.score.plugin: scorer for scorer in hooks.score}
        plugins = []
        for name in self.cached:
            registered = self._plugins[name]
            has_row_filter = name in filters and "filter_row" in registered.hooks
            plugins.append(
                CacheablePlugin(
                    name,
                    signature=self._hook(registered, "signature"),
                    pre_filter=pre_filters.get(name),
                    filter=filters.get(name),
                    filter_row=self._hook(registered, "filter_row") if has_row_filter else None,
                    pre_score=pre_scores.get(name),
                    scorer=scorers.get(name),
                    score_row=self._hook(registered, "score_row"),
                    signs_spec=registered.is_in_tree,  # those sign nothing but a pod's spec and requests
                )
            )
        return plugins
