"""Every flag and its value, for /flagz."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from scheduler_runtime.app.flags.document import LEADERSHIP_DEFAULTS
from scheduler_runtime.app.flags.parser import parser
from scheduler_runtime.reload.document_sources import ObjectName
from scheduler_runtime.serving.https import NamedPair


def shown(asked: argparse.Namespace) -> Mapping[str, str]:
    """The value of each flag as Go writes it, by name: the one given, else the default.

    Flags without any effect are there only if they were given.
    """
    actions = [action for action in parser()._actions if hasattr(asked, action.dest)]
    found = {_name(each): _written(getattr(asked, each.dest)) for each in actions if _matters(asked, each)}
    of_leadership = {name: _written(value) for name, value in LEADERSHIP_DEFAULTS.items()}
    return {**found, **{name: value for name, value in of_leadership.items() if not found[name]}}


def _matters(asked: argparse.Namespace, action: argparse.Action) -> bool:
    return action.help != argparse.SUPPRESS or getattr(asked, action.dest) is not None


def _name(action: argparse.Action) -> str:
    return max(action.option_strings, key=len).removeprefix("--")


def _written(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case ObjectName():
            return "/".join(value)
        case [NamedPair(), *_]:
            return f"[{';'.join(map(str, value))}]"
        case list():
            return f"[{','.join(value)}]"
        case dict():
            return ",".join(f"{name}={_written(each)}" for name, each in sorted(value.items()))
        case _:
            return str(value)
