"""Fixtures for tests that need a real cluster.

Loaded in every pytest run, so nothing is imported before a test asks for a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from devcluster.cluster import Cluster
    from devcluster.spec import Spec

ClusterFactory = Callable[["Spec"], "Cluster"]


@pytest.fixture(scope="session")
def cluster_factory(pytestconfig: pytest.Config) -> Iterator[ClusterFactory]:
    """``make(spec)``: a cluster that lives until the session ends.

    Binaries that are missing are built, with progress on the terminal. Where that is impossible for
    want of network or Go, the test is skipped; any other reason is a failure.
    """
    from devcluster.errors import MissingBinariesError
    from devcluster.lifecycle import running

    with ExitStack() as clusters:

        def make(spec: Spec) -> Cluster:
            try:
                return clusters.enter_context(running(spec, progress=_progress(pytestconfig)))
            except MissingBinariesError as error:
                pytest.skip(f"needs the binaries of a control plane: {error}")

        yield make


@pytest.fixture(scope="session")
def cluster(cluster_factory: ClusterFactory) -> Cluster:
    """A control plane without nodes, shared by the tests of a session."""
    from devcluster.spec import Spec

    return cluster_factory(Spec(node="none"))


def _progress(config: pytest.Config) -> Callable[[str, float | None], None]:
    """Progress of a build on the terminal, past pytest's capture; of a start, nothing."""
    import sys

    from devcluster.build.progress import shown_on

    capture = config.pluginmanager.getplugin("capturemanager")
    show = shown_on(sys.__stderr__ or sys.stderr)

    def progress(what: str, seconds_left: float | None) -> None:
        if seconds_left is None:
            return
        with capture.global_and_fixture_disabled():
            show(what, seconds_left)

    return progress
