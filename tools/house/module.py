"""One Python module as data: its functions, identifiers, text and assignments, read with ast and tokenize."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

WORDS = frozenset(
    "each found told said wanted asked written given known seen kept "  # noqa: SIM905 - shorter than a list
    "taken made left shown meant held tried heard gone chosen begun".split()
)
"""Words that stand for a thing without naming the thing: ``for pod in pods`` says more than ``for each in found``."""

OUR_PACKAGES = frozenset(
    ["scheduler_runtime", "scheduler_operator", "devcluster", "bench", "tests", "examples", "tools"]
)

BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)
PART_OF_IDENTIFIER = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
DIRECTIVE = re.compile(r"#\s*(type: ignore|noqa)(\[[\w, -]+\]|: [A-Z]+\d+(,\s*[A-Z]+\d+)*)?")

AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef
N = TypeVar("N", bound=ast.AST)


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method; lengths in lines."""

    name: str
    line: int
    length: int
    """From ``def`` to the last line; decorators do not count."""
    body_length: int
    """Without signature and docstring."""
    parameters: int
    """Without ``self`` and ``cls``."""
    callable_parameters: int
    nesting: int
    """How many blocks (``if``, ``for``, ``with`` …) the deepest statement is inside of."""
    references: int
    """How often the module mentions the name, apart from the definition."""
    is_called: bool
    """Whether one of the mentions is a call; a function that is only handed over cannot be folded into a caller."""

    @property
    def is_private(self) -> bool:
        return self.name.startswith("_") and not self.name.startswith("__")

    @property
    def has_one_caller(self) -> bool:
        return self.is_private and self.references == 1


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in a module and the text there."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Docstring:
    """The documentation of a module, class or function; ``text`` is empty where none exists."""

    line: int
    owner: str
    """Empty for the module itself."""
    text: str


@dataclass(frozen=True, slots=True)
class Module:
    """Everything the measures need to know about one file."""

    path: Path
    lines: int
    code_lines: int
    """Lines that are neither blank nor comment nor docstring."""
    docstring_lines: int
    comments: int
    functions: tuple[Function, ...]
    docstrings: tuple[Docstring, ...]
    classes: tuple[Mention, ...]
    """Public classes at the top of the module."""
    identifiers: int
    vague_identifiers: tuple[Mention, ...]
    lambdas: int
    declared_attributes: frozenset[str]
    """Attributes that classes of this module declare or set on ``self``."""
    attributes_set_on_others: tuple[Mention, ...]
    private_attributes_of_others: int
    any_annotations: int
    casts: int
    type_ignores: int


def read_module(path: Path) -> Module:
    """Parse a file; raise SyntaxError where it is not Python."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source, filename=str(path))
    nodes: dict[type[ast.AST], list[Any]] = defaultdict(list)
    for node in ast.walk(tree):
        nodes[type(node)].append(node)
    comments: list[str] = []
    if "#" in source:  # tokenize is the slow part of reading a module, and many modules have no comment
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    docstring_lines = {
        line
        for statement in nodes[ast.Expr]
        if isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
        for line in range(statement.lineno, statement.end_lineno + 1)
    }
    lines = source.splitlines()
    text = [line.strip() for line in lines]
    names: list[ast.Name] = nodes[ast.Name]
    attributes: list[ast.Attribute] = nodes[ast.Attribute]
    others = [
        node for node in attributes if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
    ]
    return Module(
        path=path,
        lines=len(lines),
        code_lines=sum(
            bool(line) and not line.startswith("#") and number not in docstring_lines
            for number, line in enumerate(text, 1)
        ),
        docstring_lines=len(docstring_lines),
        comments=sum(re.search(r"\w", DIRECTIVE.sub("", comment)) is not None for comment in comments),
        functions=tuple(_functions(nodes)),
        docstrings=tuple(_docstrings(tree, nodes)),
        classes=tuple(
            Mention(statement.lineno, statement.name)
            for statement in tree.body
            if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_")
        ),
        identifiers=sum(1 for _ in _identifiers(nodes)),
        vague_identifiers=tuple(_vague_identifiers(nodes)),
        lambdas=len(nodes[ast.Lambda]),
        declared_attributes=frozenset(_declared_attributes(nodes)),
        attributes_set_on_others=tuple(
            Mention(node.lineno, ast.unparse(node)) for node in others if isinstance(node.ctx, ast.Store)
        ),
        private_attributes_of_others=sum(
            node.attr.startswith("_") and not node.attr.startswith("__") for node in others
        ),
        any_annotations=sum(name.id == "Any" for name in names),
        casts=sum(isinstance(call.func, ast.Name) and call.func.id == "cast" for call in nodes[ast.Call]),
        type_ignores=sum("type: ignore" in comment for comment in comments),
    )


def _functions(nodes: dict[type[ast.AST], list[Any]]) -> Iterator[Function]:
    references = Counter(node.id for node in nodes[ast.Name]) + Counter(node.attr for node in nodes[ast.Attribute])
    called = {getattr(call.func, "id", None) or getattr(call.func, "attr", None) for call in nodes[ast.Call]}
    definition: AnyFunction
    for definition in nodes[ast.FunctionDef] + nodes[ast.AsyncFunctionDef]:
        body = definition.body[1:] if ast.get_docstring(definition, clean=False) is not None else definition.body
        parameters = definition.args.posonlyargs + definition.args.args + definition.args.kwonlyargs
        has_self = bool(parameters) and parameters[0].arg in ("self", "cls")
        yield Function(
            name=definition.name,
            line=definition.lineno,
            length=_last_line(definition) - definition.lineno + 1,
            body_length=_last_line(body[-1]) - body[0].lineno + 1 if body else 0,
            parameters=len(parameters) - has_self,
            callable_parameters=sum(
                any(isinstance(node, ast.Name) and node.id == "Callable" for node in ast.walk(parameter.annotation))
                for parameter in parameters
                if parameter.annotation is not None
            ),
            nesting=_nesting(definition),
            references=references[definition.name],
            is_called=definition.name in called,
        )


def _last_line(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _nesting(block: ast.AST) -> int:
    depth = 0
    for child in ast.iter_child_nodes(block):
        # an expression has no blocks in it, and most nodes are expressions
        if isinstance(child, (ast.expr, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        # ast shows ``elif`` as an ``if`` inside of the ``else``; a reader does not see it as deeper
        is_elif = isinstance(child, ast.If) and isinstance(block, ast.If) and block.orelse == [child]
        depth = max(depth, _nesting(child) + (isinstance(child, BLOCKS) and not is_elif))
    return depth


def _docstrings(tree: ast.Module, nodes: dict[type[ast.AST], list[Any]]) -> Iterator[Docstring]:
    if tree.body:
        yield Docstring(1, "", ast.get_docstring(tree) or "")
    for owner in nodes[ast.ClassDef] + nodes[ast.FunctionDef] + nodes[ast.AsyncFunctionDef]:
        if text := ast.get_docstring(owner):
            yield Docstring(owner.lineno, owner.name, text)


def _identifiers(nodes: dict[type[ast.AST], list[Any]]) -> Iterator[tuple[ast.AST, str]]:
    def of(kind: type[N], name: Callable[[N], str | None]) -> Iterable[tuple[ast.AST, str]]:
        return ((node, text) for node in nodes[kind] if (text := name(node)))

    yield from of(ast.Name, lambda node: node.id)
    yield from of(ast.Attribute, lambda node: node.attr)
    yield from of(ast.arg, lambda node: node.arg)
    yield from of(ast.FunctionDef, lambda node: node.name)
    yield from of(ast.AsyncFunctionDef, lambda node: node.name)
    yield from of(ast.ClassDef, lambda node: node.name)
    yield from of(ast.keyword, lambda node: node.arg)
    yield from of(ast.alias, lambda node: (node.asname or node.name).rpartition(".")[2])
    yield from of(ast.ExceptHandler, lambda node: node.name)
    yield from of(ast.MatchAs, lambda node: node.name)


def _vague_identifiers(nodes: dict[type[ast.AST], list[Any]]) -> Iterator[Mention]:
    foreign = {  # ``from hypothesis import given``: not ours to rename
        alias.asname or alias.name
        for statement in nodes[ast.ImportFrom]
        if not statement.level and statement.module.partition(".")[0] not in OUR_PACKAGES
        for alias in statement.names
    }
    vague: dict[str, bool] = {}
    for node, name in _identifiers(nodes):
        if name not in vague:
            parts = {part.lower() for part in PART_OF_IDENTIFIER.findall(name)}
            vague[name] = name not in foreign and not parts.isdisjoint(WORDS)
        if vague[name]:
            yield Mention(node.lineno, name)  # type: ignore[attr-defined]


def _declared_attributes(nodes: dict[type[ast.AST], list[Any]]) -> Iterator[str]:
    for definition in nodes[ast.ClassDef]:
        for statement in definition.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                    yield name
    for attribute in nodes[ast.Attribute]:
        match attribute:
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                yield attribute.attr
