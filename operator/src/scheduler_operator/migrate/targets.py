"""The kube-schedulers whose behaviour is known."""

from __future__ import annotations

from scheduler_runtime.catalog import SUPPORTED_MINORS, Target

TARGETS = tuple(map(Target.parse, SUPPORTED_MINORS))
"""Every minor version that is known."""
