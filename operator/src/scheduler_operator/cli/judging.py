"""The linter, for a reader who wants to see what it says before anything is refused for it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from scheduler_operator.render.findings import CODES, Lint
from scheduler_runtime import config
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config import Document, EffectiveProfile, Finding, Severity


class Judge:
    """What rendering asks about one process.

    Rendering refuses a profile for findings of severity error, as the operator does. Here they are findings like
    the others, so they go through it as warnings and get their severity back behind it.
    """

    def __init__(self) -> None:
        self.others: Mapping[str, Declaration] = {}
        """The plugins that were declared for what was judged last."""

    @property
    def lint(self) -> Lint:
        """What rendering is to ask."""
        return self._lint

    def _lint(
        self,
        document: Document,
        target: Target,
        others: Mapping[str, Declaration],
        engine: config.Engine,
        expanded: Sequence[EffectiveProfile],
    ) -> Iterator[Finding]:
        self.others = others
        for finding in config.lint(document, target, others, engine, expanded):
            yield replace(finding, severity=Severity.WARNING)

    def judged(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings with the severities of their codes."""
        return (replace(finding, severity=CODES[finding.code].severity) for finding in findings)
