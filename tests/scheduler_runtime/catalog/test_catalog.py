"""The catalog: which plugins there are, what they need, what each version enables."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml

import devcluster
from scheduler_runtime import catalog
from scheduler_runtime.catalog import Action, ClusterEvent, Declaration, PluginArgs, Rule, Version, Watch
from scheduler_runtime.plugins import IN_TREE


def test_the_catalog_has_exactly_the_plugins_there_is_code_for() -> None:
    assert set(catalog.in_tree()) == set(IN_TREE)


def test_every_plugin_of_this_build_is_one_of_upstreams_with_the_same_arguments() -> None:
    for name, declaration in catalog.in_tree().items():
        assert catalog.exists_in(name, Version(1, 36))
        assert declaration.args is catalog.IN_TREE_ARGS.get(name)


def test_find_returns_a_plugin_by_its_name() -> None:
    declaration = catalog.find("DefaultBinder")
    assert declaration is not None
    assert declaration.rules_for() == (Rule(("",), ("pods/binding",), ("create",)),)
    assert catalog.find("defaultbinder") is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("NodeResourceFit", ["NodeResourcesFit"]),
        ("tainttoleration", ["TaintToleration"]),
        ("PodTopologySpreads", ["PodTopologySpread"]),
        ("Zzz", []),
        ("Coscheduling", []),
    ],
)
def test_the_nearest_names(name: str, expected: list[str]) -> None:
    assert catalog.similar_plugins(name)[: len(expected) or None] == expected


def test_a_removed_plugin_is_in_no_supported_version() -> None:
    assert [name for name in catalog.REMOVED_PLUGINS if catalog.is_upstream_plugin(name)] == []
    assert set(catalog.REMOVED_PLUGINS) > catalog.REFUSED_ANYWHERE


@pytest.mark.parametrize(
    ("version", "minor"),
    [("1.20", "1.35"), ("v1.35.9", "1.35"), ("v1.36.4", "1.36"), ("1.37.0-rc.1", "1.37"), ("v1.99.0", "1.37")],
)
def test_a_version_behaves_like_the_nearest_supported_one(version: str, minor: str) -> None:
    assert catalog.defaults(Version.parse(version)).minor == minor


@pytest.mark.parametrize("text", ["", "1", "v1.x", "latest", "1.36.4.2"])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a Kubernetes version; write it like v1\.36\.4"):
        Version.parse(text)


@pytest.mark.parametrize("minor", ["1.35", "1.36", "1.37"])
def test_every_default_has_points_and_every_point_exists(minor: str) -> None:
    defaults = catalog.defaults(Version.parse(minor))
    assert {name for name, _ in defaults.multi_point} <= set(defaults.extends)
    assert {point for points in defaults.extends.values() for point in points} <= set(defaults.points)


@pytest.mark.parametrize("minor", ["1.35", "1.36", "1.37"])
@pytest.mark.cluster
def test_the_defaults_are_those_that_kube_scheduler_writes(minor: str, tmp_path: Path) -> None:
    if devcluster.missing("kube-scheduler", kubernetes=minor):
        pytest.skip(f"kube-scheduler {minor} is not built; run: devcluster build --kubernetes {minor}")
    binary = devcluster.binaries("kube-scheduler", kubernetes=minor)["kube-scheduler"]
    source, output = tmp_path / "config.yaml", tmp_path / "output.yaml"
    source.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n")
    flags = ["--secure-port=0", "--master=http://127.0.0.1:1", f"--config={source}", f"--write-config-to={output}"]
    subprocess.run([str(binary), *flags], check=True, capture_output=True, timeout=60)
    profile = yaml.safe_load(output.read_text())["profiles"][0]
    theirs = [(plugin["name"], plugin.get("weight", 0)) for plugin in profile["plugins"]["multiPoint"]["enabled"]]
    assert theirs == list(catalog.defaults(Version.parse(minor)).multi_point)
    for entry in profile["pluginConfig"]:
        fields = {key: value for key, value in entry["args"].items() if key not in ("apiVersion", "kind")}
        ours = catalog.IN_TREE_ARGS[entry["name"]]().model_dump(by_alias=True, mode="json", exclude_none=True)
        non_empty = {key: value for key, value in ours.items() if value not in ([], False)}
        assert {key: fields.get(key) for key in non_empty} == non_empty, entry["name"]


def test_a_declaration_names_only_hooks_that_exist() -> None:
    with pytest.raises(ValueError, match="Odd: filtre is not a hook; the hooks are pre_enqueue, sort_key"):
        Declaration(name="Odd", hooks=("filtre",))


def test_points_follow_from_hooks() -> None:
    declaration = Declaration(name="Some", hooks=("sort_key", "filter", "filter_row", "unreserve", "hint", "signature"))
    assert declaration.points == {"queueSort", "filter", "reserve"}


def test_rules_may_depend_on_the_arguments() -> None:
    class Args(PluginArgs):
        secret: str = ""

    def rules(args: PluginArgs | None) -> tuple[Rule, ...]:
        named = args.secret if isinstance(args, Args) else ""
        return (Rule(("",), ("secrets",), ("get",), (named,)),) if named else ()

    declaration = Declaration(name="Some", hooks=("filter",), args=Args, rules=rules)
    assert declaration.rules_for(Args()) == ()
    assert declaration.rules_for(Args(secret="a"))[0].resource_names == ("a",)


@pytest.mark.parametrize(
    ("event", "resource", "action", "covered"),
    [
        (ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL), "Node", Action.UPDATE_NODE_LABEL, True),
        (ClusterEvent("Node", Action.ADD), "Node", Action.UPDATE_NODE_LABEL, False),
        (ClusterEvent("Node", Action.ALL), "Pod", Action.ADD, False),
        (ClusterEvent("*", Action.ALL), "Pod", Action.DELETE, True),
        (ClusterEvent("Node", Action.UPDATE), "Node", Action.UPDATE_NODE_TAINT, True),
        (ClusterEvent("Node", Action.UPDATE), "Node", Action.ADD, False),
        (ClusterEvent("Pod", Action.ADD | Action.UPDATE), "Pod", Action.UPDATE, True),
        (ClusterEvent("Pod", Action.UPDATE_POD_LABEL), "Pod", Action.UPDATE, False),
    ],
)
def test_what_a_registration_covers(event: ClusterEvent, resource: str, action: Action, covered: bool) -> None:
    assert event.covers(resource, action) is covered


def test_all_actions_are_all_actions() -> None:
    single = [action for action in Action if action not in (Action.UPDATE, Action.ALL)]
    assert sum(single) == Action.ALL.value
    assert Action.UPDATE.value == Action.ALL.value - Action.ADD.value - Action.DELETE.value


def test_watches_may_depend_on_the_arguments_and_their_permissions_follow() -> None:
    class Args(PluginArgs):
        services: bool = False

    def watches(args: PluginArgs | None) -> tuple[Watch, ...]:
        return () if isinstance(args, Args) and not args.services else (Watch("v1", "Service"),)

    declaration = Declaration(name="Some", hooks=("filter",), args=Args, watches=watches)
    assert declaration.watches_for(Args()) == ()
    assert declaration.rules_for(Args()) == ()
    assert declaration.rules_for(Args(services=True)) == (Rule(("",), ("services",), ("list", "watch")),)
    assert declaration.watches_for() == (Watch("v1", "Service"),)
