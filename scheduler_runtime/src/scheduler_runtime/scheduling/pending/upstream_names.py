"""Why a pod comes to wait where it does, when it is not because of an event: in upstream's words, for the metrics."""

from __future__ import annotations

ATTEMPT_FAILED = "ScheduleAttemptFailure"
BACKED_OFF = "BackoffComplete"
TAKEN_EARLY = "PopFromBackoffQ"
ACTIVATED = "ForceActivate"
WAITED_TOO_LONG = "UnschedulableTimeout"
SEEN = "UnschedulablePodAdd"
UNCHANGED = ""
"""It only changes its place in the same queue."""
