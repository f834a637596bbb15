"""Load reports: the operator reads what a scheduler wrote."""

from __future__ import annotations

import pytest

from scheduler_runtime import config
from scheduler_runtime.config import CONDITION, Document, LoadReport

HEADER = {"apiVersion": config.API_VERSION, "kind": "KubeSchedulerConfiguration"}
LOADED = LoadReport("4f" * 32, "2026-01-01T00:00:00Z")
REFUSED = LoadReport(
    LOADED.hash, LOADED.loaded_at, "refused", "profiles[0].plugin: is not a field\nprofiles: second line", "5a" * 32
)
WAITS = LoadReport(LOADED.hash, LOADED.loaded_at, "waiting", "the API server does not tell", "5a" * 32)
MISSING = LoadReport(LOADED.hash, LOADED.loaded_at, "missing", "ConfigMap n/a is not there")


def document(**fields: object) -> Document:
    read = config.parse_document({**HEADER, **fields})
    assert isinstance(read, Document), read
    return read


@pytest.mark.parametrize("report", [LOADED, REFUSED, WAITS, MISSING], ids=["loaded", "refused", "waiting", "missing"])
def test_a_report_is_read_as_it_was_sent(report: LoadReport) -> None:
    others = [{"type": "Ready", "status": "True"}]
    assert config.read_load_report([*others, report.condition()]) == report


def test_a_condition_says_in_its_reason_what_became_of_the_newest_document() -> None:
    conditions = [entry.condition() for entry in (LOADED, REFUSED, WAITS, MISSING)]
    assert [entry["reason"] for entry in conditions] == ["Loaded", "Refused", "Waiting", "Missing"]
    assert [entry["status"] for entry in conditions] == ["True", "False", "False", "False"]
    assert conditions[-1]["message"].endswith("Z\nConfigMap n/a is not there")


def test_what_schedulers_of_other_builds_say_is_understood() -> None:
    def read(reason: str, newest: str) -> LoadReport | None:
        message = f"{LOADED.hash} since {LOADED.loaded_at}\n{newest}: why"
        return config.read_load_report([{"type": CONDITION, "status": "False", "reason": reason, "message": message}])

    assert read("Refused", "nothing") == LoadReport(LOADED.hash, LOADED.loaded_at, "missing", "why")
    refused = LoadReport(LOADED.hash, LOADED.loaded_at, "refused", "why", "5a" * 32)
    assert read("Refused", "5a" * 32) == read("NotKnownYet", "5a" * 32) == refused


@pytest.mark.parametrize("message", ["", "4f since now", None])
def test_what_is_not_understood_is_nothing(message: str | None) -> None:
    assert config.read_load_report([{"type": CONDITION, "message": message}]) is None
    assert config.read_load_report([]) is None


def test_an_error_has_a_bound() -> None:
    read = config.read_load_report([LoadReport(LOADED.hash, LOADED.loaded_at, "refused", "x" * 9000).condition()])
    assert read is not None
    assert (len(read.error), read.error[-1]) == (4096, "…")


def test_a_process_follows_profiles_and_backoffs_and_nothing_of_its_election_or_connection() -> None:
    plain = document()
    other_profiles = document(profiles=[{"schedulerName": "a"}], podMaxBackoffSeconds=30)
    assert config.startup_only_fields(other_profiles) == config.startup_only_fields(plain)
    assert config.startup_only_hash(other_profiles) == config.startup_only_hash(plain)
    for changed in ({"leaderElection": {"leaseDuration": "20s"}}, {"clientConnection": {"qps": 7}}):
        assert config.startup_only_hash(document(**changed)) != config.startup_only_hash(plain)


def test_a_field_with_its_default_is_as_good_as_none() -> None:
    assert config.startup_only_hash(document(leaderElection={"leaseDuration": "15s"})) == config.startup_only_hash(
        document()
    )
