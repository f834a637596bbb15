"""``berth plugins --declare``: from a plugin's code to what the operator needs to know of it."""

from pathlib import Path
from typing import get_args

import pytest
import yaml

from scheduler_operator.cli import declare
from scheduler_operator.models.plugin_config import Hook
from scheduler_runtime.catalog import HOOK_POINTS
from scheduler_runtime.catalog.declaration import UNPOINTED_HOOKS
from tests.scheduler_operator.cli.berth import BARE, Ran, berth

PRICE_CAP = '''
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from scheduler_runtime.api import Action, ClusterEvent, Plugin, PluginArgs, Reject, Watch


class PriceCap(Plugin):
    """Keep pods off nodes that cost too much."""

    class Args(PluginArgs):
        max_hourly_price: Annotated[float, Field(ge=0)] = 10.0

    watches = (Watch("v1", "ConfigMap", namespace="berth-system", name="node-prices"),)
    events = (ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL),)

    def filter(self, pod: Any, nodes: Any, state: Any) -> Iterator[Reject]:
        yield from ()

    def score(self, pod: Any, nodes: Any, state: Any) -> Any:
        return 0
'''


def declared(folder: Path, code: str) -> Ran:
    file = folder / "price_cap.py"
    file.write_text(code)
    return berth("plugins", "--declare", str(file))


def test_a_plugin_is_declared_by_its_own_code(tmp_path: Path) -> None:
    (result,) = yaml.safe_load_all(declared(tmp_path, PRICE_CAP).stdout)
    spec = result["spec"]
    assert (result["metadata"]["name"], spec["plugin"]) == ("price-cap", "PriceCap")
    assert spec["declares"]["hooks"] == ["filter", "score"]
    price = spec["declares"]["argsSchema"]["properties"]["maxHourlyPrice"]
    assert (price["type"], price["minimum"]) == ("number", 0)
    assert spec["declares"]["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["configmaps"],
            "verbs": ["list", "watch"],
            "resourceNames": ["node-prices"],
            "namespace": "berth-system",
        }
    ]
    assert spec["declares"]["events"] == [{"resource": "Node", "actions": ["Add", "UpdateNodeLabel"]}]


def test_what_is_printed_makes_the_plugin_available_to_a_profile(tmp_path: Path) -> None:
    profile = BARE % ("cheap", "plugins: {score: {enabled: [{name: PriceCap, weight: 2}]}}")
    assert berth("expand", "-", stdin=profile).status == 2
    ran = berth("expand", "-", stdin=declared(tmp_path, PRICE_CAP).stdout + profile)
    assert (ran.status, ran.stderr) == (0, "")
    assert "PriceCap" in ran.stdout


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param("x = 1\n", "has no class that is a Plugin", id="no-plugin"),
        pytest.param(
            "\nimport nothing_of_the_kind\n", ":2: cannot be loaded: ModuleNotFoundError: No module", id="import"
        ),
        pytest.param("def\n", ":1: cannot be loaded: SyntaxError", id="syntax"),
        pytest.param("raise SystemExit(0)\n", ":1: cannot be loaded: SystemExit: 0", id="exit"),
        pytest.param(
            f"{PRICE_CAP}\n    preFilter = filter\n",
            "PriceCap: preFilter is not a hook; did you mean pre_filter?",
            id="misspelt",
        ),
        pytest.param(PRICE_CAP.replace("PriceCap", "NodeName"), "berth knows NodeName by itself", id="known-already"),
        pytest.param(
            PRICE_CAP.replace('namespace="berth-system"', 'namespace="elsewhere"'),
            "elsewhere is not the operator's own namespace",
            id="another-namespace",
        ),
    ],
)
def test_what_cannot_be_declared_is_refused(tmp_path: Path, code: str, words: str) -> None:
    ran = declared(tmp_path, code)
    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"{tmp_path}/price_cap.py:")
    assert words in ran.stderr


def test_a_plugin_may_import_what_is_beside_it(tmp_path: Path) -> None:
    for name, currency in (("here", "euro"), ("there", "yen")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "units_of_price.py").write_text(f"CURRENCY = {currency!r}\n")
        ran = declared(folder, f"from units_of_price import CURRENCY\n{PRICE_CAP}\n    name = f'In{{CURRENCY}}'\n")
        assert (ran.status, ran.stderr) == (0, "")
        assert yaml.safe_load(ran.stdout)["spec"]["plugin"] == f"In{currency}"


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("x = 1\n")
    for name, words in (
        (tmp_path, "is a folder; name a file"),
        (tmp_path / "gone.py", "does not exist"),
        (notes, "is no Python file; its name has to end in .py"),
    ):
        assert berth("plugins", "--declare", str(name)).stderr == f"{name}: {words}\n"
    assert "takes no NAME" in berth("plugins", "NodeName", "--declare", "a.py").stderr


def test_every_hook_of_the_contract_can_be_declared() -> None:
    hooks = {declare.api_hook_name(hook) for hook in (*HOOK_POINTS, *UNPOINTED_HOOKS)}
    assert hooks <= set(get_args(Hook))
