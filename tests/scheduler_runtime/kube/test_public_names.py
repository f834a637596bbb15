"""Names that can be imported from the package itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scheduler_runtime import kube


@pytest.mark.parametrize("name", kube.__all__)
def test_a_public_name_is_a_class_of_this_room(name: str) -> None:
    value = getattr(kube, name)
    assert value.__name__ == name
    assert value.__module__.startswith("scheduler_runtime.kube.")


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = kube.Nothing


def test_the_http_stack_is_not_loaded_before_it_is_used() -> None:
    stack = "{'asyncio', 'httptools', 'msgspec', 'ssl', 'yaml'}"
    script = f"import sys, scheduler_runtime.kube; print({stack} & {{*sys.modules}})"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "set()\n"
