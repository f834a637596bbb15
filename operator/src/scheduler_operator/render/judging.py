"""Findings: what is to be said of a valid document, brought back to the profile and the path it was written at."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from scheduler_operator.models.status import Reason
from scheduler_operator.render.assembling import BERTHS_DEFAULT
from scheduler_operator.render.origins import Origins
from scheduler_operator.render.profile_findings import ANNOTATION, codes_in, unknown_codes
from scheduler_operator.resources.user_object import UserObject
from scheduler_runtime.catalog import Declaration, Target
from scheduler_runtime.config import Document, EffectiveProfile, Engine, Finding, Problem, Severity

_REASONS: Mapping[str, Reason] = {
    "UnknownPluginForVersion": "PluginUnknown",
    "UnknownPluginConfigured": "PluginUnknown",
    "RemovedPlugin": "PluginUnknown",
}


Lint = Callable[
    [Document, Target, Mapping[str, Declaration], Engine, Sequence[EffectiveProfile]],
    Iterable[Finding],
]
"""What finds them: ``scheduler_runtime.config.lint``."""


def allowed_codes(profile: UserObject) -> frozenset[str]:
    """The codes that the author of ``profile`` allows."""
    return frozenset(codes_in(profile.annotations.get(ANNOTATION, "")))


def sorted_out(
    findings: Iterable[Finding], origins: Origins, profiles: Mapping[str, UserObject]
) -> dict[str, tuple[Finding, ...]]:
    """The findings that nobody allowed, by profile, at the paths where its author wrote."""
    found = {name: [*unknown_codes(each.annotations.get(ANNOTATION, ""))] for name, each in profiles.items()}
    for finding in findings:
        origin = origins.of(finding.path)
        nobody_wrote_it = finding.code == "ZeroMeansDefault" and origin.label == BERTHS_DEFAULT
        if not nobody_wrote_it:
            found[origin.profile].append(finding.at(origin.path))
    return {name: tuple(f for f in each if f.code not in allowed_codes(profiles[name])) for name, each in found.items()}


def as_problem(finding: Finding) -> tuple[Reason, Problem] | None:
    """What somebody has to change, when the finding is an error."""
    if finding.severity is not Severity.ERROR:
        return None
    return _REASONS.get(finding.code, "Invalid"), Problem(finding.path, sentence(finding))


def sentence(finding: Finding) -> str:
    """The message, what to write instead, and the code by which the documentation has it."""
    return f"{with_suggestion(finding)} ({finding.code})"


def with_suggestion(finding: Finding) -> str:
    """The message, and what to write instead, which can be told from it."""
    return f"{finding.message}. Suggested: {finding.suggestion}" if finding.suggestion else finding.message
