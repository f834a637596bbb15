"""Documents that are deliberately judged otherwise than by kube-scheduler. Anything else is a mistake of ours."""

from __future__ import annotations

import re
from dataclasses import dataclass

NEVER = r"(?!)"


@dataclass(frozen=True, slots=True)
class Exempt:
    """One difference, and its reason."""

    what: str
    why: str
    ours: str = NEVER
    """What we say when we refuse and kube-scheduler does not; a regular expression."""
    theirs: str = NEVER
    """What it says when it refuses and we do not."""


EXCEPTIONS = (
    Exempt(
        "a file of more than 1 MiB",
        "a ConfigMap cannot be larger, and foreign input must have a limit",
        ours=r"bytes long; a document has at most",
    ),
    Exempt(
        "nesting beyond 100 levels, more than 50,000 values with aliases expanded, in JSON, too",
        "foreign input must have a limit",
        ours=r"is nested more than|values, aliases expanded",
    ),
    Exempt(
        "several documents in a file",
        "kube-scheduler reads the first and does not mention the others",
        ours=r"holds \d+ documents|is not YAML after its first document",
    ),
    Exempt(
        "only another --- before the document",
        "programs that join files leave such empty documents",
        theirs=r"Object 'Kind' is missing in '(?:\s|#.*\n)*---(?:\s|#.*\n)*---",
    ),
    Exempt(
        "arguments that are not a mapping, for a plugin without arguments",
        "this is always a mistake",
        ours=r"pluginConfig\[\d+\]\.args: .* is not a mapping of fields",
    ),
    Exempt(
        "a repeated key of JSON in arguments that no plugin reads",
        "this is always a mistake",
        ours=r"the key \S+ is there twice",
    ),
    Exempt(
        "a number of JSON beyond 1.8e308 in arguments that no plugin reads",
        "no program that reads it can store it",
        ours=r"is larger than any number",
    ),
    Exempt(
        "bytes in JSON that are not UTF-8",
        "a ConfigMap cannot contain them, and the replacement character is not what the author meant",
        ours=r"is not text: line \d+: the byte \S+ is not UTF-8",
    ),
    Exempt(
        "control characters from U+007F on, and U+FFFE and U+FFFF, in quoted text",
        "kube-scheduler reads them; it fails only where it prints the document, at -v 2 and with --write-config-to",
        theirs=r"yaml: control characters are not allowed",
    ),
    Exempt(
        "files that a document names",
        "a document is checked where it is written, not where it will run",
        theirs=r"no such file or directory",
    ),
    Exempt(
        "the content of certificates and keys",
        "parsing them needs a library that a linter does not need",
        theirs=r"x509|asn1|tls: failed to find any PEM data|private key",
    ),
)


def exempt(ours: str, theirs: str) -> bool:
    """Whether our refusal without theirs, or theirs without ours, is meant; an empty text is no refusal."""
    return any(re.search(exception.ours, ours) or re.search(exception.theirs, theirs) for exception in EXCEPTIONS)
