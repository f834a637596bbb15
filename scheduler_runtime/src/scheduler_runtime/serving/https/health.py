"""/livez, /readyz and /healthz, as every component of Kubernetes answers them.

``?verbose`` names every check, ``?exclude=NAME`` leaves one out, and ``/readyz/NAME`` asks for one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

Check = Callable[[], str | None]
"""Says what is wrong, None when nothing is. Asked from any thread."""

Checks = Mapping[str, Check]
"""By the names that ``?verbose`` shows."""


Observe = Callable[[str, str, bool], None]
"""Is told of each check: its name, the path it was asked for, and whether it passed."""


def health(
    name: str, checks: Checks, excluded: Collection[str], observe: Observe, *, verbose: bool
) -> tuple[bool, str]:
    """Whether all of ``checks`` pass, and the text that says so."""
    lines: list[str] = []
    passed = True
    for check, problem_of in (checks or {"ping": lambda: None}).items():
        if check in excluded:
            lines.append(f"[+]{check} excluded: ok\n")
            continue
        problem = problem_of()
        observe(check, name, problem is None)
        passed = passed and problem is None
        lines.append(f"[-]{check} failed: {problem}\n" if problem else f"[+]{check} ok\n")
    if unknown := sorted(set(excluded) - set(checks)):
        names = ", ".join(f'"{each}"' for each in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
    if not passed:
        return False, f"{''.join(lines)}{name} check failed\n"
    return True, f"{''.join(lines)}{name} check passed\n" if verbose else "ok"
