"""Fixtures and a mark for tests that need a real cluster.

``@pytest.mark.cluster`` is for a test that needs a control plane. The missing binaries are built before
the first test runs, outside every test's time-out. A test can ask for more:
``@pytest.mark.cluster(kubernetes="1.35", binaries=("kube-scheduler",))``. Where the binaries cannot be
had, for want of network or Go, these tests are skipped; any other trouble with them ends the run.

``@pytest.mark.nodes`` is for a test that needs real nodes, made by kind. The images for the first cluster of the
default version are made before the first test runs too.

This module is loaded in every pytest run, so it imports nothing before a test needs a cluster.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from devcluster.model.running_cluster import Cluster
    from devcluster.model.spec import Spec

ClusterFactory = Callable[["Spec"], "Cluster"]

MARK = "cluster"
NODES = "nodes"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{MARK}(kubernetes, binaries): needs the binaries of a control plane, which are built once"
    )
    config.addinivalue_line("markers", f"{NODES}: needs real nodes, made by kind")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what the selected tests need, once for all that need the same. Tests that cannot have it are skipped."""
    if session.config.option.collectonly:
        return
    marks = [(item, mark) for item in session.items for mark in item.iter_markers(MARK)]
    on_nodes = [item for item in session.items if item.get_closest_marker(NODES)]
    if not marks and not on_nodes:
        return
    from devcluster.build import binaries
    from devcluster.build.progress import progress_on
    from devcluster.model.spec import DEFAULT_KUBERNETES, Spec

    progress = progress_on(sys.stderr)
    needs: dict[tuple[str, tuple[str, ...]], list[pytest.Item]] = {}
    for item, mark in marks:
        names = (*Spec(fake_nodes=1).binaries, *mark.kwargs.get("binaries", ()))
        needs.setdefault((mark.kwargs.get("kubernetes", DEFAULT_KUBERNETES), names), []).append(item)
    for (kubernetes, names), items in needs.items():
        reason = _reason_without(partial(binaries, *names, kubernetes=kubernetes, progress=progress))
        for item in items if reason else ():
            item.add_marker(pytest.mark.skip(reason=f"needs the binaries of a control plane: {reason}"))
    if on_nodes:
        from devcluster import kind

        reason = kind.missing() or _reason_without(partial(kind.prepare, progress=progress))
        for item in on_nodes if reason else ():
            item.add_marker(pytest.mark.skip(reason=f"needs real nodes: {reason}"))


def _reason_without(prepare: Callable[[], object]) -> str:
    """Call ``prepare``; return the reason if what it makes cannot be had. Any other trouble ends the run."""
    from devcluster.system.errors import DevclusterError, MissingBinariesError

    try:
        prepare()
    except MissingBinariesError as error:
        return str(error)
    except DevclusterError as error:
        raise pytest.UsageError(str(error)) from error
    return ""


@pytest.fixture(scope="session")
def cluster_factory() -> Iterator[ClusterFactory]:
    """``make(spec)``: a cluster that lives until the session ends."""
    from devcluster.lifecycle import running

    with ExitStack() as clusters:
        yield lambda spec: clusters.enter_context(running(spec))


@pytest.fixture(scope="session")
def cluster(cluster_factory: ClusterFactory) -> Cluster:
    """A control plane without nodes, shared by the tests of a session."""
    from devcluster.model.spec import Spec

    return cluster_factory(Spec(node="none"))
