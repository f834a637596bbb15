"""From a profile's names to plugins ready to be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from traceback import walk_tb
from weakref import WeakSet

from scheduler_runtime.api import Declaration, Plugin, Watch, declaration_of, flaws_of, hooks_of
from scheduler_runtime.config import EffectiveProfile
from scheduler_runtime.framework.hook import Hook, format_exception
from scheduler_runtime.framework.outcomes import RegistrationError, failures
from scheduler_runtime.framework.plugin_handle import FrameworkContext, PluginHandle

_SOUND: WeakSet[type[Plugin]] = WeakSet()
"""The classes that passed ``check``: a class does not change, and each reload registers the same ones again."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A plugin of this profile and what it declares."""

    name: str
    plugin: Plugin
    declaration: Declaration
    hooks: frozenset[str]
    watches: tuple[Watch, ...]
    """What it watches with the arguments it has."""


def register(
    profile: EffectiveProfile, classes: Mapping[str, type[Plugin]], context: FrameworkContext
) -> dict[str, Registered]:
    """Make the plugins of ``profile`` that ``classes`` has, in the profile's order.

    Raises RegistrationError naming the plugin, and the hook at fault.
    """
    return {name: _registered(name, classes[name], profile, context) for name in profile.names if name in classes}


def _registered(name: str, kind: type[Plugin], profile: EffectiveProfile, context: FrameworkContext) -> Registered:
    declaration = declaration_of(kind)
    check(kind, declaration)
    if declaration.name != name:
        raise RegistrationError(f"plugin {name}: its class declares itself as {declaration.name}")
    watches = declaration.watches_for(profile.args.get(name))
    if watches and context.services.objects is None:
        kinds = ", ".join(watch.kind for watch in watches)
        raise RegistrationError(f"plugin {name}: it watches {kinds}, which this process cannot offer")
    if kind.reads:
        fields = ", ".join(kind.reads)
        raise RegistrationError(f"plugin {name}: it reads {fields}, which this build does not decode")
    handle = PluginHandle(name, watches, context)
    hook = Hook(name, "__init__", kind)  # so that one that takes long is seen at work
    try:
        plugin = hook.run(profile.args.get(name), handle)
    except failures() as error:
        raise RegistrationError(
            f"plugin {name}: it cannot be made: {format_exception(error)}{_place(error, kind)}"
        ) from error
    return Registered(name, plugin, declaration, hooks_of(kind), watches)


def _place(error: BaseException, kind: type[Plugin]) -> str:
    """The last line of the author's own code that led there, as a traceback names it; empty where there is none."""
    frames = [(frame.f_globals.get("__name__", ""), frame.f_code, line) for frame, line in walk_tb(error.__traceback__)]
    package = kind.__module__.partition(".")[0]
    places = [f" ({code.co_filename}:{line})" for name, code, line in frames if name.partition(".")[0] == package]
    return places[-1] if places else ""


def check(kind: type[Plugin], declaration: Declaration) -> None:
    """Refuse a class whose hooks are not the declared ones, or that declares what is none. Raises RegistrationError."""
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
