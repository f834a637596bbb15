"""docs/import.md says what the import does: its tables are the data, its examples run."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from scheduler_operator.migrate import Imported, import_documents
from scheduler_operator.migrate.api_versions import VERSIONS
from scheduler_operator.migrate.flags import CARRIED, EXPLAINED
from scheduler_operator.migrate.policy_tables import PREDICATES, PRIORITIES
from scheduler_operator.migrate.removed_plugins import STRATEGIES
from scheduler_runtime.catalog import REMOVED_PLUGINS

PAGE = Path("docs/import.md").read_text()
EXAMPLES = re.findall(
    r"```yaml input\n(.*?)```.*?```yaml output\n(.*?)```.*?```text remarks\n(.*?)```", PAGE, re.DOTALL
)


def table(rows: Iterable[tuple[str, str]]) -> str:
    """The rows of a table of two columns."""
    return "\n".join(f"| {remaining} | {right} |" for remaining, right in rows)


def code(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def priorities() -> Iterable[tuple[str, str]]:
    for name, plugin in PRIORITIES.items():
        if name not in PRIORITIES.values():  # names that custom priorities had inside the scheduler alone
            strategy = f"`NodeResourcesFit`, scoringStrategy {STRATEGIES.get(plugin, '')}"
            yield code([name]), strategy if plugin in STRATEGIES else code([plugin] if plugin else []) or "nothing"


def flags() -> Iterable[tuple[str, str]]:
    for reason in dict.fromkeys(EXPLAINED.values()):
        yield code(f"--{name}" for name in EXPLAINED if EXPLAINED[name] == reason), reason


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(
            [
                (f"`{version.name}`", f"{version.read_by} | {version.changes or 'nothing'}")
                for version in VERSIONS.values()
            ],
            id="versions",
        ),
        pytest.param([(f"`{name}`", todo) for name, todo in REMOVED_PLUGINS.items()], id="plugins"),
        pytest.param([(f"`{name}`", code(plugins)) for name, plugins in PREDICATES.items()], id="predicates"),
        pytest.param(list(priorities()), id="priorities"),
        pytest.param(list(flags()), id="flags"),
    ],
)
def test_a_table_is_the_data(rows: list[tuple[str, str]]) -> None:
    assert table(rows) in PAGE, f"write:\n{table(rows)}"


def test_every_flag_that_is_carried_over_is_named() -> None:
    assert code(f"--{name}" for name in sorted(CARRIED)) in PAGE


@pytest.mark.parametrize(("inputs", "objects", "remarks"), EXAMPLES)
def test_an_example_gives_what_the_page_shows(inputs: str, objects: str, remarks: str) -> None:
    result = import_documents(list(yaml.safe_load_all(inputs)))
    assert isinstance(result, Imported), str(result)
    assert list(result.objects) == list(yaml.safe_load_all(objects))
    assert [str(remark) for remark in result.remarks] == remarks.splitlines()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == PAGE.count("```yaml input")
    assert EXAMPLES
