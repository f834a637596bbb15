"""The order of changes and kills in a soak."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from bench.soak.documents import Documents, document_hash
from bench.soak.metrics.attempts import MOST_VICTIMS
from bench.soak.plan import Plan
from bench.soak.pod_families import families
from scheduler_runtime import config
from scheduler_runtime.catalog import Target, Version
from scheduler_runtime.reload.plan import DocumentText

PLAN = Plan(nodes=100, minutes=8)


def test_leaders_and_standbys_are_ended_in_both_ways() -> None:
    ended = {(PLAN.kills_the_leader(number), PLAN.kills_outright(number)) for number in range(PLAN.rounds)}
    assert ended == {(True, True), (True, False), (False, True), (False, False)}


def test_even_a_short_soak_ends_the_leader_in_both_ways() -> None:
    assert [Plan(minutes=2).kills_the_leader(number) for number in range(2)] == [True, True]


def test_in_the_second_half_a_leader_grows_old() -> None:
    assert not any(PLAN.kills_the_leader(number) for number in range(4, 8))


@pytest.mark.parametrize("number", range(3))
def test_good_documents_are_followed_and_bad_ones_are_refused(number: int, tmp_path: Path) -> None:
    documents = Documents(tmp_path / "document.json", PLAN)
    assert followed(documents.usual)
    assert followed(documents.good(number))
    assert not followed(documents.bad(number))


def test_what_a_document_is_called_is_what_a_scheduler_calls_it(tmp_path: Path) -> None:
    usual = Documents(tmp_path / "document.json", PLAN).usual
    assert document_hash(usual) == DocumentText(usual).hash


def test_a_document_is_in_its_file_as_a_whole(tmp_path: Path) -> None:
    documents = Documents(tmp_path / "document.json", PLAN)
    documents.write(documents.usual)
    assert [file.read_text() for file in tmp_path.iterdir()] == [documents.usual]


def followed(text: str) -> bool:
    """True if a scheduler would follow the document."""
    document = config.load(text)
    if not isinstance(document, config.Document):
        return False
    return not isinstance(config.expand_profiles(document, Target(Version.parse("1.36"), {})), config.Problems)


def test_pods_have_names_of_their_own_and_know_their_family() -> None:
    for family in families(PLAN):
        first, second = family.pod(1), family.pod(2)
        assert first["metadata"]["name"] != second["metadata"]["name"]
        assert yaml.safe_load(json.dumps(first)) == family.pod(1)


def test_what_preempts_needs_the_room_of_as_many_as_are_preempted_at_most() -> None:
    by_name = {family.name: family for family in families(PLAN)}
    assert int(by_name["high"].cpu) == MOST_VICTIMS * int(by_name["low"].cpu)
