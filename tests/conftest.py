"""Settings and hooks of all tests."""

import gc
import logging
import signal
from collections.abc import Iterator
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # type: ignore[import-untyped]

import devcluster
from tests.support.sharing import Sharing

pytest.register_assert_rewrite("tests.support.stories", "tests.support.world")

# A run in the background of a shell ignores this signal, and so would every process that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How slow a busy machine is says nothing of a test; pytest's own limit is what ends one that hangs.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Sharing | None:
    return Sharing(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """What was collected stays until the end: garbage collections look at it neither meanwhile nor later."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _only_marked_tests_build(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine where nothing is built yet, a test that needs a binary would build for minutes, and be ended."""
    if any(request.node.get_closest_marker(name) for name in ("cluster", "nodes")):
        return
    monkeypatch.setattr(devcluster, "binaries", _refuse)
    if "home" not in request.fixturenames:  # what is built there is built by a fake Go
        monkeypatch.setattr("devcluster.build.binaries", _refuse)


@pytest.fixture(autouse=True)
def _logging_is_left_as_it_was() -> Iterator[None]:
    """A program that sets up logging in the process of the tests does so for its own test only."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    yield
    root.setLevel(level)
    for handler in root.handlers[:]:
        if handler not in handlers:
            root.removeHandler(handler)


def _refuse(*names: str, **_: object) -> NoReturn:
    pytest.fail(f"needs {', '.join(names)}, and is not marked with 'cluster'")
