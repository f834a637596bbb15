"""The report of a soak: a line for each round, a table at the end, and all faults."""

from __future__ import annotations

from collections.abc import Iterator

from bench.soak.leak_check import Life
from bench.soak.rounds import Round, Soak

OPENED = ("files", "sockets", "threads", "tasks", "series")


def line(round_: Round, plan_rounds: int) -> str:
    """One round."""
    memory = ", ".join(f"{name} {megabytes:.0f} MB" for name, megabytes in round_.memory.items())
    missed = f", missed for {round_.missed_seconds:.1f} s" if round_.missed_seconds is not None else ""
    pods = f"{round_.pods['bound']} on nodes, {round_.pods['waiting']} wait, {round_.pods['gated']} gated"
    return (
        f"{round_.number + 1}/{plan_rounds} ({round_.seconds:.0f} s): {round_.bound} bound, "
        f"after {round_.waits[0]:.2f} s (99 %: {round_.waits[1]:.1f} s); {pods}; "
        f"{round_.ended}{missed}; {round_.leader} leads; {memory}"
        + "".join(f"\n    WRONG: {fault}" for fault in round_.wrong)
    )


def table(soak: Soak) -> Iterator[str]:
    """Everything at the end."""
    rounds = soak.rounds
    yield f"{len(rounds)} of {soak.plan.rounds} rounds on {soak.plan.nodes} nodes, seed {soak.plan.seed}"
    yield ""
    opened = " ".join(f"{what:>7}" for what in OPENED)
    yield f"{'process':16} {'lived':>8} {'MB first':>9} {'last':>6} {'peak':>6} {'MB/hour':>8} {opened}"
    for scheduler in soak.pair.both:
        for life in scheduler.lives:
            yield _row(life)
    yield ""
    yield f"done: {', '.join(f'{count} {what}' for what, count in sorted(soak.done.items()))}"
    bound = ", ".join(f"{count} by {sender}" for sender, count in sorted(soak.audit.bound.items()))
    refused = ", ".join(f"{count} times {status}" for status, count in sorted(soak.audit.refused.items())) or "none"
    yield f"bound: {bound}; bindings refused: {refused}"
    for scheduler in soak.pair.both:
        for text, count in scheduler.warnings.most_common(8):
            yield f"warned {count} times by {scheduler.name}: {text}"


def _row(life: Life) -> str:
    first, last = (life.memory[0], life.memory[-1]) if life.memory else ((life.began, 0.0), (life.began, 0.0))
    rising = "" if life.megabytes_per_hour is None else f"{life.megabytes_per_hour:+.1f}"
    first_and_last = [life.rests[0], life.rests[-1]] if life.rests else []
    changes = ["→".join(str(getattr(rest, what)) for rest in first_and_last) for what in OPENED]
    opened = " ".join(f"{change:>7}" for change in changes)
    lived = f"{last[0] - life.began:.0f} s"
    return f"{life.name:16} {lived:>8} {first[1]:9.0f} {last[1]:6.0f} {life.peak:6.0f} {rising:>8} {opened}"


def verdict(soak: Soak) -> list[str]:
    """Everything that was wrong, of the whole soak."""
    faults = [f"round {round_.number + 1}: {fault}" for round_ in soak.rounds for fault in round_.wrong]
    lives = (life for scheduler in soak.pair.both for life in scheduler.lives)
    return faults + soak.take_faults() + [fault for life in lives for fault in life.faults()]
