"""From a schedulerName, which may be any text, to the name of a SchedulerProfile, which is a DNS label."""

from __future__ import annotations

import re
from collections.abc import Collection

from scheduler_operator.migrate.draft import ProfileDraft
from scheduler_operator.migrate.outcome import Notes
from scheduler_operator.models.fields import DNS_LABEL
from scheduler_operator.resources.names import NAME_LENGTH, RESERVED
from scheduler_runtime.config import DEFAULT_SCHEDULER_NAME as DEFAULT

_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def named(draft: ProfileDraft, wished: str, taken: Collection[str], notes: Notes) -> str:
    """The name of the profile, with a remark whenever pods would have to change theirs."""
    if not draft.name and wished:
        message = f"names no scheduler, which makes it {DEFAULT}; it is called {wished} as was wished, so that only "
        notes.remark(draft.path, f"{message}pods with spec.schedulerName: {wished} are its own")
    name = draft.name or wished or DEFAULT
    fitting = _fitting(name, taken)
    if fitting != name:
        why = "is the name of another one already" if fits(name) else "cannot be the name of a SchedulerProfile"
        message = f"{name!r} {why}; it is called {fitting}: write "
        notes.remark(draft.name_path, f"{message}spec.schedulerName: {fitting} in the pods that are to be its own")
    if name == DEFAULT:
        message = f"serves every pod that names no scheduler, as {DEFAULT} does: replacesDefaultScheduler is true; "
        message += "stop the cluster's own scheduler first, or import under another name"
        notes.remark(draft.name_path if draft.name else draft.path, message)
    return fitting


def fits(name: str) -> bool:
    """Whether a profile can have this name."""
    return len(name) <= NAME_LENGTH and re.fullmatch(DNS_LABEL, name) is not None and name not in RESERVED


def label(text: str) -> str:
    """``text`` as lower-case words with hyphens."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", text)
    return _NOT_IN_NAMES.sub("-", apart.lower()).strip("-")


def _fitting(name: str, taken: Collection[str]) -> str:
    if fits(name) and name not in taken:
        return name
    stem = (_NOT_IN_NAMES.sub("-", name.lower()).strip("-") or "scheduler")[: NAME_LENGTH - 10].strip("-")
    stems = [stem] if fits(stem) else [f"{stem}-scheduler"]
    candidates = [*stems, *(f"{stems[0]}-{number}" for number in range(2, len(taken) + 4))]
    return next(candidate for candidate in candidates if fits(candidate) and candidate not in taken)
