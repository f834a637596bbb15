"""Every KubeSchedulerConfiguration that the documentation shows is accepted, here and by the real kube-scheduler."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Target
from tests.oracle.config.test_agreement import agree, judged
from tests.support.kube_scheduler import KubeScheduler

PAGE_OF_MISTAKES = "findings.md"
"""Its examples have a test of their own."""
OF_ONES_OWN = "PriceCap"
"""A plugin in Python, which no kube-scheduler has: its documents have a test of their own too."""


def examples() -> Iterator[tuple[str, str]]:
    """Each with the file that it is in."""
    for path in (Path("README.md"), *Path("docs").rglob("*.md")):
        if path.name != PAGE_OF_MISTAKES:
            for block in re.findall(r"^```yaml\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE):
                yield str(path), block
    for path in Path("examples").rglob("*.yaml"):
        yield str(path), path.read_text()


DOCUMENTS = [
    (name, text) for name, text in examples() if "kind: KubeSchedulerConfiguration" in text and OF_ONES_OWN not in text
]


def test_the_documentation_shows_some() -> None:
    assert DOCUMENTS


@pytest.mark.cluster(kubernetes=catalog.NEWEST_MINOR, binaries=("kube-scheduler",))
@pytest.mark.parametrize(("name", "text"), DOCUMENTS, ids=[name for name, _ in DOCUMENTS])
def test_an_example_is_accepted(name: str, text: str) -> None:
    ours, theirs = judged(text, Target.parse(catalog.NEWEST_MINOR)), KubeScheduler.of(catalog.NEWEST_MINOR).ask(text)
    assert not ours.refusal
    agree(text, ours, theirs)
