"""How the log looks: one line per record, the values after the message, as text or as JSON."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from scheduler_runtime.framework import DECISION

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def set_up(*, as_json: bool, verbosity: int) -> None:
    """Write the log to stderr: from 2 on a line for each decision, from 4 on what only a developer wants."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter())
    logging.basicConfig(level=_least(verbosity), handlers=[handler], force=True)
    for chatty in ("asyncio", "aiohttp"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


def is_json() -> bool:
    """Whether each line of the log is an object."""
    return any(isinstance(each.formatter, JsonFormatter) for each in logging.getLogger().handlers)


def _least(verbosity: int) -> int:
    if verbosity >= 4:
        return logging.DEBUG
    return DECISION if verbosity >= 2 else logging.INFO


def level_of(record: logging.LogRecord) -> str:
    """The name of its level."""
    return "INFO" if record.levelno == DECISION else record.levelname


def values_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return what was given as ``extra``."""
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class TextFormatter(logging.Formatter):
    """``2026-01-01T00:00:00.000Z INFO leading lease=berth-system/berth-x``"""

    def format(self, record: logging.LogRecord) -> str:
        values = "".join(f" {name}={_shown(value)}" for name, value in values_of(record).items())
        text = f"{_instant(record)} {level_of(record)} {record.getMessage()}{values}"
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class JsonFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "ts": _instant(record),
            "level": level_of(record).lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **values_of(record),
        }
        if record.exc_info:
            line["stack"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def _instant(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _shown(value: object) -> str:
    text = str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "=\n') else text
