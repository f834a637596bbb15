"""Log format: one line per record with its values after the message, as text or as JSON."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from scheduler_runtime.catalog.masking import masked

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def set_up_logging(level: int, *, as_json: bool) -> None:
    """Write the log to stderr, from ``level`` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if as_json else TextFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)


def is_json() -> bool:
    """Return True if each line of the log is a JSON object."""
    return any(isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger().handlers)


def level_of(record: logging.LogRecord) -> str:
    """Return the name of the record's level; one of ours, between DEBUG and INFO, is information."""
    return "INFO" if logging.DEBUG < record.levelno < logging.INFO else record.levelname


def values_of(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return the values that the caller passed as ``extra``."""
    return {name: value for name, value in vars(record).items() if name not in _STANDARD}


class TextFormatter(logging.Formatter):
    """Lines like ``2026-01-01T00:00:00.000Z INFO leading lease=berth-system/berth-x``."""

    def format(self, record: logging.LogRecord) -> str:
        text = f"{_instant(record)} {level_of(record)} {record.getMessage()}"
        for name, value in values_of(record).items():
            word = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            if not word or any(character in word for character in ' "=\n'):
                word = json.dumps(word, ensure_ascii=False)
            text += f" {name}={word}"
        return masked(f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text)


class JsonFormatter(logging.Formatter):
    """One JSON object per line, with kube-scheduler's names for timestamp, message and stack."""

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
        return masked(json.dumps(line, default=str))


def _instant(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
