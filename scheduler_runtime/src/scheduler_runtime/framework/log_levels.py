"""The level of the one line that each decision about a pod is worth; shown as INFO, from a verbosity of 2 on."""

from __future__ import annotations

DECISION = 15
