"""The measures of a group of modules, and the two tables that show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tools.house.module import Module

LONG_FUNCTION_LINES = 30
MANY_PARAMETERS = 5
DEEP_NESTING = 4


@dataclass(frozen=True, slots=True)
class Measures:
    """Numbers that describe a group of modules."""

    modules: int
    lines: int
    function_median: int
    function_p90: int
    function_max: int
    body_median: int
    body_p90: int
    long_functions: int
    one_caller_percent: float
    """Private functions that their module mentions once, of all functions."""
    module_median: int
    module_max: int
    many_parameters: int
    parameters_max: int
    deep_functions: int
    docstring_lines_per_100: float
    comments_per_100: float
    lambdas_per_1000: float
    callable_parameters: int
    attributes_set_on_others_per_1000: float
    private_attributes_of_others: int
    any_per_1000: float
    casts: int
    type_ignores: int
    repeated_class_names: int
    """Names of public classes that stand in more than one module."""
    words_percent: float
    """Identifiers that contain one of the vague words, of all identifiers."""


def measure(modules: Sequence[Module]) -> Measures:
    """Return the measures of all ``modules`` together."""
    functions = [function for module in modules for function in module.functions]
    lengths = sorted(function.length for function in functions)
    body_lengths = sorted(function.body_length for function in functions)
    module_lengths = sorted(module.lines for module in modules)
    lines = _total(modules, lambda module: module.lines)
    code_lines = _total(modules, lambda module: module.code_lines)
    parameters = [function.parameters for function in functions]
    return Measures(
        modules=len(modules),
        lines=lines,
        function_median=percentile(lengths, 50),
        function_p90=percentile(lengths, 90),
        function_max=max(lengths, default=0),
        body_median=percentile(body_lengths, 50),
        body_p90=percentile(body_lengths, 90),
        long_functions=sum(length > LONG_FUNCTION_LINES for length in body_lengths),
        one_caller_percent=_per(100, sum(function.has_one_caller for function in functions), len(functions)),
        module_median=percentile(module_lengths, 50),
        module_max=max(module_lengths, default=0),
        many_parameters=sum(number > MANY_PARAMETERS for number in parameters),
        parameters_max=max(parameters, default=0),
        deep_functions=sum(function.nesting >= DEEP_NESTING for function in functions),
        docstring_lines_per_100=_per(100, _total(modules, lambda module: module.docstring_lines), lines),
        comments_per_100=_per(100, _total(modules, lambda module: module.comments), lines),
        lambdas_per_1000=_per(1000, _total(modules, lambda module: module.lambdas), code_lines),
        callable_parameters=sum(function.callable_parameters for function in functions),
        attributes_set_on_others_per_1000=_per(
            1000, _total(modules, lambda module: len(module.attributes_set_on_others)), code_lines
        ),
        private_attributes_of_others=_total(modules, lambda module: module.private_attributes_of_others),
        any_per_1000=_per(1000, _total(modules, lambda module: module.any_annotations), code_lines),
        casts=_total(modules, lambda module: module.casts),
        type_ignores=_total(modules, lambda module: module.type_ignores),
        repeated_class_names=len(repeated_class_names(modules)),
        words_percent=_per(
            100,
            _total(modules, lambda module: len(module.vague_identifiers)),
            _total(modules, lambda module: module.identifiers),
        ),
    )


def repeated_class_names(modules: Iterable[Module]) -> set[str]:
    """Return the names of public classes that stand in more than one module."""
    times = Counter(name for module in modules for name in {mention.text for mention in module.classes})
    return {name for name, count in times.items() if count > 1}


def percentile(ordered: Sequence[int], percent: int) -> int:
    """Return the element below which ``percent`` of the ``ordered`` numbers are, or 0 where there are none."""
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else 0


def _total(modules: Iterable[Module], count: Callable[[Module], int]) -> int:
    return sum(count(module) for module in modules)


def _per(unit: int, count: int, total: int) -> float:
    return round(unit * count / total, 2) if total else 0.0


ROWS: Sequence[tuple[str, Callable[[Measures], str]]] = (
    ("modules / lines (thousands)", lambda m: f"{m.modules}/{m.lines / 1000:.1f}"),
    ("function, whole def: median, p90, max", lambda m: f"{m.function_median},{m.function_p90},{m.function_max}"),
    ("body only: median, p90", lambda m: f"{m.body_median},{m.body_p90}"),
    (f"functions over {LONG_FUNCTION_LINES} lines (body)", lambda m: f"{m.long_functions}"),
    ("private, one caller, of all functions", lambda m: f"{m.one_caller_percent:.1f} %"),
    ("module lines: median, max", lambda m: f"{m.module_median},{m.module_max}"),
    (f"more than {MANY_PARAMETERS} parameters; max", lambda m: f"{m.many_parameters}; {m.parameters_max}"),
    (f"nested {DEEP_NESTING} or deeper", lambda m: f"{m.deep_functions}"),
    ("docstring lines per 100", lambda m: f"{m.docstring_lines_per_100:.1f}"),
    ("comments per 100 lines", lambda m: f"{m.comments_per_100:.1f}"),
    ("lambdas per 1,000 code lines", lambda m: f"{m.lambdas_per_1000:.1f}"),
    ("parameters that are callables", lambda m: f"{m.callable_parameters}"),
    ("attributes set on others, per 1,000", lambda m: f"{m.attributes_set_on_others_per_1000:.1f}"),
    ("private attribute of another object", lambda m: f"{m.private_attributes_of_others}"),
    ("Any per 1,000; cast; type: ignore", lambda m: f"{m.any_per_1000:.1f};{m.casts};{m.type_ignores}"),
    ("class names in several modules", lambda m: f"{m.repeated_class_names}"),
    ("vague words, of all identifiers", lambda m: f"{m.words_percent:.2f} %"),
)

ROOM_ROWS: Sequence[tuple[str, Callable[[Measures], str]]] = (
    ("docstrings/100", lambda m: f"{m.docstring_lines_per_100:.1f}"),
    ("comments/100", lambda m: f"{m.comments_per_100:.1f}"),
    ("one caller", lambda m: f"{m.one_caller_percent:.1f} %"),
    ("words", lambda m: f"{m.words_percent:.2f} %"),
    ("modules", lambda m: f"{m.modules}"),
    ("lines", lambda m: f"{m.lines}"),
)


def measures_table(columns: dict[str, Measures]) -> str:
    """Return a Markdown table with a row per measure and a column per group."""
    rows = [[title, *(show(measures) for measures in columns.values())] for title, show in ROWS]
    return _markdown(["", *columns], rows)


def rooms_table(rooms: dict[str, Measures]) -> str:
    """Return a Markdown table with a row per room."""
    rows = [[name, *(show(measures) for _, show in ROOM_ROWS)] for name, measures in rooms.items()]
    return _markdown(["room", *(title for title, _ in ROOM_ROWS)], rows)


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(cell) for cell in column) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )
