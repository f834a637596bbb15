"""Files dealt out to several workers that share the tests with clusters.

Files of one group use the same cluster, so a worker that has started the cluster of a group stays with this group. When
nothing of the group is left, it takes the group with most work that nobody has begun, and in the end helps with the
group that has most work left. The seconds per file in ``seconds.json`` are a rank only: wrong ones cost time, not
correctness. ``make test-seconds`` (this module as a program) takes them from the last run.
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]
from xdist.workermanage import WorkerController  # type: ignore[import-untyped]

GROUPS = {
    "kind": ("tests/devcluster/kind/", "tests/e2e/"),
    "scheduler": ("tests/integration/scheduler/",),
    "operator": ("tests/integration/operator/",),
    "upstream": ("tests/integration/upstream/",),
    "node": ("tests/devcluster/node/",),
}
"""Folders whose files share a cluster. Any other file is a group of its own."""
INDIVISIBLE = frozenset({"kind", "node"})
"""Groups of which one worker runs everything, because their tests count what clusters leave on the machine."""
ROOT = Path(__file__).parents[2]
SECONDS_FILE = Path(__file__).with_name("seconds.json")
UNKNOWN_SECONDS = 5.0
"""What a file that was never measured is taken to last."""


def group_of(nodeid: str) -> str:
    """Return the group of a test: that of its folder, or else the name of its file."""
    file = file_of(nodeid)
    return next((group for group, folders in GROUPS.items() if file.startswith(folders)), file)


def file_of(nodeid: str) -> str:
    """Return the file of a test."""
    return nodeid.partition("::")[0]


def measured_seconds() -> Mapping[str, float]:
    """Read how long each file lasted when that was measured."""
    seconds: dict[str, float] = json.loads(SECONDS_FILE.read_text())
    return seconds


def add_measured(seconds: Mapping[str, float], report: str) -> dict[str, float]:
    """Return ``seconds`` with the files of a JUnit ``report`` as they lasted there, and without files that are gone.

    A file of which every test was skipped keeps what it had.
    """
    lasted: dict[str, float] = defaultdict(float)
    for case in ET.fromstring(report).iter("testcase"):  # noqa: S314  pytest wrote it
        if case.find("skipped") is None:
            lasted[case.attrib["classname"].replace(".", "/") + ".py"] += float(case.attrib["time"])
    merged = {**seconds, **{file: round(total, 1) for file, total in lasted.items()}}
    return {file: merged[file] for file in sorted(merged) if (ROOT / file).exists()}


def next_file(
    files: Iterable[str], seconds: Mapping[str, float], current: str | None, others: Collection[str]
) -> str | None:
    """Choose the next of ``files`` for a worker that is in the group ``current``, while the ``others`` are begun.

    None when all that is left belongs to indivisible groups that others have begun.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for file in files:
        groups[group_of(file)].append(file)

    def rank(group: str) -> tuple[bool, bool, float]:
        remaining = sum(seconds.get(file, UNKNOWN_SECONDS) for file in groups[group])
        return group == current, group not in others, remaining

    open_groups = [group for group in groups if group not in INDIVISIBLE or group == current or group not in others]
    if not open_groups:
        return None
    return max(groups[max(open_groups, key=rank)], key=lambda file: seconds.get(file, UNKNOWN_SECONDS))


class Sharing(LoadFileScheduling):  # type: ignore[misc]
    """Deals out files to workers as ``next_file`` says."""

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        self._seconds = measured_seconds()
        self._group: dict[WorkerController, str] = {}

    def _assign_work_unit(self, node: WorkerController) -> None:
        others = {group for other, group in self._group.items() if other is not node}
        file = next_file(self.workqueue, self._seconds, self._group.get(node), others)
        if file is None:
            node.shutdown()
            return
        self._group[node] = group_of(file)
        self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)

    def remove_node(self, node: WorkerController) -> str | None:
        self._group.pop(node, None)
        crashed: str | None = super().remove_node(node)
        return crashed


if __name__ == "__main__":
    measured = dict(measured_seconds())
    for report in sys.argv[1:]:
        measured = add_measured(measured, Path(report).read_text())
    SECONDS_FILE.write_text(json.dumps(measured, indent=1) + "\n")
