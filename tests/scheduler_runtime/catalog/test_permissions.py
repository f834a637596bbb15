"""Permissions of a scheduler beyond what its plugins declare; the real kube-scheduler judges them elsewhere."""

from itertools import product

import pytest

from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import SUPPORTED_MINORS, Target, permissions
from scheduler_runtime.catalog.permissions import all_kube_scheduler_rules, kube_scheduler_rules


def rights(minor: str, *plugins: str, **gates: bool) -> set[str]:
    """What kube-scheduler gets, such as ``update persistentvolumes``."""
    return {
        f"{verb} {resource}"
        for rule in kube_scheduler_rules(Target.parse(minor, gates), plugins)
        for verb, resource in product(rule.verbs, rule.resources)
    }


@pytest.mark.parametrize("minor", SUPPORTED_MINORS)
def test_without_volume_plugins_no_volume_is_read_or_written(minor: str) -> None:
    without = rights(minor, "NodeResourcesFit", "DefaultBinder")
    assert not [right for right in without if "persistentvolume" in right]
    assert "update persistentvolumes" in rights(minor, "VolumeBinding")
    assert {f"{verb} persistentvolumes" for verb in ("list", "watch")} < rights(minor, "VolumeZone")
    assert "update persistentvolumes" not in rights(minor, "VolumeZone")


@pytest.mark.parametrize("minor", SUPPORTED_MINORS)
def test_nothing_about_claims_is_written_without_the_plugin_for_devices(minor: str) -> None:
    writes = {
        right for right in rights(minor) if "resourceclaims" in right and right.split()[0] not in ("list", "watch")
    }
    assert writes == set()
    assert "update resourceclaims/status" in rights(minor, "DynamicResources")


def test_claims_are_created_only_for_extended_resources() -> None:
    assert "create resourceclaims" not in rights("1.35", "DynamicResources")
    assert "create resourceclaims" in rights("1.35", "DynamicResources", DRAExtendedResource=True)
    assert "create resourceclaims" in rights("1.36", "DynamicResources")


@pytest.mark.parametrize(("minor", "resource"), [("1.35", "workloads"), ("1.36", "podgroups"), ("1.37", "podgroups")])
def test_groups_of_pods_are_read_in_the_kind_of_the_version(minor: str, resource: str) -> None:
    groups = {"workloads", "podgroups"}
    read = {right for right in rights(minor, "GangScheduling", GenericWorkload=True) if right.split()[1] in groups}
    assert read == {f"list {resource}", f"watch {resource}"}
    assert not [right for right in rights(minor) if right.split()[1] in groups]


@pytest.mark.parametrize("minor", SUPPORTED_MINORS)
def test_the_sum_for_all_profiles_covers_the_default_one(minor: str) -> None:
    target = Target.parse(minor)
    default = set(kube_scheduler_rules(target, config.default_profile(target).names))
    assert _single(default) <= _single(all_kube_scheduler_rules())


def _single(rules: object) -> set[tuple[str, str, str]]:
    assert hasattr(rules, "__iter__")
    return {right for rule in rules for right in product(rule.api_groups, rule.resources, rule.verbs)}


def test_berths_own_scheduler_reads_no_single_object_but_a_pod() -> None:
    declared = [rule for plugin in catalog.in_tree().values() for rule in plugin.rules_for()]
    read = [rule for rule in (*permissions.PYTHON_RULES, *declared) if "get" in rule.verbs]
    assert [rule.resources for rule in read] == [("pods",)]
