"""The kube-schedulers whose behaviour is known."""

from __future__ import annotations

from scheduler_runtime.catalog import KNOWN, Target

TARGETS = tuple(map(Target.parse, KNOWN))
"""Every minor version that is known."""
