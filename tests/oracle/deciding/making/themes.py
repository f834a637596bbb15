"""Themes of generated clusters: the likelihood of each feature, in per cent."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Theme:
    """One theme; what it does not name is rare."""

    name: str
    tainted: int = 6
    unschedulable: int = 2
    unlabelled: int = 4
    images: int = 15
    features: int = 10
    """Features that nodes declare."""
    demanding_features: int = 2
    """Pods that need such a feature."""
    crowded: int = 5
    devices: int = 10
    tolerant: int = 20
    comparing: int = 0
    """Tolerations with an operator that compares."""
    named: int = 1
    selective: int = 10
    """Node selectors and node affinity."""
    ports: int = 6
    demanding: int = 30
    """Requests of a size that matters."""
    unusual: int = 10
    """Init containers, sidecars, overhead, pod-level resources, resizes."""
    spread: int = 6
    strict: int = 0
    """Spread constraints that allow one pod a zone, so that only preemption makes room for another."""
    owned: int = 10
    """Services and owners, by which pods spread by default."""
    social: int = 6
    """Affinity and anti-affinity to pods."""
    unequal: int = 15
    """Priorities."""
    guarded: int = 10
    """Disruption budgets."""
    terminating: int = 4
    nominated: int = 3
    full: bool = False
    """Whether so much runs that hardly anything fits."""


THEMES = (
    Theme(
        "anything",
        tainted=20,
        images=30,
        features=20,
        tolerant=30,
        selective=30,
        ports=15,
        spread=25,
        owned=20,
        social=25,
    ),
    Theme("taints", tainted=70, unschedulable=20, tolerant=70),
    Theme("labels", selective=85, named=6, unlabelled=10),
    Theme("resources", demanding=90, devices=60, crowded=40, unusual=50),
    Theme("ports", ports=70),
    Theme("images", images=90),
    Theme("features", features=80, demanding_features=50),
    Theme("spread", spread=85, unlabelled=15, tainted=25, selective=25),
    Theme("owners", owned=90, spread=15),
    Theme("social", social=85, unlabelled=12),
    Theme("preemption", full=True, unequal=95, guarded=60, demanding=90, terminating=10, nominated=15, tainted=2),
    Theme("guarded", full=True, unequal=90, guarded=100, demanding=95, tainted=1, unschedulable=0, unusual=2),
    Theme("social preemption", full=True, unequal=95, guarded=30, social=60, spread=30, ports=40, demanding=70),
    Theme("spread preemption", full=True, unequal=95, spread=90, strict=80, demanding=5, tainted=2, unschedulable=0),
    Theme("separate preemption", full=True, unequal=95, social=85, demanding=5, tainted=2, unschedulable=0),
    Theme("nominations", full=True, unequal=90, nominated=60, demanding=80, terminating=15, social=20, tainted=2),
)
