"""What holds for every test: builds happen before the first test, so that no test's time limit contains one."""

from contextlib import suppress

import pytest

pytest.register_assert_rewrite("tests.support.stories", "tests.support.world")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build what the chosen tests need. Where that is impossible, each of them skips with the reason."""
    if session.config.option.collectonly:
        return
    if any(item.get_closest_marker("cluster") for item in session.items):
        build_binaries(session.config)


def build_binaries(config: pytest.Config) -> None:
    import sys

    from devcluster import MissingBinariesError, Spec, binaries
    from devcluster.build.progress import shown_on

    capture = config.pluginmanager.getplugin("capturemanager")
    with suppress(MissingBinariesError), capture.global_and_fixture_disabled():
        binaries(*Spec(fake_nodes=1).binaries, progress=shown_on(sys.stderr))
