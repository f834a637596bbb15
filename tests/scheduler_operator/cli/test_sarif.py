"""``berth lint -o sarif``: what code hosts show beside the lines."""

import json
from pathlib import Path
from typing import Any

from scheduler_operator.cli.diagnostics import Diagnostic
from scheduler_operator.cli.sarif import sarif
from scheduler_runtime.config import CODES, Severity
from tests.scheduler_operator.cli.berth import FORGETFUL, berth


def run_of(log: dict[str, Any]) -> dict[str, Any]:
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    outcome: dict[str, Any] = run
    return outcome


def test_standard_input_is_an_address_too() -> None:
    location = result("<stdin>")["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "stdin"}


def result(file: str) -> dict[str, Any]:
    diagnostic = Diagnostic(file, 3, "profiles[0]", "WeightReset", Severity.NOTE, "is odd", "Write it.")
    outcome: dict[str, Any] = run_of(sarif([diagnostic], "1"))["results"][0]
    return outcome


def test_a_finding_is_a_result_with_its_rule_line_and_file(tmp_path: Path) -> None:
    file = tmp_path / "my scheduler.yaml"
    file.write_text(FORGETFUL)
    ran = berth("lint", "-o", "sarif", str(file))
    run = run_of(json.loads(ran.stdout))
    (outcome,) = run["results"]
    assert ran.status == 1
    assert (outcome["ruleId"], outcome["level"]) == ("WeightReset", "warning")
    assert run["tool"]["driver"]["rules"][outcome["ruleIndex"]]["id"] == "WeightReset"
    place = outcome["locations"][0]["physicalLocation"]
    assert place["region"] == {"startLine": 7}
    assert place["artifactLocation"]["uri"] == file.as_uri()


def test_a_relative_file_stays_relative_and_is_escaped() -> None:
    place = result("sub dir/ä.yaml")["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "sub%20dir/%C3%A4.yaml"


def test_the_text_of_a_result_says_what_to_write() -> None:
    assert result("a.yaml")["message"]["text"] == "profiles[0]: is odd. Write it."


def test_every_code_is_a_rule_with_words() -> None:
    rules = run_of(sarif([], "1"))["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} == {*CODES, "UnknownCode", "Refused"}
    assert all(rule["shortDescription"]["text"] and rule["help"]["text"] for rule in rules)
    assert {rule["defaultConfiguration"]["level"] for rule in rules} <= {"error", "warning", "note"}


def test_a_refused_file_is_a_result_too() -> None:
    ran = berth("lint", "-o", "sarif", "-", stdin="a: [")
    (outcome,) = run_of(json.loads(ran.stdout))["results"]
    assert (ran.status, outcome["ruleId"], outcome["level"]) == (2, "Refused", "error")
    assert "is not YAML" in outcome["message"]["text"]
