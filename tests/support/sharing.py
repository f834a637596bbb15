"""Which worker runs what, where several share the work (``pytest --numprocesses=2 --dist=loadfile``)."""

from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

TOGETHER = {
    "kind": ("tests/devcluster/kind/", "tests/e2e/"),
    "scheduler": ("tests/integration/scheduler/",),
    "operator": ("tests/integration/operator/",),
    "upstream": ("tests/integration/upstream/",),
    "node": ("tests/devcluster/node/",),
}
"""Folders whose tests share a cluster, or count what clusters leave on a machine; those that take longest first."""
_RANK = {group: rank for rank, group in enumerate(TOGETHER)}


class Sharing(LoadFileScheduling):  # type: ignore[misc]
    """One worker runs all that shares a cluster; whatever shares none goes file by file to who has nothing to do."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """The group of a test; the name of its file if it shares no cluster."""
    file = nodeid.partition("::")[0]
    return next((group for group, folders in TOGETHER.items() if file.startswith(folders)), file)


def rank(nodeid: str) -> int:
    """What takes long begins early, so that no worker is left with it when the other has ended."""
    return _RANK.get(group_of(nodeid), len(_RANK))
