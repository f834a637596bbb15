"""The time, as the API writes it."""

from datetime import UTC, datetime


def now() -> str:
    """This moment, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def now_micro() -> str:
    """This moment, to the microsecond."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_since(moment: str) -> float:
    """How long ago ``moment`` was."""
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
