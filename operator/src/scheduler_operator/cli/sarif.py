"""Diagnostics in the format SARIF 2.1.0, which code hosts show beside the lines."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from scheduler_operator.cli.diagnostics import REFUSED, Diagnostic
from scheduler_operator.render.findings import CODES
from scheduler_runtime.config import Severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_REFUSED_RULE = {
    "id": REFUSED,
    "shortDescription": {"text": "The document cannot be used as it is."},
    "help": {"text": "Mend it as the message says; nothing else of the document is looked at before."},
    "defaultConfiguration": {"level": str(Severity.ERROR)},
}


def sarif(diagnostics: Iterable[Diagnostic], version: str) -> dict[str, Any]:
    """Return one run of the linter of this ``version``."""
    rules = [
        *(
            {
                "id": code.name,
                "shortDescription": {"text": code.sentence},
                "help": {"text": code.help},
                "defaultConfiguration": {"level": str(code.severity)},
            }
            for code in CODES.values()
        ),
        _REFUSED_RULE,
    ]
    indices = {str(rule["id"]): index for index, rule in enumerate(rules)}
    driver = {"name": "berth lint", "semanticVersion": version, "rules": rules}
    results = []
    for diagnostic in diagnostics:
        message = f"{diagnostic.path}: {diagnostic.message}" if diagnostic.path else diagnostic.message
        path = PurePath(diagnostic.file.strip("<>"))
        # A relative path stays relative to the working directory: code hosts expect the repository's root there.
        uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
        location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
        if diagnostic.line:
            location["region"] = {"startLine": diagnostic.line}
        results.append(
            {
                "ruleId": diagnostic.code,
                "ruleIndex": indices[diagnostic.code],
                "level": str(diagnostic.severity),
                "message": {"text": ". ".join(filter(None, (message, diagnostic.suggestion)))},
                "locations": [{"physicalLocation": location}],
            }
        )
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }
