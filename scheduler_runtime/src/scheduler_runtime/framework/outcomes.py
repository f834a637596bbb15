"""The ways in which an attempt to place a pod can end, and the errors that plugins cause."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from scheduler_runtime.api import CLEAR, Answer, Nomination, Pod
from scheduler_runtime.state.table import Table

PreBindPlan = Mapping[str, Answer]
"""The plugins that have something to do before a pod is bound: beside their neighbours (PARALLEL) or alone (SERIAL)."""

CLEAR_NOMINATION = Nomination(CLEAR)
"""Takes the nominated node back: preemption cannot help this pod, or must look for another node next time."""


class AssumeCache(Protocol):
    """The cache, as far as a decision needs it."""

    @property
    def table(self) -> Table:
        """The nodes and what is on them."""
        ...

    def assume(self, pod: Pod, node_name: str) -> None:
        """Count ``pod`` on the node from now on, before the API server has heard of it."""
        ...

    def forget(self, pod: Pod) -> object:
        """Take back an assumed pod."""
        ...


@dataclass(frozen=True, slots=True)
class Placed:
    """A node was chosen and ``pod`` is assumed on it. It still has to be permitted and bound."""

    pod: Pod
    node: str
    states: Mapping[str, Any] = field(default_factory=dict)
    """The state that each plugin's ``pre_filter`` returned, for its later hooks."""
    waits: Mapping[str, float] = field(default_factory=dict)
    """The plugins whose permit holds the pod, with the seconds each may hold it."""


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """No node now. ``message`` is the text of the pod's event and condition, word for word as upstream's."""

    pod: Pod
    message: str
    plugins: frozenset[str]
    """The plugins that rejected it. Without any, only time brings the pod back."""
    nomination: Nomination | None = None
    pending_plugins: frozenset[str] = frozenset()
    """Those of ``plugins`` that wait for something they started themselves; upstream's PendingPlugins."""

    if not TYPE_CHECKING:  # A type checker knows already that there is no node.

        def __getattr__(self, name: str) -> Any:
            why = f": {self.pod.key} was not placed: {self.message}" if name == "node" else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{why}")


def rejected_by(plugin: str, reason: str, pod: Pod) -> Unschedulable:
    """Return the outcome of a rejection after the choice of a node.

    Upstream words it as if that node had been the only one.
    """
    return Unschedulable(pod, f"0/1 nodes are available: 1 {reason}.", frozenset({plugin}), CLEAR_NOMINATION)


@dataclass(frozen=True, slots=True)
class QueueGate:
    """A plugin that does not let the pod into the queue yet, and its reason."""

    plugin: str
    reason: str


def plugin_exceptions() -> tuple[type[BaseException], ...]:
    """Return the exceptions that end one attempt, and nothing else, when a plugin raises them.

    A ``sys.exit()`` in a library that a plugin calls is no wish to end the scheduler. A KeyboardInterrupt is the
    plugin's own where handlers of ours receive the signals, as in a scheduler; elsewhere somebody may have pressed
    Ctrl-C.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        return Exception, SystemExit
    return Exception, SystemExit, KeyboardInterrupt


class PluginError(Exception):
    """A plugin raised, or gave an answer that the contract does not have."""

    def __init__(self, plugin: str, hook: str, problem: object, instance: object = None) -> None:
        super().__init__(f"plugin {plugin} failed in {hook}: {problem}")
        self.plugin = plugin
        self.hook = hook
        self.instance = instance
        """The plugin itself, if it is known."""


class BindError(Exception):
    """A plugin could not prepare or make the binding."""

    def __init__(self, plugin: str, message: str, instance: object = None) -> None:
        super().__init__(message)
        self.plugin = plugin
        self.message = message
        self.instance = instance
        """The plugin itself, if it is known."""


class PreemptedError(BindError):
    """A pod with a higher priority needs the room of this one, which was on its way to a node: nothing failed."""


class RegistrationError(Exception):
    """A plugin cannot be used as it is: its class and its declaration differ, or it needs what this process lacks."""
