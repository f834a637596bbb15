"""The parts of a scheduler that change with the document: watches, extenders, frameworks and settings.

Each class here is ``Reloadable``: it prepares the change of one part to another plan. The composition in
``app.scheduler`` lists them for the ``Reloader``; a new part that depends on the document takes a class here and a
place in that list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from scheduler_runtime.catalog import Target
from scheduler_runtime.config import ExtenderConfig
from scheduler_runtime.framework import FailureLog, Framework, PluginServices
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.kube.watch.reflector_group import ReflectorGroup, wait_until_listed
from scheduler_runtime.reload.plan import Plan
from scheduler_runtime.reload.reloader import PreparedChange
from scheduler_runtime.scheduling.cluster_updates import ClusterUpdates
from scheduler_runtime.scheduling.extenders import ExtenderChain, ExtenderFactory
from scheduler_runtime.scheduling.pending import BackingOff
from scheduler_runtime.scheduling.recent_failures import RecentFailures
from scheduler_runtime.scheduling.reporting.pod_events import PodEvents
from scheduler_runtime.scheduling.watched_objects import WatchedObjects
from scheduler_runtime.state.objects import Pod


class WatchChange:
    """Lists what the plugins of another plan watch, and stops the watches that no plugin declares any more."""

    def __init__(self, objects: WatchedObjects, reflectors: ReflectorGroup) -> None:
        self._objects = objects
        self._reflectors = reflectors

    async def prepare(self, running: Plan, plan: Plan) -> PreparedChange:
        """Start the missing watches, and make their objects readable once they are listed. Raises NotListedError."""
        if frozenset(running.watches) == frozenset(plan.watches):
            return PreparedChange()
        missing = self._objects.create_reflectors(plan.watches)
        added = tuple(missing.values())

        def commit() -> None:
            # Watches that are in both plans go on without a new list.
            self._reflectors.stop(self._objects.keep_only(plan.watches))

        def discard() -> None:
            self._objects.keep_only(running.watches)
            self._reflectors.stop(added)

        await start_and_list(self._reflectors, added)
        # Plugins may read what they watch in their constructors already.
        self._objects.adopt(plan.watches, missing)
        return PreparedChange(commit, discard)


class ExtenderChange:
    """Lists the raw nodes that the extenders of another plan need, and closes extenders that are out of use."""

    def __init__(
        self, extenders: ExtenderFactory, frameworks: Mapping[str, Framework], reflectors: ReflectorGroup
    ) -> None:
        self._extenders = extenders
        self._frameworks = frameworks
        self._reflectors = reflectors

    async def prepare(self, running: Plan, plan: Plan) -> PreparedChange:
        """Start to watch what the extenders need, and return when it is listed. Raises NotListedError."""
        if not running.document.extenders and not plan.document.extenders:
            return PreparedChange()
        added = self._extenders.create_reflectors(plan.document.extenders)

        def commit() -> None:
            self._reflectors.stop(self._extenders.adopt(added, plan.document.extenders))
            self._close_unused()

        def discard() -> None:
            self._reflectors.stop(added)
            self._close_unused()  # those of frameworks that were not put in force

        await start_and_list(self._reflectors, added)
        return PreparedChange(commit, discard)

    def _close_unused(self) -> None:
        # Frameworks are replaced before this part: those that are out of force are not in the mapping any more.
        self._extenders.close_others(framework.extenders for framework in self._frameworks.values())


async def start_and_list(group: ReflectorGroup, reflectors: Collection[Reflector[Any]]) -> None:
    """Run ``reflectors`` in the group, and return when they have listed their objects. Raises NotListedError."""
    group.start(reflectors)
    try:
        await wait_until_listed(reflectors)
    except BaseException:  # the process may also end meanwhile
        group.stop(reflectors)
        raise


class SettingsChange:
    """Changes how long pods back off and which events are posted, and lets failures be logged and counted anew."""

    def __init__(
        self, backing_off: BackingOff, events: PodEvents, recent: RecentFailures, *failure_logs: FailureLog
    ) -> None:
        self._backing_off = backing_off
        self._events = events
        self._recent = recent
        self._failure_logs = failure_logs

    async def prepare(self, running: Plan, plan: Plan) -> PreparedChange:
        """Return a change of values: nothing has to be made for it."""

        def commit() -> None:
            document = plan.document
            self._backing_off.change_seconds(document.pod_initial_backoff_seconds, document.pod_max_backoff_seconds)
            self._events.change_mode(plan.extras.events)
            self._recent.start_anew(document.pod_max_backoff_seconds)
            for log in self._failure_logs:
                log.reset()

        return PreparedChange(commit)


class Frameworks(dict[str, Framework]):
    """The frameworks by the names of their profiles. Every holder of this object sees it change."""

    def __init__(
        self,
        target: Target,
        seed: int | None = None,
        create_extenders: Callable[[Sequence[ExtenderConfig]], ExtenderChain | None] = lambda _: None,
    ) -> None:
        """``create_extenders`` returns the extenders of a profile that has some; it may raise RegistrationError."""
        super().__init__()
        self._target = target
        self._seed = seed
        self._create_extenders = create_extenders

    def build(self, plan: Plan, services: PluginServices, running: Plan | None = None) -> dict[str, Framework]:
        """Return the frameworks for ``plan``: a new one for each profile that is another than in ``running``.

        Raises RegistrationError.
        """
        version, gates = self._target.version, self._target.feature_gates
        frameworks: dict[str, Framework] = {}
        for profile in plan.profiles:
            name = profile.scheduler_name
            present = self.get(name)
            # A profile stays if it has the same plugins with the same arguments and code, and the same extenders. What
            # its plugins have cached stays with it, and its pods keep their places in the queue.
            if (
                present is not None
                and running is not None
                and present.profile == profile
                and running.extenders_of(profile) == plan.extenders_of(profile)
                and running.classes_of(profile) == plan.classes_of(profile)
            ):
                frameworks[name] = present
            else:
                configs = plan.extenders_of(profile)
                extenders = self._create_extenders(configs) if configs else None
                frameworks[name] = Framework(profile, services, version, self._seed, plan.classes, gates, extenders)
        return frameworks

    def replace(self, frameworks: Mapping[str, Framework]) -> None:
        """Put ``frameworks`` that were built in force."""
        before = self.copy()
        self.clear()
        self.update(frameworks)
        for name in before.keys() & frameworks.keys():
            if frameworks[name] is not before[name]:
                # Pods that wait for a permit go on waiting, now for the plugins of the new framework.
                frameworks[name].take_over_from(before[name])


class FrameworkChange:
    """Builds the frameworks of another plan, puts them in force together, and moves the waiting pods to them."""

    def __init__(
        self, frameworks: Frameworks, services: PluginServices, updates: ClusterUpdates, pods: Reflector[Pod]
    ) -> None:
        self._frameworks = frameworks
        self._services = services
        self._updates = updates
        self._pods = pods

    async def prepare(self, running: Plan, plan: Plan) -> PreparedChange:
        """Build the frameworks. Raises RegistrationError."""
        built = self._frameworks.build(plan, self._services, running)

        def commit() -> None:
            before = self._frameworks.copy()
            self._frameworks.replace(built)
            changed = {name for name in before.keys() | built.keys() if before.get(name) is not built.get(name)}
            self._updates.change_profiles(changed, built.keys() - before.keys(), self._pods.objects.values())

        return PreparedChange(commit)
