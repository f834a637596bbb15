"""The names of private Docker daemons, and what is left of one that was killed."""

import os
from pathlib import Path

import pytest

from devcluster.kind.private_daemon import NameInUseError, claimed, clear_away, homes, runtime_directory, sweep

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a private Docker daemon needs root")

NAME = "test.private"


def test_a_name_that_is_in_use_is_refused_and_nothing_of_it_is_touched(home: Path) -> None:
    data = homes() / NAME / "data"
    data.mkdir(parents=True)
    with claimed(NAME):
        with pytest.raises(NameInUseError, match=f"a kind cluster called {NAME} is there already"):
            clear_away(NAME, homes() / NAME)
        sweep()
        assert data.exists()
    clear_away(NAME, homes() / NAME)
    assert not data.exists()
    assert not runtime_directory(NAME).exists()


def test_the_remains_of_a_killed_daemon_are_swept_away(home: Path) -> None:
    (homes() / NAME / "data").mkdir(parents=True)
    runtime_directory(NAME).mkdir()
    sweep()
    assert not list(homes().iterdir())
    assert not runtime_directory(NAME).exists()
