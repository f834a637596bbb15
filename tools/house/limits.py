"""The limits in pyproject.toml, ``[tool.berth.house]``, and the measures that break them."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.house.findings import Finding, class_names, docstrings, late_attributes, layout, one_caller, words
from tools.house.measures import measure
from tools.house.module import Module
from tools.house.tree import Group


class LimitsError(Exception):
    """The section of pyproject.toml is missing or has a key that is no limit."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits by the name of a distribution (``runtime``) or of one of its rooms (``runtime.kube``)."""

    words_percent: dict[str, float] = field(default_factory=dict)
    one_caller_percent: dict[str, float] = field(default_factory=dict)
    docstring_faults: dict[str, int] = field(default_factory=dict)
    late_attributes: dict[str, int] = field(default_factory=dict)
    repeated_class_names: dict[str, int] = field(default_factory=dict)
    names_of_kubernetes: list[str] = field(default_factory=list)
    """Names that classes of several modules may have, because Kubernetes calls the thing so."""
    root_modules: dict[str, list[str]] = field(default_factory=dict)
    """Modules that may stand beside the rooms."""
    docstring_lines_per_100: dict[str, float] = field(default_factory=dict)
    comments_per_100: dict[str, float] = field(default_factory=dict)
    data: list[str] = field(default_factory=list)
    """Folders whose modules are tables of data: docstrings and comments are not counted there."""


def read_limits(pyproject: Path) -> Limits:
    """Read the limits; raise LimitsError if there are none or a key is unknown."""
    tables = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    try:
        return Limits(**tables["tool"]["berth"]["house"])
    except KeyError:
        raise LimitsError(f"{pyproject} has no section [tool.berth.house]") from None
    except TypeError as error:
        raise LimitsError(f"{pyproject}: [tool.berth.house]: {error}") from error


def broken_limits(limits: Limits, groups: Sequence[Group]) -> Iterator[str]:
    """Return a sentence for every limit that is broken, with the worst file and what to do.

    Raises LimitsError for a limit of a distribution or room that does not exist.
    """
    for check in CHECKS:
        yield from check(limits, groups)


def too_many_words(limits: Limits, groups: Sequence[Group]) -> Iterator[str]:
    """Compare the share of identifiers that contain a vague word."""
    for name, percent in limits.words_percent.items():
        group = _group(name, groups)
        if (share := measure(group.modules).words_percent) > percent:
            yield (
                f"{name}: {share:.2f} % of the identifiers contain a vague word (found, told, each …), "
                f"at most {percent} %: name the thing itself{_where(group, words(group), 'words')}"
            )


def too_many_one_caller_functions(limits: Limits, groups: Sequence[Group]) -> Iterator[str]:
    """Compare the share of private functions with one caller."""
    for name, percent in limits.one_caller_percent.items():
        group = _group(name, groups)
        if (share := measure(group.modules).one_caller_percent) > percent:
            yield (
                f"{name}: {share:.1f} % of the functions are private with one caller, at most {percent} %: "
                f"fold them into the caller{_where(group, one_caller(group), 'one-caller')}"
            )


def faulty_docstrings(limits: Limits, groups: Sequence[Group]) -> Iterator[str]:
    """Compare the number of module docstrings that break the rule of the first sentence."""
    for name, number in limits.docstring_faults.items():
        if len(faults := list(docstrings(_group(name, groups)))) > number:
            yield from (f"{fault}; begin with what the module is or does" for fault in faults)


def too_many_late_attributes(limits: Limits, groups: Sequence[Group]) -> Iterator[str]:
    """Compare the number of attributes that are set on objects of other packages."""
    for name, number in limits.late_attributes.items():
        group = _group(name, groups)
        if len(late := list(late_attributes(group))) > number:
            yield (
                f"{name}: {len(late)} attributes are set on objects of other packages, at most {number}: "
                f"hand the values over at construction{_where(group, late, 'late')}"
            )


def too_many_repeated_class_names(limits: Limits, groups: Sequence[Group]) -> Iterator[str]:
    """Compare the number of class names that stand in more than one module."""
    for name, number in limits.repeated_class_names.items():
        group = _group(name, groups)
        repeated = [finding for finding in class_names(group) if finding.text not in limits.names_of_kubernetes]
        names = sorted({finding.text for finding in repeated})
        if len(names) > number:
            yield (
                f"{name}: {len(names)} class names stand in more than one module ({', '.join(names)}), "
                f"at most {number}: rename one of two{_where(group, repeated, 'class-names')}"
            )


def modules_without_room(limits: Limits, groups: Sequence[Group]) -> Iterator[str]:
    """Look for modules that stand beside the rooms."""
    for name, allowed in limits.root_modules.items():
        group = _group(name, groups)
        for finding in layout(group):
            if finding.text not in allowed:
                yield f"{finding.path}: the module has no room; move it into one of the packages of {group.folder}"


def too_little_text(limits: Limits, groups: Sequence[Group]) -> Iterator[str]:
    """Compare docstrings and comments with what a reader needs."""
    for name, number in limits.docstring_lines_per_100.items():
        modules = _modules_with_text(name, groups, limits)
        if (lines := measure(modules).docstring_lines_per_100) < number:
            worst = min(modules, key=lambda module: module.docstring_lines - number * module.lines / 100)
            yield (
                f"{name}: {lines:.1f} docstring lines per 100, at least {number}: "
                f"say what public functions promise and raise; most are missing in {worst.path}"
            )
    for name, number in limits.comments_per_100.items():
        modules = _modules_with_text(name, groups, limits)
        if (comments := measure(modules).comments_per_100) < number:
            worst = min(modules, key=lambda module: module.comments - number * module.lines / 100)
            yield (
                f"{name}: {comments:.1f} comments per 100 lines, at least {number}: "
                f"say why where the code cannot; most are missing in {worst.path}"
            )


CHECKS = (
    too_many_words,
    too_many_one_caller_functions,
    faulty_docstrings,
    too_many_late_attributes,
    too_many_repeated_class_names,
    modules_without_room,
    too_little_text,
)


def _group(name: str, groups: Sequence[Group]) -> Group:
    for group in groups:
        if group.name == name:
            return group
    raise LimitsError(f"[tool.berth.house]: there is no distribution {name}")


def _modules_with_text(name: str, groups: Sequence[Group], limits: Limits) -> list[Module]:
    distribution, _, room = name.partition(".")
    group = _group(distribution, groups)
    modules = [
        module
        for module in (group.rooms().get(room, ()) if room else group.modules)
        if not any(folder in module.path.as_posix() for folder in limits.data)
    ]
    if not modules:
        raise LimitsError(f"[tool.berth.house]: {name} has no modules")
    return modules


def _where(group: Group, findings: Iterable[Finding], listing: str) -> str:
    places = list(findings)
    path, number = Counter(finding.path for finding in places).most_common(1)[0]
    line = next(finding.line for finding in places if finding.path == path)
    return f"; most ({number}) in {path}:{line}; all: python -m tools.house --list {listing} {group.folder}"
