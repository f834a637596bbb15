"""``berth plugins``: the catalogue, and what is installed beside it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_operator.cli.plugin_facts import events_of, names
from scheduler_runtime import catalog
from scheduler_runtime.catalog import Action, ClusterEvent, Declaration
from tests.scheduler_operator.cli.berth import berth
from tests.support.distributions import install

CAP = """
from pydantic import Field
from scheduler_runtime.api import NodePlugin, PluginArgs

class {name}(NodePlugin):
    \'\'\'Keeps pods off nodes
    that cost too much.

    There is more to say.
    \'\'\'

    class Args(PluginArgs):
        most: float = Field(default=1.5, description="What a node may cost.")

    def filter_node(self, pod, node):
        return None
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_every_plugin_of_every_version_is_listed() -> None:
    lines = berth("plugins").stdout.splitlines()
    assert lines[0].split()[:4] == ["NAME", "KUBERNETES", "DEFAULT", "BERTH"]
    names = {line.split()[0] for line in lines[1:]}
    for version in ("1.35", "1.36", "1.37"):
        assert names >= set(catalog.defaults(catalog.Version.parse(version)).extends)
    assert names >= set(catalog.in_tree())


def test_the_list_says_where_a_plugin_is_and_whether_it_is_on() -> None:
    rows = {line.split()[0]: " ".join(line.split()) for line in berth("plugins").stdout.splitlines()}
    assert rows["TaintToleration"].startswith("TaintToleration all weight 3 yes Rejects nodes")
    assert rows["VolumeBinding"].startswith("VolumeBinding all weight 1")
    assert rows["DeferredPodScheduling"].startswith("DeferredPodScheduling 1.37+ off -")


def test_one_plugin_is_described_in_full() -> None:
    page = berth("plugins", "NodeResourcesFit").stdout
    assert "1.36        weight 1  preFilter, filter, preScore, score, placementScore" in page
    assert "type: LeastAllocated | MostAllocated | RequestedToCapacityRatio" in page
    assert "Emptier nodes, fuller ones, or a function of their utilization." in page
    assert "hooks        pre_filter, filter" in page
    assert "event        Node: Add, UpdateNodeAllocatable" in page


def test_permissions_are_reported() -> None:
    assert "permission   create pods/binding" in berth("plugins", "DefaultBinder").stdout


def test_a_plugin_without_arguments_says_so() -> None:
    assert "It takes no arguments." in berth("plugins", "NodeName").stdout


def test_json_and_yaml_say_the_same_of_every_plugin() -> None:
    result = json.loads(berth("plugins", "-o", "json").stdout)
    assert result == yaml.safe_load(berth("plugins", "-o", "yaml").stdout)
    assert [item["name"] for item in result] == names()
    assert json.loads(berth("plugins", "VolumeBinding", "-o", "json").stdout) in result


def test_changes_of_every_kind_are_reported_in_one_word() -> None:
    events = (ClusterEvent("Pod", Action.ADD | Action.UPDATE), ClusterEvent("Node", Action.ALL))
    declared = Declaration(name="Wakeful", hooks=("filter",), events=events)
    assert dict(events_of(declared)) == {"Pod": ["Add", "Update"], "Node": ["All"]}


def test_every_page_can_be_printed() -> None:
    for name in names():
        ran = berth("plugins", name)
        assert (ran.status, ran.stderr) == (0, "")
        assert max(map(len, ran.stdout.splitlines())) <= 120


def test_a_plugin_that_does_not_exist_is_refused_with_what_was_perhaps_intended() -> None:
    ran = berth("plugins", "NodeResourceFit")
    assert (ran.status, ran.stdout) == (2, "")
    assert "did you mean NodeResourcesFit" in ran.stderr


def rows() -> dict[str, str]:
    return {line.split()[0]: " ".join(line.split()[1:]) for line in berth("plugins").stdout.splitlines()}


def test_what_is_installed_is_listed_with_its_distribution(site: Path) -> None:
    before = list(rows())
    install(site, "listed-caps", CAP.format(name="ListedCap"), ListedCap="ListedCap", Bad="Missing")
    assert list(rows()) == [*before, "Bad", "ListedCap"]
    assert rows()["ListedCap"] == (
        "- off yes Keeps pods off nodes that cost too much. (listed_caps:ListedCap of listed-caps 1.0)"
    )
    assert rows()["Bad"].startswith("- off - Cannot be used: listed_caps:Missing of listed-caps 1.0 cannot be imported")


def test_one_that_is_installed_is_described_in_full(site: Path) -> None:
    install(site, "whole-caps", CAP.format(name="WholeCap"), WholeCap="WholeCap")
    page = berth("plugins", "WholeCap").stdout
    assert page.startswith("WholeCap\nKeeps pods off nodes that cost too much.\n\nFrom whole_caps:WholeCap of ")
    assert "most: number, default 1.5\n    What a node may cost.\n" in page
    assert "hooks        filter, filter_row" in page
    result: Any = json.loads(berth("plugins", "WholeCap", "-o", "json").stdout)
    assert (result["berth"], result["origin"]) == (True, "whole_caps:WholeCap of whole-caps 1.0")
    assert result in json.loads(berth("plugins", "-o", "json").stdout)


def test_one_that_is_installed_and_cannot_be_used_says_why(site: Path) -> None:
    install(site, "unusable-caps", BrokenCap="Missing")
    ran = berth("plugins", "BrokenCap")
    assert (ran.status, ran.stdout) == (2, "")
    assert "unusable_caps:Missing of unusable-caps 1.0 cannot be imported" in ran.stderr
    (broken,) = (load for load in json.loads(berth("plugins", "-o", "json").stdout) if load["name"] == "BrokenCap")
    assert broken["problem"] in ran.stderr


def test_an_installed_one_may_be_intended(site: Path) -> None:
    install(site, "mean-caps", CAP.format(name="MeanCap"), MeanCap="MeanCap")
    assert "did you mean MeanCap?" in berth("plugins", "MeenCap").stderr


def test_one_that_is_offered_under_a_name_of_kubernetes_is_listed_with_what_to_do(site: Path) -> None:
    install(site, "taken-caps", NodeName="X")
    assert "Cannot be used: taken_caps:X of taken-caps 1.0 offers it, but Kubernetes has a plugin of that name" in (
        berth("plugins").stdout
    )
    assert berth("plugins", "NodeName").stdout.startswith("NodeName\nRejects all nodes except the one")


HEAD = """
import math
from typing import Any
from pydantic import BaseModel
from scheduler_runtime.api import NodePlugin, PluginArgs

class Tree(BaseModel):
    kids: list["Tree"] = []

print("this is no part of an answer")

class {name}(NodePlugin):
"""


@pytest.mark.parametrize(
    ("name", "body", "output"),
    [
        pytest.param(
            "NeedsOne", "class Args(PluginArgs):\n        most: float", "most: number, required", id="required"
        ),
        pytest.param(
            "Endless", "class Args(PluginArgs):\n        of: Tree = Tree()", "kids: list of objects", id="circle"
        ),
        pytest.param("Inf", "class Args(PluginArgs):\n        most: float = math.inf", "default inf", id="infinite"),
        pytest.param("Odd", "class Args(PluginArgs):\n        any: Any = object()", "any: anything", id="unwritable"),
        pytest.param(
            "Two", "class Args(PluginArgs):\n        n: int | str = 1", "n: integer or string", id="two-types"
        ),
        pytest.param("Raises", "rules = lambda args: 1 / 0", "cannot be shown: ", id="rules-that-raise"),
        pytest.param("Doc", "__doc__ = 5", "cannot be shown: ", id="no-docstring-at-all"),
        pytest.param("Moody", "events = lambda args: ()", "events is ", id="events-by-arguments"),
        pytest.param(
            "Ends", "rules = lambda args: __import__('sys').exit(1)", "cannot be shown: ", id="rules-that-end"
        ),
        pytest.param("Texts", "rules = lambda args: ('get',)", "cannot be shown: ", id="rules-that-are-none"),
        pytest.param(
            "Maps", "declaration = {}\n    declaration['name'] = 'Maps'", "cannot be ", id="a-dict-that-declares"
        ),
        pytest.param("Escaped", "'\\x1b[2J is no text'", "\\x1b[2J is no text", id="moves-the-cursor"),
    ],
)
def test_whatever_a_class_declares_is_displayed_or_reported(site: Path, name: str, body: str, output: str) -> None:
    code = HEAD.format(name=name) + f"    {body}\n    def filter_node(self, pod, node):\n        return None\n"
    install(site, f"declares-{name.lower()}", code, **{name: name})
    page, listed = berth("plugins", name), json.loads(berth("plugins", "-o", "json").stdout)
    assert page.status in (0, 2)
    assert output in page.stdout + page.stderr
    assert "\x1b" not in page.stdout + page.stderr
    (result,) = (item for item in listed if item["name"] == name)
    assert bool(result["problem"]) is (page.status == 2)
    assert "NaN" not in json.dumps(result)


def test_only_the_plugin_that_is_requested_is_imported(site: Path) -> None:
    install(site, "curious-caps", CAP.format(name="CuriousCap"), CuriousCap="CuriousCap")
    assert berth("plugins", "NodeName").status == 0
    assert "curious_caps" not in sys.modules
