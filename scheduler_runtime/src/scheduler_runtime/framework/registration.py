"""From a profile to its plugins and their hooks: plugin objects are made, and their hooks ordered by point."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from traceback import walk_tb
from weakref import WeakSet

from scheduler_runtime.api import Declaration, Plugin, Watch, declaration_of, flaws_of, hooks_of
from scheduler_runtime.catalog import Version, find
from scheduler_runtime.config import EffectiveProfile
from scheduler_runtime.framework.answer_cache import CacheablePlugin
from scheduler_runtime.framework.context import FrameworkContext
from scheduler_runtime.framework.decision_hooks import Scorer
from scheduler_runtime.framework.hook import UNTIMED, CallCount, Hook, HookTimer, format_exception
from scheduler_runtime.framework.outcomes import RegistrationError, plugin_exceptions
from scheduler_runtime.framework.plugin_handle import PluginHandle
from scheduler_runtime.framework.plugin_times import POINTS, Measures, SlowPluginWatch
from scheduler_runtime.framework.unsupported import reasons_after_filters
from scheduler_runtime.framework.what_if import RowFilter, row_filter

_SOUND: WeakSet[type[Plugin]] = WeakSet()
"""The classes that passed ``check_class``: a class does not change, and each reload registers the same ones again."""

_COUNTED = ("pre_filter", "filter", "filter_row", "pre_score", "score")
"""The hooks of which upstream counts the calls (plugin_evaluation_total)."""


@dataclass(frozen=True, slots=True)
class RegisteredPlugin:
    """A plugin object of this profile, and what its class declares."""

    name: str
    plugin: Plugin
    declaration: Declaration
    hooks: frozenset[str]
    watches: tuple[Watch, ...]
    """Its watches with the arguments it has."""


def register_plugins(
    profile: EffectiveProfile, classes: Mapping[str, type[Plugin]], context: FrameworkContext
) -> dict[str, RegisteredPlugin]:
    """Make the plugins of ``profile`` that ``classes`` has, in the profile's order.

    Raises RegistrationError naming the plugin, and the hook at fault.
    """
    return {name: _register(name, classes[name], profile, context) for name in profile.names if name in classes}


def _register(name: str, kind: type[Plugin], profile: EffectiveProfile, context: FrameworkContext) -> RegisteredPlugin:
    """Make one plugin. Raises RegistrationError when it cannot be used here."""
    declaration = declaration_of(kind)
    check_class(kind, declaration)
    if declaration.name != name:
        raise RegistrationError(f"plugin {name}: its class declares itself as {declaration.name}")
    watches = declaration.watches_for(profile.args.get(name))
    # Refused here, at start, instead of failing for every pod.
    if watches and context.services.objects is None:
        kinds = ", ".join(watch.kind for watch in watches)
        raise RegistrationError(f"plugin {name}: it watches {kinds}, which this process cannot offer")
    if kind.reads:
        fields = ", ".join(kind.reads)
        raise RegistrationError(f"plugin {name}: it reads {fields}, which this build does not decode")
    handle = PluginHandle(name, watches, context)
    hook = Hook(name, "__init__", kind)  # a Hook, so that stack_probe can name a constructor that hangs
    try:
        plugin = hook.run(profile.args.get(name), handle)
    except plugin_exceptions() as error:
        # The last line of the author's own code that led there, as a traceback would name it.
        package, place = kind.__module__.partition(".")[0], ""
        for frame, line in walk_tb(error.__traceback__):
            if frame.f_globals.get("__name__", "").partition(".")[0] == package:
                place = f" ({frame.f_code.co_filename}:{line})"
        raise RegistrationError(f"plugin {name}: it cannot be created: {format_exception(error)}{place}") from error
    return RegisteredPlugin(name, plugin, declaration, hooks_of(kind), watches)


def check_class(kind: type[Plugin], declaration: Declaration) -> None:
    """Refuse a class with a flaw, or with other hooks than the declared ones. Raises RegistrationError."""
    if kind in _SOUND:
        return
    for flaw in flaws_of(kind):
        raise RegistrationError(f"plugin {declaration.name}: {flaw}")
    implemented, declared = hooks_of(kind), frozenset(declaration.hooks)
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
    _SOUND.add(kind)


@dataclass(frozen=True, slots=True)
class DecisionHooks:
    """The hooks that choose a node."""

    pre_filter: Sequence[Hook]
    filter: Sequence[Hook]
    pre_score: Sequence[Hook]
    score: Sequence[Scorer]

    def without(self, plugins: Collection[str]) -> DecisionHooks:
        """Return the hooks of the other plugins."""
        return DecisionHooks(
            [hook for hook in self.pre_filter if hook.plugin not in plugins],
            [hook for hook in self.filter if hook.plugin not in plugins],
            [hook for hook in self.pre_score if hook.plugin not in plugins],
            [scorer for scorer in self.score if scorer.score.plugin not in plugins],
        )


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
        self.cached: Collection[str] = [name for name, plugin in plugins.items() if _is_cacheable(plugin)]
        """The plugins whose answers are cached."""

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
        return DecisionHooks(
            self.hooks("preFilter", "pre_filter", timer),
            self.hooks("filter", "filter", timer),
            self.hooks("preScore", "pre_score", timer),
            self._scorers(timer),
        )

    def _scorers(self, timer: HookTimer) -> tuple[Scorer, ...]:
        normalizers = {hook.plugin: hook for hook in self.hooks("score", "normalize_score", timer)}
        weights = {plugin.name: plugin.weight for plugin in self._profile.points.get("score", ())}
        hooks = self.hooks("score", "score", timer)
        return tuple(Scorer(hook, normalizers.get(hook.plugin), weights[hook.plugin]) for hook in hooks)

    def row_filters(self, timer: HookTimer) -> tuple[RowFilter, ...]:
        """Return the filters for one row at a time, measured by ``timer`` while it is on."""
        return tuple(
            row_filter(hook, self._filter_row(hook.plugin, timer), self._plugins[hook.plugin].plugin, timer)
            for hook in self.hooks("filter", "filter")
        )

    def _filter_row(self, plugin: str, timer: HookTimer) -> Hook | None:
        registered = self._plugins[plugin]
        return self._hook(registered, "filter_row", timer) if "filter_row" in registered.hooks else None

    def post_filters(self, version: Version) -> tuple[Hook, ...]:
        """Return the ``post_filter`` hooks, and in their places the texts of plugins that this build lacks."""
        hooks = {hook.plugin: hook for hook in self.hooks("postFilter", "post_filter")}
        for plugin in self._profile.points.get("postFilter", ()):
            texts = reasons_after_filters(plugin.name, self._profile, version)
            if plugin.name not in hooks and texts:
                hooks[plugin.name] = Hook(plugin.name, "post_filter", texts)
        return tuple(
            hooks[plugin.name] for plugin in self._profile.points.get("postFilter", ()) if plugin.name in hooks
        )

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
        return [
            CacheablePlugin(
                name,
                signature=self._hook(self._plugins[name], "signature"),
                pre_filter=pre_filters.get(name),
                filter=filters.get(name),
                filter_row=self._filter_row(name, UNTIMED) if name in filters else None,
                pre_score=pre_scores.get(name),
                scorer=scorers.get(name),
                score_row=self._hook(self._plugins[name], "score_row"),
                signs_spec=_signs_spec(self._plugins[name]),
            )
            for name in self.cached
        ]

    def watched_by_cached(self) -> frozenset[str]:
        """Return the resources after whose changes the cached answers are out of date."""
        return frozenset(
            watch.event_resource
            for name in self.cached
            for watch in self._plugins[name].declaration.watches_for(self._profile.args.get(name))
        )

    def looking_at_pods(self) -> frozenset[str]:
        """Return the plugins whose answers about a node depend on the pods there."""
        return frozenset(name for name, registered in self._plugins.items() if registered.plugin.looks_at_pods)


def _signs_spec(registered: RegisteredPlugin) -> bool:
    """Return whether this is a plugin of this build: they sign nothing but a pod's spec and requests.

    The declaration stands in the class itself: one that somebody derived from it may sign anything.
    """
    own = vars(type(registered.plugin)).get("declaration")
    return own is not None and own is find(registered.name)


def _is_cacheable(registered: RegisteredPlugin) -> bool:
    """Return whether answers can be brought up to date: by row, or at any change of a node because pods do not matter.

    See docs/adr/0007.
    """
    hooks = registered.hooks
    if "signature" not in hooks:
        return False
    if not registered.plugin.looks_at_pods:
        return True
    if not registered.plugin.row_local:
        return False
    by_row = ("filter" not in hooks or "filter_row" in hooks) and ("score" not in hooks or "score_row" in hooks)
    return by_row and "normalize_score" not in hooks
