"""The linter: every way in which a valid document silently does not do what it says.

    document ──► a profile as written ──► what it means ──► findings, in the document's order

One function for each code, in a module for each theme, all of them listed in ``registry``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config.available_plugins import Engine
from scheduler_runtime.config.expansion import EffectiveProfile
from scheduler_runtime.config.findings import Finding
from scheduler_runtime.config.linter.checks import Code
from scheduler_runtime.config.linter.inputs import DocumentInput, ProfileInput
from scheduler_runtime.config.linter.ordering import in_order
from scheduler_runtime.config.linter.registry import CODES, OF_DOCUMENT, OF_MEANING, OF_PROFILE
from scheduler_runtime.config.models import Document

__all__ = ["CODES", "Code", "Engine", "lint", "split_allowed"]


def lint(
    document: Document,
    target: Target,
    others: Mapping[str, Declaration] = MappingProxyType({}),
    engine: Engine = "KubeScheduler",
    expanded: Sequence[EffectiveProfile] = (),
) -> tuple[Finding, ...]:
    """What is to be said of ``document``, from its first field to its last, the worst first within a place.

    Of a profile that :func:`~scheduler_runtime.config.effective` refuses only what is written can be judged.
    ``others`` are the plugins that do not come with the ``engine``, by name; ``expanded`` is what the profiles of the
    document mean, each in turn, where that is known already.
    """
    whole = DocumentInput(document, target, others, engine, expanded)
    found = [finding for check in OF_DOCUMENT for finding in check.findings(whole)]
    for index, written in enumerate(whole.profiles):
        found.extend(_of_profile(written, f"profiles[{index}]"))
    return in_order(found, document)


def _of_profile(written: ProfileInput, path: str) -> Iterator[Finding]:
    for check in OF_PROFILE:
        yield from check.findings(written, path)
    if written.meaning is not None:
        for deeper in OF_MEANING:
            yield from deeper.findings(written.meaning, path)


def split_allowed(
    findings: Iterable[Finding], allow: Collection[str]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The ``findings`` that count, and those whose codes the author allowed."""
    found = tuple(findings)
    kept = tuple(finding for finding in found if finding.code not in allow)
    return kept, tuple(finding for finding in found if finding.code in allow)
