"""What is wrong with the class of a plugin, seen before an object is made of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from scheduler_runtime.api.contract import Plugin, declaration_of
from scheduler_runtime.api.node_plugin import NodePlugin
from scheduler_runtime.catalog import HOOK_POINTS, ClusterEvent, PluginArgs, Rule, Watch
from scheduler_runtime.catalog.declaration import UNPOINTED_HOOKS
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest

_OURS = (Plugin, NodePlugin, object)
_AWAITED = frozenset({"pre_bind", "bind"})
"""The hooks that run in the background."""
_SHAPES: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("rules", "watches", "events", "reads"), (tuple, list)),
    **dict.fromkeys(("row_local", "looks_at_pods"), bool),
}
"""What a class declares, and what that is."""


def flaws_of(kind: type[Plugin], *, may_be_a_base: bool = False) -> Iterator[str]:
    """A sentence for each declaration of a wrong type, each hook that is awaited or called wrongly, each misspelt one.

    One without any hook is told of if nothing else is wrong, unless it ``may_be_a_base`` of others.
    """
    told = False
    for flaw in _flaws(kind):
        told = True
        yield flaw
    if not (told or may_be_a_base or declaration_of(kind).points):
        yield "it has no hook that a profile can enable, so it never runs; write one"


def _flaws(kind: type[Plugin]) -> Iterator[str]:
    yield from _of_args(kind)
    for name, wanted in (("rules", Rule), ("watches", Watch), ("events", ClusterEvent)):
        yield from _of_several(name, _declared(kind, name), wanted)
    yield from _of_several("reads", kind.reads, str)
    yield from _unheard(kind)
    yield from _awaited_wrongly(kind)
    yield from _called_wrongly(kind)
    yield from _misspelt(kind)
    yield from _undeclared(kind)


def _declared(kind: type[Plugin], name: str) -> Any:
    return getattr(kind.declaration or kind, name)


def _of_args(kind: type[Plugin]) -> Iterator[str]:
    args: Any = kind.declaration.args if kind.declaration else kind.Args
    if args is not None and not (isinstance(args, type) and issubclass(args, PluginArgs)):
        written = args.__name__ if isinstance(args, type) else repr(args)
        yield f"Args is {written}, not a PluginArgs; write class Args(PluginArgs)"


def _of_several(name: str, values: Any, wanted: type) -> Iterator[str]:
    if callable(values) and name in ("rules", "watches"):
        return  # It depends on the arguments.
    if not isinstance(values, tuple | list):
        yield f"{name} is {values!r}, not a tuple; write {name} = ({wanted.__name__}(…),)"
        return
    for index, value in enumerate(values):
        if not isinstance(value, wanted):
            yield f"{name}[{index}] is {value!r}, not a {wanted.__name__}; write {wanted.__name__}(…)"


def _unheard(kind: type[Plugin]) -> Iterator[str]:
    """Events of kinds that nobody follows for it: it hears of pods, of nodes, and of what it watches."""
    events, watches = _declared(kind, "events"), _declared(kind, "watches")
    if not _are(events, ClusterEvent):
        return
    heard = ("Pod", "Node", "*", *(watch.event_resource for watch in watches)) if _are(watches, Watch) else ()
    for index, event in enumerate(events):
        if not isinstance(event.resource, str) or not event.resource:
            yield f"events[{index}] is of {event.resource!r}; write the kind that it is about"
        elif heard and event.resource not in heard:
            meant = did_you_mean(nearest(event.resource, heard)) or "; add the kind to its watches"
            yield f"events[{index}] is of {event.resource}, which it does not watch{meant}"


def _are(values: Any, wanted: type) -> bool:
    return isinstance(values, tuple | list) and all(isinstance(value, wanted) for value in values)


def _awaited_wrongly(kind: type[Plugin]) -> Iterator[str]:
    for name in _hooks(kind):
        method = getattr(kind, name)
        if name in _AWAITED and not inspect.iscoroutinefunction(method):
            yield f"{name} is no coroutine; write async def {name}"
        if name not in _AWAITED and (inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method)):
            yield f"{name} is a coroutine, and nobody awaits it; write def, and wait for nothing in it"


def _called_wrongly(kind: type[Plugin]) -> Iterator[str]:
    makes_itself = type(kind).__call__ is type.__call__
    methods = {**({"__init__": Plugin.__init__} if makes_itself else {}), **_hooks(kind)}
    for name, base in methods.items():
        _, *given = inspect.signature(base).parameters
        if getattr(kind, name) is not base and not _takes(kind, name, given):
            start = "async def" if name in _AWAITED else "def"
            yield f"{name} is called with ({', '.join(given)}); write {start} {name}({', '.join(['self', *given])})"


def _takes(kind: type[Plugin], name: str, given: Sequence[str]) -> bool:
    """Whether what is called ``name`` can be called with what is ``given``."""
    written = inspect.getattr_static(kind, name)
    has_self = hasattr(type(written), "__get__") and not isinstance(written, staticmethod | classmethod)
    try:
        signature = inspect.signature(getattr(kind, name), follow_wrapped=False)
    except (TypeError, ValueError):
        return True  # It does not say what it takes.
    try:
        signature.bind(*(("self", *given) if has_self else given))
    except TypeError:
        return False
    return True


def _misspelt(kind: type[Plugin]) -> Iterator[str]:
    hooks = _hooks(kind)
    for name, method in sorted(_methods_of_its_own(kind).items()):
        if meant := _meant(name, method, hooks):
            yield f"{name} is not a hook; did you mean {meant}? A method of your own takes a name that begins with _"


def _undeclared(kind: type[Plugin]) -> Iterator[str]:
    """What is written almost like something that the class could declare and does not, and could be it."""
    own = {name: value for each in kind.__mro__ if each not in _OURS for name, value in vars(each).items()}
    left = _SHAPES.keys() - own.keys()
    for name, value in sorted(own.items(), key=itemgetter(0)):
        near = nearest(name, left, alike=0.8) if not name.startswith("_") and name not in _SHAPES else ()
        for meant in near:
            if isinstance(value, _SHAPES[meant]):
                yield f"{name} is nothing that is read of it; did you mean {meant}? One of your own begins with _"


def _hooks(kind: type[Plugin]) -> Mapping[str, Callable[..., Any]]:
    names = [*HOOK_POINTS, *UNPOINTED_HOOKS, *(("filter_node", "score_node") if issubclass(kind, NodePlugin) else ())]
    base = NodePlugin if issubclass(kind, NodePlugin) else Plugin
    return {name: getattr(base, name) for name in names}


def _methods_of_its_own(kind: type[Plugin]) -> Mapping[str, Callable[..., Any]]:
    """Those that the contract knows nothing of, and that nobody has marked as private."""
    own = (item for each in kind.__mro__ if each not in _OURS for item in vars(each).items())
    return {
        name: value
        for name, value in own
        if inspect.isfunction(value) and not name.startswith("_") and not hasattr(NodePlugin, name)
    }


def _meant(name: str, method: Callable[..., Any], hooks: Mapping[str, Callable[..., Any]]) -> str:
    """The hook that is written almost like ``name``; if not in another case, it must also be given as much."""
    for hook in hooks:
        if _letters(name) == _letters(hook):
            return hook
    near = nearest(name, hooks, alike=0.8)
    return near[0] if near and _arguments(method) == _arguments(hooks[near[0]]) else ""


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


def _arguments(method: Callable[..., Any]) -> int:
    return len(inspect.signature(method).parameters)
