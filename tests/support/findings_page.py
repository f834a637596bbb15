"""docs/findings.md: its entries, read; and what each must say, so that the page and the linter cannot differ.

An author writes why, the example and the mended document; the rest follows from the code and from what the linter
says of the example. ``python -m tests.support.findings_page`` brings the page up to date.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scheduler_runtime import config
from scheduler_runtime.catalog import Declaration, Target

PAGE = Path(__file__).parents[2] / "docs" / "findings.md"
HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
OWN = {
    name: Declaration(name=name, hooks=hooks, python_only=name == "BesideCap")
    for name, hooks in {
        "BesideCap": ("filter", "signature"),
        "CheapestFirst": ("score", "signature"),
        "HostPorts": ("filter", "signature"),
        "OldestFirst": ("sort_key",),
        "RackFilter": ("filter",),
        "SignedRackFilter": ("filter", "signature"),
        "SlowBinder": ("bind",),
    }.items()
}
"""The plugins that stand for a reader's own."""

_ENTRY = re.compile(r"^### (\w+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```yaml\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
_GATES = re.compile(r"^Feature gates: (.+)\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """What an author wrote about a code."""

    code: str
    why: str
    example: str
    mended: str

    @property
    def engine(self) -> config.Engine:
        """What runs its documents."""
        if "Engine: KubeScheduler, without an image." in self.why:
            return "UpstreamImage"
        return "Python" if "Engine: Python." in self.why else "KubeScheduler"

    @property
    def target(self) -> Target:
        """The kube-scheduler that the entry is about."""
        match = _GATES.search(self.why)
        pairs = [pair.partition("=") for pair in match[1].split(",")] if match else []
        gates: Mapping[str, bool] = {gate: on == "true" for gate, _, on in pairs}
        return Target.parse("1.36", gates)

    def findings(self, text: str) -> tuple[config.Finding, ...]:
        """What is said of one of the two documents."""
        document = config.load(HEADER + text)
        assert isinstance(document, config.Document), document
        return config.lint(document, self.target, OWN, self.engine)

    def section(self) -> str:
        """The entry as the page has to have it."""
        code = config.CODES[self.code]
        refused = "; kube-scheduler refuses it" if code.refused else ""
        output = "\n".join(_printed(finding) for finding in self.findings(self.example))
        return (
            f"### {self.code}\n\n*{code.severity}{refused}* — {code.sentence}\n\n{self.why}\n\n"
            f"```yaml\n{self.example}```\n\n```text\n{output}\n```\n\n{code.help}\n\n```yaml\n{self.mended}```\n"
        )


def needs_own_plugins(text: str) -> bool:
    """Whether no kube-scheduler out of the box has all the plugins of a document."""
    return any(f"{{name: {name}" in text for name in OWN)


def _printed(finding: config.Finding) -> str:
    lines = textwrap.wrap(finding.message, 114, break_on_hyphens=False, initial_indent="  ", subsequent_indent="  ")
    return "\n".join((f"{finding.path}:", *lines, f"  → {finding.suggestion}"))


def entries(text: str) -> list[Entry]:
    """The entries of the page, in its order."""
    return [_entry(match[1], match[2]) for match in _ENTRY.finditer(text)]


def _entry(code: str, body: str) -> Entry:
    example, mended = _BLOCK.findall(body)
    before = body[: body.index("```yaml")].strip()
    why = before.partition("\n\n")[2].strip()
    paragraphs = ("\n".join(textwrap.wrap(part, 118, break_on_hyphens=False)) for part in why.split("\n\n"))
    return Entry(code, "\n\n".join(paragraphs), example, mended)


def up_to_date(text: str) -> str:
    """The page with every entry as it has to be."""
    return _ENTRY.sub(lambda match: _entry(match[1], match[2]).section() + "\n", text).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(up_to_date(PAGE.read_text()))
