"""Linter findings of a profile: at its author's paths, in the words of ``spec.nodes``, without those that are allowed.

A plain document knows neither: there ``nodes`` is addedAffinity, and allowed codes are in a comment.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_operator.models.status import Reason
from scheduler_operator.render.assembly import BERTHS_DEFAULT
from scheduler_operator.render.drafts import Expressions
from scheduler_operator.render.origins import Origins
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime import config
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.catalog.args import NodeSelectorRequirement, NodeSelectorTerm
from scheduler_runtime.catalog.bounds import MAX_QUOTED, cut, describe_value
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest
from scheduler_runtime.config import Code, Document, EffectiveProfile, Engine, Finding, Problem, Severity
from scheduler_runtime.config.linter.nodes import can_match, describe_term

ANNOTATION = "berth.dev/allow-findings"
"""Lists, separated by commas, the codes of findings that the author of a profile accepts."""

_MAX_CODES = 200

UNKNOWN_CODE = Code(
    "UnknownCode",
    Severity.WARNING,
    "The annotation that allows findings names one that does not exist, so it allows nothing.",
    "Write the code as a finding has it, in its exact spelling.",
)
CODES: Mapping[str, Code] = {**config.CODES, UNKNOWN_CODE.name: UNKNOWN_CODE}
"""Every code that a finding of a profile can have."""

Lint = Callable[
    [Document, Target, Mapping[str, Declaration], Engine, Sequence[EffectiveProfile]],
    Iterable[Finding],
]
"""The linter's signature: ``scheduler_runtime.config.lint``."""

_REASONS: Mapping[str, Reason] = {
    "UnknownPluginForVersion": "PluginUnknown",
    "UnknownPluginConfigured": "PluginUnknown",
    "RemovedPlugin": "PluginUnknown",
}


def codes_in(annotation: str) -> tuple[str, ...]:
    """Return the codes that an annotation lists, in its order; of very many the first ones."""
    codes = (code.strip() for code in annotation.split(",", _MAX_CODES)[:_MAX_CODES])
    return tuple(dict.fromkeys(code for code in codes if code))


def unknown_codes(annotation: str) -> Iterator[Finding]:
    """Yield a finding for each code in ``annotation`` that does not exist."""
    for code in codes_in(annotation):
        if code not in CODES:
            near = nearest(code, CODES)
            yield Finding(
                UNKNOWN_CODE.name,
                UNKNOWN_CODE.severity,
                f"metadata.annotations[{ANNOTATION}]",
                f"there is no finding {describe_value(code)}{did_you_mean(near)}",
                f"{ANNOTATION}: {near[0]}" if near else f"remove {cut(code, MAX_QUOTED)}",
            )


def reword_for_nodes(findings: Iterable[Finding], nodes: Sequence[Expressions]) -> Iterator[Finding]:
    """Yield the findings of a document; those about nodes are reworded for profiles that set ``spec.nodes``.

    ``nodes`` has the expressions of each profile, in the document's order. Paths are still those of the document.
    """
    for finding in findings:
        own = (own for index, own in enumerate(nodes) if own and finding.path.startswith(f"profiles[{index}]."))
        if (expressions := next(own, None)) is None:
            yield finding
            continue
        term = NodeSelectorTerm(
            match_expressions=tuple(
                NodeSelectorRequirement.model_validate_json(json.dumps(expression)) for expression in expressions
            )
        )
        match finding.code:
            case "NodesContradictAffinity" if can_match(term):
                message = f"nodes asks for {describe_term(term)}, which addedAffinity rules out; {finding.message}"
                suggestion = "conditions in addedAffinity that leave such nodes"
                yield replace(finding, message=message, suggestion=suggestion)
            case "NodesContradictAffinity":
                message = f"nodes contradicts itself: no node can match {describe_term(term)}"
                yield replace(finding, message=message, suggestion="nodes: {matchLabels: {pool: batch}}")
            case "NodesIgnoredBySpread":
                message = f"pods go to nodes with {describe_term(term)}, but hard spread constraints count the other "
                yield replace(finding, message=f"{message}nodes too")
            case _:
                yield finding


def findings_by_profile(
    findings: Iterable[Finding], origins: Origins, profiles: Mapping[str, UserObject]
) -> dict[str, tuple[Finding, ...]]:
    """Return the findings of each profile that its author does not allow, at the paths where they are written."""
    annotations = {name: profile.annotations.get(ANNOTATION, "") for name, profile in profiles.items()}
    result = {name: list(unknown_codes(annotation)) for name, annotation in annotations.items()}
    for finding in findings:
        origin = origins.of(finding.path)
        # Berth itself writes qps: -1, burst: 0; the author of a profile cannot do anything about that.
        if finding.code == "ZeroMeansDefault" and origin.label == BERTHS_DEFAULT:
            continue
        result[origin.profile].append(finding.at(origin.path))
    return {
        name: tuple(finding for finding in own if finding.code not in codes_in(annotations[name]))
        for name, own in result.items()
    }


def as_problem(finding: Finding) -> tuple[Reason, Problem] | None:
    """Return the problem that an error finding is; None for warnings and notes."""
    if finding.severity is not Severity.ERROR:
        return None
    return _REASONS.get(finding.code, "Invalid"), Problem(finding.path, f"{with_suggestion(finding)} ({finding.code})")


def with_suggestion(finding: Finding) -> str:
    """Return the message and, if there is one, what to write instead."""
    if not finding.suggestion:
        return finding.message
    full_stop = "" if finding.message.endswith("?") else "."
    return f"{finding.message}{full_stop} Suggested: {finding.suggestion}"
