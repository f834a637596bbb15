"""Pods that must, or would rather, be near other pods or away from them."""

from .plugin import InterPodAffinity

__all__ = ["InterPodAffinity"]
