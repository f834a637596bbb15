"""``berth plugins``: the catalogue, and what is installed beside it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_operator.cli.plugin_facts import events_of, every_plugin
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


def test_one_plugin_is_told_whole() -> None:
    page = berth("plugins", "NodeResourcesFit").stdout
    assert "1.36        weight 1  preFilter, filter, preScore, score, placementScore" in page
    assert "type: LeastAllocated | MostAllocated | RequestedToCapacityRatio" in page
    assert "Emptier nodes, fuller ones, or by a function of how full they would be." in page
    assert "hooks        pre_filter, filter" in page
    assert "event        Node: Add, UpdateNodeAllocatable" in page


def test_permissions_are_told() -> None:
    assert "permission   create pods/binding" in berth("plugins", "DefaultBinder").stdout


def test_a_plugin_without_arguments_says_so() -> None:
    assert "It takes no arguments." in berth("plugins", "NodeName").stdout


def test_json_and_yaml_say_the_same_of_every_plugin() -> None:
    found = json.loads(berth("plugins", "-o", "json").stdout)
    assert found == yaml.safe_load(berth("plugins", "-o", "yaml").stdout)
    assert [each["name"] for each in found] == list(every_plugin())
    assert json.loads(berth("plugins", "VolumeBinding", "-o", "json").stdout) in found


def test_changes_of_every_kind_are_said_in_one_word() -> None:
    events = (ClusterEvent("Pod", Action.ADD | Action.UPDATE), ClusterEvent("Node", Action.ALL))
    declared = Declaration(name="Wakeful", hooks=("filter",), events=events)
    assert dict(events_of(declared)) == {"Pod": ["Add", "Update"], "Node": ["All"]}


def test_every_page_can_be_printed() -> None:
    for name in every_plugin():
        ran = berth("plugins", name)
        assert (ran.status, ran.stderr) == (0, "")
        assert max(map(len, ran.stdout.splitlines())) <= 120


def test_a_plugin_that_does_not_exist_is_refused_with_what_was_perhaps_meant() -> None:
    ran = berth("plugins", "NodeResourceFit")
    assert (ran.status, ran.stdout) == (2, "")
    assert "did you mean NodeResourcesFit" in ran.stderr


def rows() -> dict[str, str]:
    return {line.split()[0]: " ".join(line.split()[1:]) for line in berth("plugins").stdout.splitlines()}


def test_what_is_installed_is_listed_with_its_distribution(site: Path) -> None:
    before = list(rows())
    install(site, "listed-caps", CAP.format(name="ListedCap"), ListedCap="ListedCap", Bad="Missing", NodeName="X")
    assert list(rows()) == [*before, "Bad", "ListedCap"]
    assert rows()["ListedCap"] == (
        "- off yes Keeps pods off nodes that cost too much. (listed_caps:ListedCap of listed-caps 1.0)"
    )
    assert rows()["Bad"].startswith("- off - Cannot be used: listed_caps:Missing of listed-caps 1.0 cannot be imported")


def test_one_that_is_installed_is_told_whole(site: Path) -> None:
    install(site, "told-whole-caps", CAP.format(name="WholeCap"), WholeCap="WholeCap")
    page = berth("plugins", "WholeCap").stdout
    assert page.startswith("WholeCap\nKeeps pods off nodes that cost too much.\n\nFrom told_whole_caps:WholeCap of ")
    assert "most: number, default 1.5\n    What a node may cost.\n" in page
    assert "hooks        filter, filter_row" in page
    found: Any = json.loads(berth("plugins", "WholeCap", "-o", "json").stdout)
    assert (found["berth"], found["origin"]) == (True, "told_whole_caps:WholeCap of told-whole-caps 1.0")
    assert found in json.loads(berth("plugins", "-o", "json").stdout)


def test_one_that_is_installed_and_cannot_be_used_says_why(site: Path) -> None:
    install(site, "unusable-caps", BrokenCap="Missing")
    ran = berth("plugins", "BrokenCap")
    assert (ran.status, ran.stdout) == (2, "")
    assert "unusable_caps:Missing of unusable-caps 1.0 cannot be imported" in ran.stderr
    (told,) = (each for each in json.loads(berth("plugins", "-o", "json").stdout) if each["name"] == "BrokenCap")
    assert told["problem"] in ran.stderr


def test_one_that_is_installed_may_be_meant(site: Path) -> None:
    install(site, "meant-caps", CAP.format(name="MeantCap"), MeantCap="MeantCap")
    assert "did you mean MeantCap?" in berth("plugins", "MeentCap").stderr
