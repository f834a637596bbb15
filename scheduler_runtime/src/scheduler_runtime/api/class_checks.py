"""Checks of plugin classes: sentences about everything that is wrong with one, before an object is made of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from scheduler_runtime.api.contract import Plugin, declaration_of
from scheduler_runtime.api.node_plugin import NodePlugin
from scheduler_runtime.catalog import HOOK_POINTS, ClusterEvent, PluginArgs, Rule, Watch
from scheduler_runtime.catalog.declaration import UNPOINTED_HOOKS
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest

_BASES = (Plugin, NodePlugin, object)
_ASYNC_HOOKS = frozenset({"pre_bind", "bind"})
"""The hooks that run in the background."""
_DECLARATIONS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("rules", "watches", "events", "reads"), (tuple, list)),
    **dict.fromkeys(("row_local", "looks_at_pods"), bool),
}
"""The attributes by which a class declares things, and their types."""


def flaws_of(kind: type[Plugin], *, may_be_a_base: bool = False) -> Iterator[str]:
    """Yield a sentence for each wrong declaration, each hook of a wrong form, and each misspelling.

    A class without any hook has a flaw, too, if it has no other and is not meant as a base class of others.
    """
    has_flaws = False
    for check in (_check_declarations, _check_events, _check_async, _check_signatures, _check_hook_names, _check_names):
        for flaw in check(kind):
            has_flaws = True
            yield flaw
    if not (has_flaws or may_be_a_base or declaration_of(kind).points):
        yield "it has no hook that a profile can enable, so it never runs; write one"


def _declared(kind: type[Plugin], name: str) -> Any:
    return getattr(kind.declaration or kind, name)


def _check_declarations(kind: type[Plugin]) -> Iterator[str]:
    args: Any = kind.declaration.args if kind.declaration else kind.Args
    if args is not None and not (isinstance(args, type) and issubclass(args, PluginArgs)):
        what = args.__name__ if isinstance(args, type) else repr(args)
        yield f"Args is {what}, not a PluginArgs; write class Args(PluginArgs)"
    attributes = [(name, _declared(kind, name)) for name in ("rules", "watches", "events")]
    types: tuple[type, ...] = (Rule, Watch, ClusterEvent, str)
    for (name, values), item_type in zip([*attributes, ("reads", kind.reads)], types, strict=True):
        example = item_type.__name__
        if callable(values) and name in ("rules", "watches"):
            continue  # A function of the arguments: its result is checked when they are known.
        if not isinstance(values, tuple | list):
            yield f"{name} is {values!r}, not a tuple; write {name} = ({example}(…),)"
            continue
        for index, value in enumerate(values):
            if not isinstance(value, item_type):
                yield f"{name}[{index}] is {value!r}, not a {example}; write {example}(…)"


def _check_events(kind: type[Plugin]) -> Iterator[str]:
    """Check that each event is of a kind that plugins learn of: pods, nodes, and the objects it watches."""
    events, watches = _declared(kind, "events"), _declared(kind, "watches")
    if not _are(events, ClusterEvent):
        return
    resources = ("Pod", "Node", "*", *(watch.event_resource for watch in watches)) if _are(watches, Watch) else ()
    for index, event in enumerate(events):
        if not isinstance(event.resource, str) or not event.resource:
            yield f"events[{index}] is of {event.resource!r}; write the kind that it is about"
        elif resources and event.resource not in resources:
            remedy = did_you_mean(nearest(event.resource, resources)) or "; add the kind to its watches"
            yield f"events[{index}] is of {event.resource}, which it does not watch{remedy}"


def _are(values: Any, item_type: type) -> bool:
    return isinstance(values, tuple | list) and all(isinstance(value, item_type) for value in values)


def _check_async(kind: type[Plugin]) -> Iterator[str]:
    """Check that the hooks that are awaited are coroutines, and no others."""
    for name in _hooks(kind):
        method = getattr(kind, name)
        if name in _ASYNC_HOOKS and not inspect.iscoroutinefunction(method):
            yield f"{name} is not a coroutine; write async def {name}"
        if name not in _ASYNC_HOOKS and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)):
            yield f"{name} is a coroutine, and nobody awaits it; write def, and wait for nothing in it"


def _check_signatures(kind: type[Plugin]) -> Iterator[str]:
    """Check that each hook, and the constructor, can be called with the arguments that it gets."""
    has_own_metaclass_call = type(kind).__call__ is not type.__call__  # which may make the object in any way
    methods = {**({} if has_own_metaclass_call else {"__init__": Plugin.__init__}), **_hooks(kind)}
    for name, base in methods.items():
        method = getattr(kind, name)
        if method is base:
            continue
        _, *arguments = inspect.signature(base).parameters
        static = inspect.getattr_static(kind, name)
        has_self = hasattr(type(static), "__get__") and not isinstance(static, staticmethod | classmethod)
        try:
            signature = inspect.signature(method, follow_wrapped=False)
        except (TypeError, ValueError):
            continue  # A callable written in C need not say what it takes.
        try:
            signature.bind(*(("self", *arguments) if has_self else arguments))
        except TypeError:
            start = "async def" if name in _ASYNC_HOOKS else "def"
            parameters = ", ".join(["self", *arguments])
            yield f"{name} is called with ({', '.join(arguments)}); write {start} {name}({parameters})"


def _check_hook_names(kind: type[Plugin]) -> Iterator[str]:
    """Check for methods of the class's own that are spelled almost like a hook."""
    hooks = _hooks(kind)
    for name, method in sorted(_own_attributes(kind).items()):
        if not inspect.isfunction(method) or name.startswith("_") or hasattr(NodePlugin, name):
            continue
        if hook := _similar_hook(name, method, hooks):
            yield f"{name} is not a hook; did you mean {hook}? A method of your own takes a name that begins with _"


def _similar_hook(name: str, method: Callable[..., Any], hooks: Mapping[str, Callable[..., Any]]) -> str:
    """Return the hook that ``name`` may stand for: in camelCase, or misspelled with as many parameters; or nothing."""
    for hook in hooks:
        if name.replace("_", "").lower() == hook.replace("_", "").lower():
            return hook
    near = nearest(name, hooks, alike=0.8)
    if near and len(inspect.signature(method).parameters) == len(inspect.signature(hooks[near[0]]).parameters):
        return near[0]
    return ""


def _check_names(kind: type[Plugin]) -> Iterator[str]:
    """Check for attributes that are spelled almost like a declaration that the class lacks, and have its type."""
    own = _own_attributes(kind)
    missing = _DECLARATIONS.keys() - own.keys()
    for name, value in sorted(own.items(), key=itemgetter(0)):
        if name.startswith("_") or name in _DECLARATIONS:
            continue
        for declaration in nearest(name, missing, alike=0.8):
            if isinstance(value, _DECLARATIONS[declaration]):
                yield f"{name} is unknown; did you mean {declaration}? Names of your own begin with _"


def _own_attributes(kind: type[Plugin]) -> dict[str, Any]:
    """Return the attributes of a class and its bases, those of the contract's classes aside."""
    return {name: value for base in kind.__mro__ if base not in _BASES for name, value in vars(base).items()}


def _hooks(kind: type[Plugin]) -> Mapping[str, Callable[..., Any]]:
    """Return all hooks that a class could have, as the contract has them."""
    base = NodePlugin if issubclass(kind, NodePlugin) else Plugin
    by_node = ("filter_node", "score_node") if base is NodePlugin else ()
    return {name: getattr(base, name) for name in (*HOOK_POINTS, *UNPOINTED_HOOKS, *by_node)}
