"""The page about the command line: every example prints what the page says."""

import re
import shlex
from pathlib import Path

import pytest

from tests.scheduler_operator.cli.berth import berth
from tests.support.distributions import install

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/cli.md").read_text()
PRICE_CAP = (ROOT / "examples/plugins/price_cap/price_cap.py").read_text()
FILES = re.findall(r"```yaml\n# (\S+)\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = re.findall(r"```console\n\$ berth ([^\n]*)\n(.*?)```", PAGE, re.DOTALL)
REST = "…\n"
"""A line that stands for any number of others."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in FILES:
        (tmp_path / name).write_text(f"# {name}\n{content}")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("command", "printed"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_prints_what_the_page_says(command: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if "PriceCap" in command:
        install(tmp_path, "berth-price-cap", PRICE_CAP, "price_cap", PriceCap="PriceCap")
        monkeypatch.syspath_prepend(tmp_path)
    ran = berth(*shlex.split(command))
    pattern = ".*\n".join(re.escape(part) for part in printed.split(REST))
    assert re.fullmatch(pattern, ran.stderr + ran.stdout, re.DOTALL), ran.stderr + ran.stdout


def test_the_page_has_an_example_of_every_command() -> None:
    from scheduler_operator.cli.program import COMMANDS

    assert {command.split()[0] for command, _ in EXAMPLES} == {*COMMANDS} - {"completion"}
    assert set(re.findall(r"^## berth (\w+)$", PAGE, re.MULTILINE)) == {*COMMANDS}
