"""How an attempt to place a pod can end."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from scheduler_runtime.api import CLEAR, Answer, Nomination, Pod
from scheduler_runtime.state.table import Table

PreBindPlan = Mapping[str, Answer]
"""How each plugin that has something to prepare for a binding does that: beside its neighbours or alone."""


CLEAR_NOMINATION = Nomination(CLEAR)
"""What becomes of the nomination of a pod for which there is nothing to hope."""


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
    """A node was found and ``pod`` is assumed on it. It still has to be permitted and bound."""

    pod: Pod
    node: str
    states: Mapping[str, Any] = field(default_factory=dict)
    """What each plugin's ``pre_filter`` returned, for its later hooks."""
    waits: Mapping[str, float] = field(default_factory=dict)
    """The plugins whose permit holds the pod, with the seconds each may hold it."""


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """No node now. ``message`` is what the pod's event and condition say, word for word as upstream says it."""

    pod: Pod
    message: str
    plugins: frozenset[str]
    """The plugins that rejected it. Without any, only time brings the pod back."""
    nomination: Nomination | None = None
    pending_plugins: frozenset[str] = frozenset()
    """Those of ``plugins`` that wait for something they started themselves."""

    if not TYPE_CHECKING:  # Whoever checks types has heard that there is no node.

        def __getattr__(self, name: str) -> Any:
            why = f": {self.pod.key} was not placed: {self.message}" if name == "node" else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{why}")


def rejected_by(plugin: str, reason: str, pod: Pod) -> Unschedulable:
    """Upstream words a rejection after the choice of a node as if that node had been the only one."""
    return Unschedulable(pod, f"0/1 nodes are available: 1 {reason}.", frozenset({plugin}), CLEAR_NOMINATION)


@dataclass(frozen=True, slots=True)
class QueueGate:
    """A plugin keeps the pod out of the queue."""

    plugin: str
    reason: str


def failures() -> tuple[type[BaseException], ...]:
    """What ends one attempt when a plugin raises it.

    A ``sys.exit()`` in a library that it calls is no wish to end the scheduler. A KeyboardInterrupt is the plugin's own
    where handlers of ours hear the signals, as in a scheduler; elsewhere somebody may have pressed Ctrl-C.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        return Exception, SystemExit
    return Exception, SystemExit, KeyboardInterrupt


class PluginError(Exception):
    """A plugin raised, or answered what the contract does not know."""

    def __init__(self, plugin: str, hook: str, problem: object, of: object = None) -> None:
        super().__init__(f"plugin {plugin} failed in {hook}: {problem}")
        self.plugin = plugin
        self.hook = hook
        self.of = of
        """The plugin itself, where it is known."""


class BindError(Exception):
    """A plugin could not prepare or make the binding."""

    def __init__(self, plugin: str, message: str, of: object = None) -> None:
        super().__init__(message)
        self.plugin = plugin
        self.message = message
        self.of = of
        """The plugin itself, where it is known."""


class RegistrationError(Exception):
    """A plugin cannot be used as it is: its class and its declaration differ, or it needs what this process lacks."""
