"""From the plugins of a profile, and where it enables them, to the parts that call their hooks."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from scheduler_runtime.catalog import Version, find
from scheduler_runtime.config import EffectiveProfile
from scheduler_runtime.framework.answer_cache import AnswerCache
from scheduler_runtime.framework.cacheable_plugins import CacheablePlugin, Filter, Score
from scheduler_runtime.framework.choosing_node import Hooks, NodeChooser
from scheduler_runtime.framework.hook import Hook, row_of_filter
from scheduler_runtime.framework.nominated_nodes import NominatedPods
from scheduler_runtime.framework.outcomes import RegistrationError
from scheduler_runtime.framework.point_metrics import POINTS, Measures, Unmeasured
from scheduler_runtime.framework.registration import Registered
from scheduler_runtime.framework.sampling import Sampler
from scheduler_runtime.framework.scoring import Scorer
from scheduler_runtime.framework.slow_plugins import SlowPluginWatch
from scheduler_runtime.framework.unsupported import said_after_filters
from scheduler_runtime.framework.what_if import row_filter
from scheduler_runtime.plugins import IN_TREE
from scheduler_runtime.state.nominations import Nominations

_COUNTED = ("pre_filter", "filter", "filter_row", "pre_score", "score")


class HookTable:
    """The hooks of one profile, each point in the profile's order."""

    def __init__(
        self,
        profile: EffectiveProfile,
        plugins: Mapping[str, Registered],
        measures: Measures | None = None,
        pace: SlowPluginWatch | None = None,
    ) -> None:
        self._profile = profile
        self._plugins = plugins
        self._measures = measures or Unmeasured()
        self._pace = pace or SlowPluginWatch(())

    def hooks(self, point: str, name: str) -> tuple[Hook, ...]:
        """The hooks called ``name`` of the plugins enabled at ``point``."""
        enabled = (self._plugins.get(plugin.name) for plugin in self._profile.points.get(point, ()))
        return tuple(self._hook(each, name) for each in enabled if each and name in each.hooks)

    def _hook(self, registered: Registered, name: str) -> Hook:
        run = self._pace.watched(registered.name, name, getattr(registered.plugin, name))
        if name not in _COUNTED:
            return Hook(registered.name, name, run, of=registered.plugin)
        asked = self._measures.evaluations(registered.name, POINTS[name], self._profile.scheduler_name)
        return Hook(registered.name, name, run, asked, registered.plugin)

    def choosing(self) -> Hooks:
        """The hooks that choose a node."""
        return Hooks(
            self.hooks("preFilter", "pre_filter"),
            self.hooks("filter", "filter"),
            self.hooks("preScore", "pre_score"),
            self._scorers(),
        )

    def post_filters(self, version: Version) -> tuple[Hook, ...]:
        """The hooks, and in their places the words of plugins that are not there."""
        found = {hook.plugin: hook for hook in self.hooks("postFilter", "post_filter")}
        for plugin in self._profile.points.get("postFilter", ()):
            words = said_after_filters(plugin.name, self._profile, version)
            if plugin.name not in found and words:
                found[plugin.name] = Hook(plugin.name, "post_filter", words)
        return tuple(found[each.name] for each in self._profile.points.get("postFilter", ()) if each.name in found)

    def queue_sort(self) -> Hook:
        """The one hook that sorts the queue. Raises RegistrationError when there is none."""
        hooks = self.hooks("queueSort", "sort_key")
        if len(hooks) != 1:
            name = self._profile.scheduler_name
            raise RegistrationError(f"profile {name}: its queueSort plugin is not in this build")
        return hooks[0]

    def classes(self, hooks: Hooks) -> AnswerCache:
        """What is kept of the plugins that can be kept."""
        looking = [name for name, each in self._plugins.items() if each.plugin.looks_at_pods]
        kept = self._kept()
        return AnswerCache(
            [self._local(self._plugins[name], hooks) for name in kept],
            looking,
            sum(scorer.weight for scorer in hooks.score),
            every_version_matters=any(name in looking and name not in IN_TREE for name in kept),
        )

    def decider(
        self, hooks: Hooks, classes: AnswerCache, nominations: Nominations, random: Random, sampler: Sampler | None
    ) -> NodeChooser:
        """Who chooses nodes by ``hooks``."""
        registered = [self._plugins[hook.plugin] for hook in hooks.filter]
        filters = [
            row_filter(hook, self._own_row_filter(each), each.plugin)
            for hook, each in zip(hooks.filter, registered, strict=True)
        ]
        return NodeChooser(hooks, classes, self._kept(), NominatedPods(filters, nominations), random, sampler)

    def watched_by_kept(self) -> frozenset[str]:
        """The resources after whose changes what is kept is out of date."""
        return frozenset(
            watch.event_resource
            for name in self._kept()
            for watch in self._plugins[name].declaration.watches_for(self._profile.args.get(name))
        )

    def _kept(self) -> tuple[str, ...]:
        return tuple(name for name, each in self._plugins.items() if _can_be_kept(each))

    def _local(self, registered: Registered, hooks: Hooks) -> CacheablePlugin:
        """A plugin that is kept, with its enabled hooks."""
        enabled = hooks.of(registered.name)
        filters = None
        if enabled.filter is not None:
            filters = Filter(enabled.filter, self._own_row_filter(registered) or row_of_filter(enabled.filter))
        score = Score(enabled.score, self._hook(registered, "score_row")) if enabled.score else None
        signature = self._hook(registered, "signature")
        signs_spec = _signs_spec(registered)
        return CacheablePlugin(
            registered.name, signature, enabled.pre_filter, filters, enabled.pre_score, score, signs_spec
        )

    def _own_row_filter(self, registered: Registered) -> Hook | None:
        return self._hook(registered, "filter_row") if "filter_row" in registered.hooks else None

    def _scorers(self) -> tuple[Scorer, ...]:
        normalizers = {hook.plugin: hook for hook in self.hooks("score", "normalize_score")}
        weights = {plugin.name: plugin.weight for plugin in self._profile.points.get("score", ())}
        return tuple(
            Scorer(hook, normalizers.get(hook.plugin), weights[hook.plugin]) for hook in self.hooks("score", "score")
        )


def _signs_spec(registered: Registered) -> bool:
    """Whether it is a plugin of this build: none of those signs anything but a pod's spec and requests."""
    own = vars(type(registered.plugin)).get("declaration")
    return own is not None and own is find(registered.name)


def _can_be_kept(registered: Registered) -> bool:
    """Whether what a plugin says can be brought up to date: by row, or rarely because only nodes matter to it."""
    hooks = registered.hooks
    if "signature" not in hooks:
        return False
    if not registered.plugin.looks_at_pods:
        return True
    if not registered.plugin.row_local:
        return False
    by_row = ("filter" not in hooks or "filter_row" in hooks) and ("score" not in hooks or "score_row" in hooks)
    return by_row and "normalize_score" not in hooks
