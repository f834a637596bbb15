"""Pods that must, or would rather, be near other pods or away from them."""

from scheduler_runtime.plugins.interpodaffinity.plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
