"""The measures of the house, on small sources made for the test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tools.house.__main__ import main
from tools.house.findings import LISTS, docstring_fault
from tools.house.limits import Limits, LimitsError, broken_limits, read_limits
from tools.house.measures import measure, percentile
from tools.house.module import Docstring, Module, read_module
from tools.house.tree import Group, read_group

SOURCE = '''"""A module for the test."""

from hypothesis import given

LIMIT = 3
"""More is too many."""


class Queue:
    """Pods in order."""

    size: int

    def __init__(self, on_ready: Callable[[], None]) -> None:
        self.ready = lambda: on_ready()  # a reason
        self._sort()

    def _sort(self) -> None:
        for pod in self.pods:
            if pod:
                with pod:
                    while pod:
                        pod = _next(pod)
                        pod._hidden = 1


@given(1)
def _next(pod: Any) -> Any:  # noqa: ANN401
    found_pod = pod
    return _next  # type: ignore[return-value]
'''


@pytest.fixture
def module(tmp_path: Path) -> Module:
    return read_module(write(tmp_path / "module.py", SOURCE))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def group(folder: Path, **sources: str) -> Group:
    """Return a group ``runtime`` of modules whose path is the keyword, ``__`` for the slash."""
    for name, source in sources.items():
        write(folder / f"{name.replace('__', '/')}.py", source)
    return read_group("runtime", folder)


def lines(listing: str, of: Group) -> list[str]:
    return [f"{finding.path.relative_to(of.folder)}:{finding.line} {finding.text}" for finding in LISTS[listing](of)]


def test_docstrings_of_attributes_count_and_blank_lines_are_no_code(module: Module) -> None:
    assert module.docstring_lines == 3
    assert module.lines == 30
    assert module.code_lines == 18


def test_comments_that_are_only_for_tools_do_not_count(module: Module) -> None:
    assert module.comments == 1
    assert module.type_ignores == 1


def test_functions_are_measured_without_self_and_without_docstring(module: Module) -> None:
    functions = {function.name: function for function in module.functions}
    assert functions["__init__"].parameters == 1
    assert functions["__init__"].callable_parameters == 1
    assert functions["_sort"].length == 7
    assert functions["_sort"].body_length == 6
    assert functions["_sort"].nesting == 4


def test_a_chain_of_elif_is_not_nested(tmp_path: Path) -> None:
    source = "def f(x):\n    if x == 1:\n        pass\n    elif x == 2:\n        pass\n    elif x == 3:\n        pass\n"
    assert read_module(write(tmp_path / "m.py", source)).functions[0].nesting == 1


def test_a_private_function_with_one_mention_has_one_caller(module: Module) -> None:
    assert [function.name for function in module.functions if function.has_one_caller] == ["_sort"]


def test_attributes_of_others_are_distinguished_from_own_ones(module: Module) -> None:
    assert [mention.text for mention in module.attributes_set_on_others] == ["pod._hidden"]
    assert module.private_attributes_of_others == 1
    assert {"size", "ready"} <= module.declared_attributes


def test_words_count_as_parts_of_identifiers_but_not_in_names_of_other_projects(module: Module) -> None:
    assert [mention.text for mention in module.vague_identifiers] == ["found_pod"]


@pytest.mark.parametrize("name", ["told", "_told", "was_told", "ToldPods", "TOLD", "HTTPTold"])
def test_words_count_in_every_spelling(tmp_path: Path, name: str) -> None:
    assert len(read_module(write(tmp_path / "m.py", f"{name} = 1\n")).vague_identifiers) == 1


def test_words_inside_of_other_words_are_none_of_ours(tmp_path: Path) -> None:
    assert read_module(write(tmp_path / "m.py", "reached = foundation = unknown = 1\n")).vague_identifiers == ()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Retry with growing pauses.", None),
        ("Read ``python -m x``.\n\nWhat follows is free.", None),
        ("What is retried.", 'begins with "What": What is retried.'),
        ("``Whether`` it is so.", 'begins with "Whether": ``Whether`` it is so.'),
        ("Retry", "no period at the end of the first sentence: Retry"),
        ("", "no docstring"),
    ],
)
def test_docstrings_begin_with_the_thing(text: str, fault: str | None) -> None:
    assert docstring_fault(Docstring(1, "", text)) == fault


def test_an_empty_module_needs_no_docstring(tmp_path: Path) -> None:
    assert lines("docstrings", group(tmp_path, a__b="", a__c="X = 1\n")) == ["a/c.py:1 no docstring"]


def test_attributes_set_from_another_package_are_late(tmp_path: Path) -> None:
    tree = group(
        tmp_path,
        queue__entry="class Entry:\n    place: int\n    on_ready = None\n",
        queue__machine="def move(entry):\n    entry.place = 1\n    entry.on_ready = print\n",
        app__main="def wire(entry, ssl):\n    entry.place = 2\n    ssl.mode = 3\n",
    )
    assert lines("late", tree) == ["app/main.py:2 entry.place", "queue/machine.py:3 entry.on_ready"]


def test_modules_beside_the_rooms_are_listed(tmp_path: Path) -> None:
    tree = group(tmp_path, __init__="", kube__client="", stray="")
    assert lines("layout", tree) == ["stray.py:1 stray"]
    assert set(tree.rooms()) == {"(root)", "kube"}


@pytest.mark.parametrize(
    ("limits", "source", "sentence"),
    [
        pytest.param(
            Limits(words_percent={"runtime": 0.5}),
            "told = 1\n",
            "runtime: 100.00 % of the identifiers contain a vague word (found, told, each …), at most 0.5 %: "
            "name the thing itself; most (1) in FOLDER/kube/client.py:1; "
            "all: python -m tools.house --list words FOLDER",
            id="words",
        ),
        pytest.param(
            Limits(one_caller_percent={"runtime": 10}),
            "def _f(): ...\ndef g(): _f()\n",
            "runtime: 50.0 % of the functions are private with one caller, at most 10 %: fold them into the caller; "
            "most (1) in FOLDER/kube/client.py:1; all: python -m tools.house --list one-caller FOLDER",
            id="one-caller",
        ),
        pytest.param(
            Limits(docstring_faults={"runtime": 0}),
            '"""How to retry."""\n',
            'FOLDER/kube/client.py:1 begins with "How": How to retry.; begin with what the module is or does',
            id="docstring",
        ),
        pytest.param(
            Limits(late_attributes={"runtime": 0}),
            "queue.on_ready = print\n",
            "runtime: 1 attributes are set on objects of other packages, at most 0: hand the values over at "
            "construction; most (1) in FOLDER/kube/client.py:1; all: python -m tools.house --list late FOLDER",
            id="late",
        ),
        pytest.param(
            Limits(root_modules={"runtime": []}),
            None,
            "FOLDER/stray.py: the module has no room; move it into one of the packages of FOLDER",
            id="layout",
        ),
        pytest.param(
            Limits(docstring_lines_per_100={"runtime.kube": 16}),
            "X = 1\n",
            "runtime.kube: 0.0 docstring lines per 100, at least 16: say what public functions promise and raise; "
            "most are missing in FOLDER/kube/client.py",
            id="docstring-lines",
        ),
        pytest.param(
            Limits(comments_per_100={"runtime.kube": 2.5}),
            "X = 1\n",
            "runtime.kube: 0.0 comments per 100 lines, at least 2.5: say why where the code cannot; "
            "most are missing in FOLDER/kube/client.py",
            id="comments",
        ),
    ],
)
def test_a_broken_limit_is_reported_with_the_file_and_what_to_do(
    tmp_path: Path, limits: Limits, source: str | None, sentence: str
) -> None:
    tree = group(tmp_path, kube__client=source, kube__other="") if source else group(tmp_path, stray="", kube__a="")
    assert list(broken_limits(limits, [tree])) == [sentence.replace("FOLDER", str(tree.folder))]


def test_class_names_in_several_modules_are_counted_but_for_those_of_kubernetes(tmp_path: Path) -> None:
    classes = "class Pod: ...\nclass Node: ...\nclass _Pods: ...\n"
    tree = group(tmp_path, kube__a=f"class Client: ...\n{classes}", kube__b=classes)
    limits = Limits(repeated_class_names={"runtime": 0}, names_of_kubernetes=["Node"])
    assert measure(tree.modules).repeated_class_names == 2
    assert list(broken_limits(limits, [tree])) == [
        "runtime: 1 class names stand in more than one module (Pod), at most 0: rename one of two; most (1) in "
        f"{tmp_path}/kube/a.py:2; all: python -m tools.house --list class-names {tmp_path}"
    ]


def test_limits_that_hold_say_nothing(tmp_path: Path) -> None:
    tree = group(tmp_path, kube__client='"""A client."""\n# a reason\n', kube__gates__data="X = 1\n" * 100, app__x="")
    limits = Limits(
        words_percent={"runtime": 0},
        docstring_lines_per_100={"runtime.kube": 50},
        comments_per_100={"runtime.kube": 50},
        root_modules={"runtime": []},
        data=["kube/gates/"],
    )
    assert list(broken_limits(limits, [tree])) == []


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (Limits(words_percent={"scheduler": 1}), "there is no distribution scheduler"),
        (Limits(comments_per_100={"runtime.cube": 1}), "runtime.cube has no modules"),
    ],
)
def test_limits_of_what_does_not_exist_are_refused(tmp_path: Path, limits: Limits, sentence: str) -> None:
    with pytest.raises(LimitsError, match=sentence):
        list(broken_limits(limits, [group(tmp_path, kube__client="", app__main="")]))


@pytest.mark.parametrize("text", ["", "[tool.berth.house]\nword_percent = {}\n"])
def test_limits_that_cannot_be_read_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(LimitsError, match=r"\[tool\.berth\.house\]"):
        read_limits(write(tmp_path / "pyproject.toml", text))


def test_our_own_limits_can_be_read() -> None:
    limits = read_limits(Path(__file__).parents[2] / "pyproject.toml")
    assert limits.words_percent["runtime"] <= 0.5


def test_percentiles_and_empty_groups() -> None:
    assert percentile([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 90) == 10
    assert percentile([], 50) == 0
    assert measure([]).words_percent == 0


def test_tables_lists_and_json_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "src/package/kube/client.py", SOURCE)
    write(tmp_path / "src/package/__init__.py", "")
    assert main([str(tmp_path / "src")]) == 0
    assert re.search(r"src\.kube +\| 10\.0 ", capsys.readouterr().out)
    assert main(["--json", str(tmp_path / "src")]) == 0
    assert json.loads(capsys.readouterr().out)["columns"][str(tmp_path / "src")]["modules"] == 2
    assert main(["--list", "words", str(source)]) == 0
    assert capsys.readouterr().out == f"{source}:29 found_pod\n"
    assert main(["--check", "--root", str(tmp_path)]) == 2
