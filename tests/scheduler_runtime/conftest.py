"""Tests of the runtime may be coroutines."""

from __future__ import annotations

from tests.support.coroutines import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]
