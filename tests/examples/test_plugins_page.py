"""docs/plugins.md, followed to the letter in an empty folder: its files are written, its commands are run."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from scheduler_operator.cli.declare import declare_plugins
from scheduler_operator.desired.rbac import namespaced
from scheduler_operator.models import PluginConfigSpec
from scheduler_runtime import config
from scheduler_runtime.api import Handle, LabelColumn, NodeTable, Plugin
from scheduler_runtime.catalog import HOOK_POINTS
from scheduler_runtime.catalog.declaration import UNPOINTED_HOOKS
from scheduler_runtime.catalog.permissions import source_rule
from scheduler_runtime.config import berth_options
from scheduler_runtime.config.berth_options import BerthOptions

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/plugins.md").read_text()
PROFILES = (ROOT / "docs/profiles.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [text for language, text in BLOCKS if language == "sh"]
BIN = Path(sys.executable).parent


def files() -> dict[str, str]:
    """The files that the page shows, by the names in their first lines."""
    blocks = [text.partition("\n") for language, text in BLOCKS if language != "sh"]
    return {first.removeprefix("# "): rest for first, _, rest in blocks}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in files().items():
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, command: str, installed: Path | None = None) -> str:
    """Return the output of a shell command; a command that fails fails the test."""
    modules = [*filter(None, [str(installed or ""), os.environ.get("PYTHONPATH")])]
    settings = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(modules)}
    ran = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env=settings, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_what_the_page_shows_is_what_the_examples_hold() -> None:
    example = ROOT / "examples/plugins/price_cap"
    names = {"price_cap.py", "pyproject.toml", "config.yaml", "Dockerfile"}
    assert {path.name for path in example.iterdir() if path.is_file()} == names
    on_page = files()
    assert {name: on_page[name] for name in names} == {name: (example / name).read_text() for name in names}


def test_the_page_about_profiles_declares_what_the_example_is() -> None:
    file = ROOT / "examples/plugins/price_cap/price_cap.py"
    (declared,) = declare_plugins(str(file), "berth-system")
    (manifest,) = (
        block
        for block in re.findall(r"^```yaml\n(.*?)^```$", PROFILES, re.MULTILINE | re.DOTALL)
        if "declares:" in block and "price-cap" in block
    )
    spec = yaml.safe_load(manifest)["spec"]
    assert spec["declares"] == declared["spec"]["declares"]
    assert spec["source"]["configMap"]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_by_hand_the_example_is_named_and_granted_by_its_hash(folder: Path) -> None:
    options = berth_options.load((folder / "berth.yaml").read_text(), "berth.yaml")
    assert isinstance(options, BerthOptions), str(options)
    source = options.plugins["PriceCap"].config_map
    assert source is not None
    assert source.sha256 == hashlib.sha256((folder / source.key).read_bytes()).hexdigest()
    role = yaml.safe_load((folder / "role.yaml").read_text())
    read = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [source.name], "verbs": ["get"]}
    granted = source_rule([source.sha256], role["metadata"]["namespace"])
    assert role["rules"] == [read, *namespaced(granted.namespace, [granted])]


@pytest.mark.thorough
def test_the_plugins_pass_their_tests_and_make_a_wheel_that_a_scheduler_finds(folder: Path) -> None:
    passed = run(folder, COMMANDS[0])
    assert re.search(r"\b7 passed\b", passed), passed
    (wheel,) = (folder / "dist").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    (folder / "price_cap.py").unlink()
    look = (
        "from scheduler_runtime import config; from scheduler_runtime.reload.installed_plugins import load_installed; "
        "print(load_installed(config.load(open('config.yaml').read())))"
    )
    classes = run(folder, f'python -c "{look}"', installed=folder / "site")
    assert classes == "{'PriceCap': <class 'price_cap.PriceCap'>}\n"


def test_a_call_that_blocks_runs_in_a_thread(folder: Path) -> None:
    look = (
        "import asyncio; from ledger import Ledger; from scheduler_runtime import testing; "
        "asyncio.run(Ledger(None, None).pre_bind(testing.pod('p'), 'n', None)); print(open('ledger').read())"
    )
    assert run(folder, f'python -c "{look}"') == "default/p n\n\n"


def test_the_operator_takes_what_the_plugin_declares(folder: Path) -> None:
    run(folder, COMMANDS[1])
    declared = yaml.safe_load((folder / "price-cap.yaml").read_text())
    spec = PluginConfigSpec.model_validate(declared["spec"])
    assert spec.plugin == "PriceCap"
    assert spec.declares is not None
    assert set(spec.declares.hooks) == {"preFilter", "filter", "score", "normalizeScore", "signature"}


def test_the_page_has_no_commands_that_nobody_runs() -> None:
    assert len(COMMANDS) == 2
    assert {language for language, _ in BLOCKS} == {"python", "sh", "toml", "yaml", "dockerfile"}


def test_the_table_of_hooks_has_every_hook_with_its_arguments() -> None:
    rows = " ".join(re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE))
    for hook in (*HOOK_POINTS, *UNPOINTED_HOOKS):
        assert re.search(rf"`(async )?{hook}\b|, `{hook}\(", rows), hook
        assert hasattr(Plugin, hook)


def test_the_image_stands_on_the_one_of_the_project() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    assert "COPY --from=build /opt/berth /opt/berth" in dockerfile
    assert (
        re.findall(r"^USER (.+)$", dockerfile, re.MULTILINE)[-1]
        == re.findall(r"^USER (.+)$", files()["Dockerfile"], re.M)[-1]
    )


def test_the_document_enables_the_plugin() -> None:
    document = config.load(files()["config.yaml"])
    assert not isinstance(document, config.Problems)
    assert document.profiles[0].plugins.at("multiPoint").enabled[0].name == "PriceCap"


def rows_of(heading: str) -> str:
    """The first column of the table below a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return " ".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))


def test_what_a_plugin_sees_is_there() -> None:
    names = re.findall(r"\b([a-z_]+)`|`([a-z_]+)\(", rows_of("Inputs of a plugin"))
    on_page = {one or other for one, other in names}
    assert on_page >= {"names", "row", "feasible", "allocatable", "label", "taint_set_ids"}
    assert on_page <= {*dir(NodeTable), *NodeTable.__slots__}
    for name in re.findall(r"`([a-z_]+)(?:\(|`)", PAGE.partition("`self.handle` gives")[2].partition("\n## ")[0]):
        assert hasattr(Handle, name) or name == "watches", name
    for name in ("equals", "isin", "exists", "above", "below", "map"):
        assert hasattr(LabelColumn, name)
