"""Lines of the log, as text and as JSON."""

import json
import logging

from scheduler_runtime.component.log_format import JsonFormatter, TextFormatter


def record(**extra: object) -> logging.LogRecord:
    line = logging.LogRecord("berth", logging.INFO, "x.py", 1, "pod %s", ("a",), None)
    line.created = 1767225600.5
    vars(line).update(extra)
    return line


def test_text_lines_have_the_values_after_the_message() -> None:
    line = TextFormatter().format(record(node="n", because="no room", nothing="", of=["a/b", "c/d"]))
    assert line == '2026-01-01T00:00:00.500Z INFO pod a node=n because="no room" nothing="" of="a/b, c/d"'


def test_json_lines_have_the_values_as_fields() -> None:
    assert json.loads(JsonFormatter().format(record(node="n"))) == {
        "ts": "2026-01-01T00:00:00.500Z",
        "level": "info",
        "logger": "berth",
        "msg": "pod a",
        "node": "n",
    }
