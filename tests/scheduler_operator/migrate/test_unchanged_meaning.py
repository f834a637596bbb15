"""An old configuration does today what it did: names that did nothing still do not, and nothing runs by half."""

from typing import Any

import pytest

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Target
from tests.scheduler_operator.migrate.results import effective, one_profile, remarks, spec
from tests.scheduler_operator.migrate.test_runnable import rendered

FIT, LEAST, MOST = "NodeResourcesFit", "NodeResourcesLeastAllocated", "NodeResourcesMostAllocated"
EVERY_VERSION = ("1.35", "1.36", "1.37")
WHOLE_PLUGINS = ("VolumeRestrictions", "DynamicResources", "NodeDeclaredFeatures")
OF_ITS_TIME = {
    "preFilter": "NodeResourcesFit NodePorts PodTopologySpread InterPodAffinity VolumeBinding NodeAffinity",
    "filter": "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit VolumeRestrictions "
    "EBSLimits GCEPDLimits NodeVolumeLimits AzureDiskLimits VolumeBinding VolumeZone PodTopologySpread "
    "InterPodAffinity",
    "preScore": "InterPodAffinity PodTopologySpread TaintToleration NodeAffinity",
    "reserve": "VolumeBinding",
    "preBind": "VolumeBinding",
}
"""The defaults of Kubernetes 1.21, as somebody wrote them out who likes to see what runs."""


def listed(names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names.split()]


def scored(version: str, disabled: str, enabled: str = "") -> dict[str, Any]:
    weighed = [{**entry, "weight": 5} for entry in listed(enabled)]
    return one_profile(version, plugins={"score": {"disabled": listed(disabled), "enabled": weighed}})


@pytest.mark.parametrize(
    ("version", "name"),
    [
        *((version, name) for version in ("v1", "v1beta3", "v1beta2") for name in (LEAST, MOST)),
        ("v1beta1", MOST),
        ("v1beta1", "RequestedToCapacityRatio"),
        ("v1beta1", FIT),
    ],
)
def test_a_name_that_was_no_default_disables_nothing_and_has_a_remark(version: str, name: str) -> None:
    source = scored(version, name)
    assert effective(source) == effective(one_profile(version))
    assert "disabling it did nothing" in remarks(source)["profiles[0].plugins.score.disabled[0]"]


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha2"])
def test_scoring_by_requests_goes_where_its_plugin_was_disabled(version: str) -> None:
    source = scored(version, LEAST)
    assert FIT not in effective(source)["score"]
    assert "disabled in its place" in remarks(source)["profiles[0].plugins.score.disabled[0]"]


@pytest.mark.parametrize("disabled", [LEAST, "*", f"{LEAST} {FIT}", f"{FIT} {MOST} {LEAST}"])
def test_a_strategy_that_took_the_place_of_the_default_scores_alone(disabled: str) -> None:
    source = scored("v1beta1", disabled, MOST)
    assert effective(source)["score"][FIT] == 5
    assert spec(source)["pluginConfig"] == [{"name": FIT, "args": {"scoringStrategy": {"type": "MostAllocated"}}}]


def test_the_default_strategy_that_another_one_displaces_is_reported() -> None:
    assert "which scored by default" in remarks(scored("v1beta1", "", MOST))["profiles[0].plugins.score"]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2", "v1beta3"])
@pytest.mark.parametrize("point", OF_ITS_TIME)
def test_plugins_that_came_since_run_whole_or_not_at_all(version: str, point: str) -> None:
    changes = {"disabled": listed("*"), "enabled": listed(OF_ITS_TIME[point])}
    source = one_profile(version, plugins={point: changes})
    result = effective(source)
    assert {name for name in WHOLE_PLUGINS if name in result["filter"]} == set(WHOLE_PLUGINS) & result[
        "preFilter"
    ].keys()
    assert all(rendered([source], Target.parse(item)) for item in EVERY_VERSION)


def test_a_configuration_that_writes_every_default_of_its_time_runs_them_all() -> None:
    plugins = {point: {"disabled": listed("*"), "enabled": listed(names)} for point, names in OF_ITS_TIME.items()}
    source = one_profile("v1beta1", plugins=plugins)
    assert all(rendered([source], Target.parse(item)) for item in EVERY_VERSION)
    assert effective(source)["filter"].keys() == effective(one_profile("v1beta1"))["filter"].keys()


def test_what_the_author_named_or_turned_off_everywhere_stays_off() -> None:
    multi_point = {"disabled": listed("*"), "enabled": listed("PrioritySort DefaultBinder")}
    plugins = {"multiPoint": multi_point, "filter": {"enabled": listed("VolumeRestrictions NodeName")}}
    result = effective(one_profile("v1beta3", plugins=plugins))
    assert result["filter"].keys() == {"VolumeRestrictions", "NodeName"}
    assert result["preFilter"].keys() == {"VolumeRestrictions"}


@pytest.mark.parametrize("changes", [{"disabled": listed("*")}, {"enabled": [{"name": "NodeAffinity", "weight": 7}]}])
def test_multi_point_counts_since_v1beta3_only(changes: dict[str, Any]) -> None:
    source = one_profile("v1beta2", plugins={"multiPoint": changes})
    assert effective(source) == effective(one_profile("v1beta2"))
    assert "changed nothing" in remarks(source)["profiles[0].plugins.multiPoint"]


def test_a_document_of_today_is_not_completed() -> None:
    source = one_profile("v1", plugins={"preFilter": {"disabled": listed("*")}})
    assert effective(source)["preFilter"] == {}


def test_resources_that_were_balanced_by_weight_are_balanced_alike() -> None:
    resources = [{"name": "cpu", "weight": 3}, {"name": "example.com/gpu", "weight": 1}]
    args = [{"name": "NodeResourcesBalancedAllocation", "args": {"resources": resources}}]
    source = one_profile("v1beta1", pluginConfig=args)
    (entry,) = spec(source)["pluginConfig"]
    assert [resource["weight"] for resource in entry["args"]["resources"]] == [1, 1]
    assert "the weight of cpu became 1" in remarks(source)["profiles[0].pluginConfig[0]"]
    assert rendered([source], Target.parse(catalog.NEWEST_MINOR))


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        pytest.param("EBSLimits", "disable it too", id="volumes"),
        pytest.param("SelectorSpread", "give it defaultingType: List", id="spreading"),
        pytest.param("NodePreferAvoidPods", "need not be disabled", id="without-successor"),
    ],
)
def test_a_disabled_plugin_whose_work_another_one_took_over_is_reported_with_the_way_to_stop_that(
    name: str, instead: str
) -> None:
    source = one_profile("v1beta1", plugins={"score": {"disabled": listed(name)}})
    assert instead in remarks(source)["profiles[0].plugins.score.disabled[0]"]


def test_what_became_of_labels_is_reported_at_length_once() -> None:
    source = one_profile(
        "v1beta1",
        plugins={"filter": {"enabled": listed("NodeLabel")}, "score": {"enabled": listed("NodeLabel")}},
        pluginConfig=[{"name": "NodeLabel", "args": {"presentLabels": ["a"], "presentLabelsPreference": ["b"]}}],
    )
    result = remarks(source)
    assert len([message for message in result.values() if "addedAffinity of NodeAffinity" in message]) == 1
    assert "went the same way" in result["profiles[0].pluginConfig[0]"]
    assert "went the same way" in result["profiles[0].plugins.score.enabled[0]"]
