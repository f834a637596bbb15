"""Fixtures and a mark for tests that need a real cluster.

``@pytest.mark.cluster`` says that a test needs a control plane. What is missing of it is built before
the first test runs, outside every test's time-out. A test that needs more says so:
``@pytest.mark.cluster(kubernetes="1.35", binaries=("kube-scheduler",))``. Where the binaries cannot be
had, for want of network or Go, these tests are skipped; any other trouble with them ends the run.

``@pytest.mark.nodes`` says that a test needs real nodes, made by kind. What the first cluster of the default
version would wait for is made before the first test runs too.

Loaded in every pytest run, so nothing is imported before a test needs a cluster.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from devcluster.model.cluster import Cluster
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
    """Build what the chosen tests need, once for all that need the same."""
    if session.config.option.collectonly:
        return
    needs: dict[tuple[str, tuple[str, ...]], list[pytest.Item]] = {}
    for item in session.items:
        for mark in item.iter_markers(MARK):
            needs.setdefault(_need(mark), []).append(item)
    for (kubernetes, names), items in needs.items():
        reason = _build(kubernetes, names)
        for item in items if reason else ():
            item.add_marker(pytest.mark.skip(reason=f"needs the binaries of a control plane: {reason}"))
    if on_nodes := [item for item in session.items if item.get_closest_marker(NODES)]:
        reason = _prepare_kind()
        for item in on_nodes if reason else ():
            item.add_marker(pytest.mark.skip(reason=f"needs real nodes: {reason}"))


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


def _need(mark: pytest.Mark) -> tuple[str, tuple[str, ...]]:
    from devcluster.model.spec import DEFAULT_KUBERNETES, Spec

    names = (*Spec(fake_nodes=1).binaries, *mark.kwargs.get("binaries", ()))
    return mark.kwargs.get("kubernetes", DEFAULT_KUBERNETES), names


def _build(kubernetes: str, names: tuple[str, ...]) -> str:
    """Have the binaries; the reason if they cannot be had."""
    from devcluster.build import binaries
    from devcluster.build.progress import shown_on
    from devcluster.system.errors import DevclusterError, MissingBinariesError

    try:
        binaries(*names, kubernetes=kubernetes, progress=shown_on(sys.stderr))
    except MissingBinariesError as error:
        return str(error)
    except DevclusterError as error:
        raise pytest.UsageError(str(error)) from error
    return ""


def _prepare_kind() -> str:
    """Have what a kind cluster needs; the reason if there cannot be one."""
    from devcluster import kind
    from devcluster.build.progress import shown_on
    from devcluster.system.errors import DevclusterError, MissingBinariesError

    if reason := kind.missing():
        return reason
    try:
        kind.prepare(progress=shown_on(sys.stderr))
    except MissingBinariesError as error:
        return str(error)
    except DevclusterError as error:
        raise pytest.UsageError(str(error)) from error
    return ""
