"""What only a SchedulerProfile can be told: findings in the words of ``spec.nodes``, and allowances that allow nothing.

A plain document knows neither: there ``nodes`` is addedAffinity, and what is allowed stands in a comment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_operator.render.node_selection import Expressions
from scheduler_runtime import config
from scheduler_runtime.catalog.args import NodeSelectorRequirement, NodeSelectorTerm
from scheduler_runtime.catalog.suggestions import did_you_mean, nearest
from scheduler_runtime.config import Code, Finding, Severity
from scheduler_runtime.config.linter.nodes import is_possible, said

ANNOTATION = "berth.dev/allow-findings"
"""Lists, separated by commas, the codes that the author of a profile knows about."""

UNKNOWN_CODE = Code(
    "UnknownCode",
    Severity.WARNING,
    "The annotation that allows findings names one that does not exist, so it allows nothing.",
    "Write the code as a finding has it, in its exact spelling.",
)
CODES: Mapping[str, Code] = {**config.CODES, UNKNOWN_CODE.name: UNKNOWN_CODE}
"""Every code that a profile can be told."""


def codes_in(annotation: str) -> tuple[str, ...]:
    """The codes that an annotation lists, in its order."""
    return tuple(code.strip() for code in annotation.split(",") if code.strip())


def unknown_codes(annotation: str) -> Iterator[Finding]:
    """A finding for each code in ``annotation`` that no finding has."""
    for code in codes_in(annotation):
        if code not in CODES:
            near = nearest(code, CODES)
            yield Finding(
                UNKNOWN_CODE.name,
                UNKNOWN_CODE.severity,
                f"metadata.annotations[{ANNOTATION}]",
                f"there is no finding {code!r}{did_you_mean(near)}",
                f"{ANNOTATION}: {near[0]}" if near else f"remove {code}",
            )


def in_words_of_nodes(found: Iterable[Finding], nodes: Sequence[Expressions]) -> Iterator[Finding]:
    """The findings about a document, those about its nodes in the words of ``spec.nodes``.

    ``nodes`` is what each profile of the document, in its order, asks of its nodes; their paths are still the
    document's.
    """
    for finding in found:
        wanted = next((each for index, each in enumerate(nodes) if finding.path.startswith(f"profiles[{index}].")), ())
        yield _in_words_of(finding, wanted) if wanted else finding


def _in_words_of(finding: Finding, wanted: Expressions) -> Finding:
    term = NodeSelectorTerm(
        match_expressions=tuple(NodeSelectorRequirement.model_validate_json(json.dumps(each)) for each in wanted)
    )
    match finding.code:
        case "NodesContradictAffinity" if is_possible(term):
            message = f"nodes asks for {said(term)}, which addedAffinity rules out; {finding.message}"
            return replace(finding, message=message, suggestion="conditions in addedAffinity that leave such nodes")
        case "NodesContradictAffinity":
            message = f"nodes contradicts itself: no node can match {said(term)}"
            return replace(finding, message=message, suggestion="nodes: {matchLabels: {pool: batch}}")
        case "NodesIgnoredBySpread":
            message = f"pods go to nodes with {said(term)}, but hard spread constraints count the other nodes too"
            return replace(finding, message=message)
    return finding
