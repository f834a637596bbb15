"""What a soak showed, for people: a line for each round, a table at the end, and what was violated."""

from __future__ import annotations

from collections.abc import Iterator

from bench.soak.leak_check import Life
from bench.soak.rounds import Round, Soak

OPENED = ("files", "sockets", "threads", "tasks", "series")


def line(done: Round, plan_rounds: int) -> str:
    """One round."""
    memory = ", ".join(f"{name} {megabytes:.0f} MB" for name, megabytes in done.memory.items())
    missed = f", missed for {done.missed_seconds:.1f} s" if done.missed_seconds is not None else ""
    left = f"{done.left['bound']} on nodes, {done.left['waiting']} wait, {done.left['gated']} gated"
    return (
        f"{done.number + 1}/{plan_rounds} ({done.seconds:.0f} s): {done.bound} bound, "
        f"after {done.waits[0]:.2f} s (99 %: {done.waits[1]:.1f} s); {left}; "
        f"{done.ended}{missed}; {done.leader} leads; {memory}"
        + "".join(f"\n    WRONG: {fault}" for fault in done.wrong)
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
    yield from _counts(soak)


def _row(life: Life) -> str:
    first, last = (life.memory[0], life.memory[-1]) if life.memory else ((life.began, 0.0), (life.began, 0.0))
    rising = "" if life.megabytes_per_hour is None else f"{life.megabytes_per_hour:+.1f}"
    opened = " ".join(f"{_change(life, what):>7}" for what in OPENED)
    lived = f"{last[0] - life.began:.0f} s"
    return f"{life.name:16} {lived:>8} {first[1]:9.0f} {last[1]:6.0f} {life.peak:6.0f} {rising:>8} {opened}"


def _change(life: Life, what: str) -> str:
    """What there was in the first calm and in the last one."""
    counts = [getattr(rest, what) for rest in life.rests]
    return f"{counts[0]}→{counts[-1]}" if counts else ""


def _counts(soak: Soak) -> Iterator[str]:
    done = ", ".join(f"{many} {what}" for what, many in sorted(soak.done.items()))
    yield f"done: {done}"
    bound = ", ".join(f"{many} by {who}" for who, many in sorted(soak.audit.bound.items()))
    refused = ", ".join(f"{many} times {status}" for status, many in sorted(soak.audit.refused.items())) or "none"
    yield f"bound: {bound}; bindings refused: {refused}"
    for scheduler in soak.pair.both:
        for text, many in scheduler.warnings.most_common(8):
            yield f"warned {many} times by {scheduler.name}: {text}"


def verdict(soak: Soak) -> list[str]:
    """Everything that was wrong, of the whole soak."""
    found = [f"round {each.number + 1}: {fault}" for each in soak.rounds for fault in each.wrong]
    lives = (life for scheduler in soak.pair.both for life in scheduler.lives)
    return found + soak.found() + [fault for life in lives for fault in life.faults()]
