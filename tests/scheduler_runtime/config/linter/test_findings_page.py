"""The page about findings agrees with the linter, for every code."""

from __future__ import annotations

import pytest

from scheduler_runtime import config
from tests.support.findings_page import HEADER, PAGE, Entry, entries, needs_own_plugins, up_to_date
from tests.support.kube_scheduler import KubeScheduler

ENTRIES = entries(PAGE.read_text())
ids = [entry.code for entry in ENTRIES]


def test_every_code_has_exactly_one_entry() -> None:
    assert sorted(ids) == sorted(config.CODES)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == up_to_date(PAGE.read_text()), "run python -m tests.support.findings_page"


def test_the_list_at_the_top_names_every_code_in_order() -> None:
    top = PAGE.read_text().split("## All findings")[1].split("\n## ")[0]
    assert [word for word in ids if f"[{word}](#{word.lower()})" in top] == ids


@pytest.mark.parametrize("entry", ENTRIES, ids=ids)
def test_an_example_gives_its_finding_and_no_other(entry: Entry) -> None:
    assert {finding.code for finding in entry.findings(entry.example)} == {entry.code}


@pytest.mark.parametrize("entry", ENTRIES, ids=ids)
def test_a_mended_example_gives_at_most_notes(entry: Entry) -> None:
    remaining = entry.findings(entry.mended)
    assert entry.code not in {finding.code for finding in remaining}
    assert {finding.severity for finding in remaining} <= {config.Severity.NOTE}


@pytest.mark.cluster
def test_kube_scheduler_accepts_every_example_that_is_not_marked_as_refused() -> None:
    real = KubeScheduler.of("1.36")
    for entry in ENTRIES:
        refused = config.CODES[entry.code].refused
        for text, is_refused in ((entry.example, refused), (entry.mended, False)):
            if not needs_own_plugins(text):
                answer = real.ask(HEADER + text, entry.target.feature_gates)
                assert (answer.document is None) is is_refused, f"{entry.code}: {answer.refusal}\n{text}"
