"""What holds for every test."""

import signal
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # type: ignore[import-untyped]

import devcluster
from tests.support.sharing import Sharing, rank

pytest.register_assert_rewrite("tests.support.stories", "tests.support.world")

# A run in the background of a shell ignores this signal, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How slow a busy machine is says nothing of a test; pytest's own limit is what ends one that hangs.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Sharing | None:
    return Sharing(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: rank(item.nodeid))


@pytest.fixture(autouse=True)
def _only_marked_tests_build(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine where nothing is built yet, a test that needs a binary would build for minutes, and be ended."""
    if not any(request.node.get_closest_marker(name) for name in ("cluster", "nodes")):
        monkeypatch.setattr(devcluster, "binaries", _refuse)


def _refuse(*names: str, **_: object) -> NoReturn:
    pytest.fail(f"needs {', '.join(names)}, and is not marked with 'cluster'")
