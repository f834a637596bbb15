"""Scheduler Policies, Kubernetes 1.0 to 1.22."""

from typing import Any

import pytest

from scheduler_operator.migrate.policy_tables import FILTERS, PREDICATES, PRIORITIES
from scheduler_runtime import catalog
from scheduler_runtime.catalog import REMOVED_PLUGINS, Version
from tests.scheduler_operator.migrate.results import effective, outcome, remarks, spec

EVER = {
    "CheckNodeCondition CheckNodeDiskPressure CheckNodeMemoryPressure CheckNodePIDPressure CheckNodeUnschedulable "
    "CheckVolumeBinding EvenPodsSpread GeneralPredicates HostName MatchInterPodAffinity MatchNodeSelector "
    "MaxAzureDiskVolumeCount MaxCSIVolumeCountPred MaxCinderVolumeCount MaxEBSVolumeCount MaxGCEPDVolumeCount "
    "NoDiskConflict NoVolumeNodeConflict NoVolumeZoneConflict PodFitsHostPorts PodFitsPorts PodFitsResources "
    "PodToleratesNodeTaints": PREDICATES,
    "BalancedResourceAllocation EqualPriority EvenPodsSpreadPriority ImageLocalityPriority InterPodAffinityPriority "
    "LeastRequestedPriority MostRequestedPriority NodeAffinityPriority NodePreferAvoidPodsPriority "
    "RequestedToCapacityRatioPriority ResourceLimitsPriority SelectorSpreadPriority ServiceSpreadingPriority "
    "TaintTolerationPriority": PRIORITIES,
}
"""What the releases 1.2 to 1.22 registered, collected from each of them."""


def policy(**fields: Any) -> dict[str, Any]:
    return {"kind": "Policy", "apiVersion": "v1", **fields}


def priority(name: str, weight: int = 1, **argument: Any) -> dict[str, Any]:
    return {"name": name, "weight": weight, **({"argument": argument} if argument else {})}


@pytest.mark.parametrize(("names", "existing"), EVER.items(), ids=["predicates", "priorities"])
def test_every_name_there_ever_was_is_recognized(names: str, existing: dict[str, Any]) -> None:
    assert set(names.split()) <= set(existing)


def test_every_plugin_that_a_name_stands_for_exists_or_is_explained() -> None:
    plugins = {*(plugin for item in PREDICATES.values() for plugin in item), *PRIORITIES.values()} - {""}
    assert {
        name for name in plugins if name not in REMOVED_PLUGINS and not catalog.exists_in(name, Version(1, 37))
    } == set()


def test_a_policy_without_predicates_filters_by_the_defaults() -> None:
    assert set(FILTERS) <= effective(policy(priorities=[priority("LeastRequestedPriority")]))["filter"].keys()


def test_an_empty_list_of_predicates_leaves_what_was_mandatory() -> None:
    result = effective(policy(predicates=[], priorities=[priority("LeastRequestedPriority")]))
    assert FILTERS.keys() & result["filter"].keys() == {"TaintToleration", "NodeUnschedulable"}


@pytest.mark.parametrize("name", [name for name in PREDICATES if not name.startswith("Check")])
def test_a_predicate_filters_with_its_plugins_and_no_others(name: str) -> None:
    result = effective(policy(predicates=[{"name": name}]))
    expected = {"TaintToleration", "NodeUnschedulable", *PREDICATES[name]}
    assert FILTERS.keys() & result["filter"].keys() == expected
    assert FILTERS.keys() & result["reserve"].keys() == expected & {"VolumeBinding"}


def test_a_policy_without_priorities_scores_by_the_defaults_of_its_time() -> None:
    result = effective(policy(predicates=[{"name": "GeneralPredicates"}]))["score"]
    assert {name: result[name] for name in ("TaintToleration", "NodeAffinity", "InterPodAffinity")} == {
        "TaintToleration": 1,
        "NodeAffinity": 1,
        "InterPodAffinity": 1,
    }


def test_an_empty_list_of_priorities_scores_by_nothing() -> None:
    assert effective(policy(priorities=[]))["score"] == {}
    assert "no plugin scores" in remarks(policy(priorities=[]))["priorities"]


def test_priorities_score_with_their_weights_and_nothing_else_does() -> None:
    source = policy(priorities=[priority("ImageLocalityPriority", 4), priority("TaintTolerationPriority", 7)])
    result = effective(source)["score"]
    assert {name: weight for name, weight in result.items() if name not in ("VolumeBinding", "DynamicResources")} == {
        "ImageLocality": 4,
        "TaintToleration": 7,
    }


def test_most_requested_packs_nodes() -> None:
    result = spec(policy(priorities=[priority("MostRequestedPriority", 3)]))
    assert result["plugins"]["score"]["enabled"] == [{"name": "NodeResourcesFit", "weight": 3}]
    assert result["pluginConfig"][0]["args"] == {"scoringStrategy": {"type": "MostAllocated"}}


def test_a_ratio_with_a_shape_keeps_it() -> None:
    shape = [{"utilization": 0, "score": 0}, {"utilization": 50, "score": 7}]
    ratio = {"shape": shape, "resources": [{"name": "cpu", "weight": 5}]}
    result = spec(policy(priorities=[priority("MyRatio", 2, requestedToCapacityRatioArguments=ratio)]))
    assert result["pluginConfig"][0]["args"]["scoringStrategy"] == {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "cpu", "weight": 5}],
        "requestedToCapacityRatio": {"shape": shape},
    }


@pytest.mark.parametrize(
    ("named", "weight"),
    [
        pytest.param([priority("SelectorSpreadPriority", 5)], 5, id="alone"),
        pytest.param([priority("ServiceSpreadingPriority", 5)], 5, id="by-its-oldest-name"),
        pytest.param([priority("SelectorSpreadPriority", 5), priority("EvenPodsSpreadPriority", 3)], 3, id="with-even"),
    ],
)
def test_spreading_of_services_is_pod_topology_spread(named: list[dict[str, Any]], weight: int) -> None:
    assert effective(policy(priorities=named))["score"]["PodTopologySpread"] == weight


def test_labels_that_a_predicate_requires_choose_the_nodes_even_where_no_selector_was_matched() -> None:
    argument = {"labelsPresence": {"labels": ["region"], "presence": True}}
    source = policy(predicates=[{"name": "HasRegion", "argument": argument}])
    assert spec(source)["nodes"] == {"matchExpressions": [{"key": "region", "operator": "Exists"}]}
    assert "NodeAffinity" in effective(source)["filter"]


def test_labels_that_a_priority_prefers_count_even_where_no_affinity_did() -> None:
    source = policy(priorities=[priority("Fast", 4, labelPreference={"label": "fast", "presence": True})])
    assert effective(source)["score"]["NodeAffinity"] == 2
    assert "addedAffinity" in spec(source)["pluginConfig"][0]["args"]


@pytest.mark.parametrize(
    ("source", "path"),
    [
        pytest.param(
            policy(predicates=[{"name": "A", "argument": {"serviceAffinity": {"labels": ["rack"]}}}]),
            "predicates[0].argument.serviceAffinity",
            id="service-affinity",
        ),
        pytest.param(
            policy(priorities=[priority("A", serviceAntiAffinity={"label": "rack"})]),
            "priorities[0].argument.serviceAntiAffinity",
            id="service-anti-affinity",
        ),
        pytest.param(policy(predicates=[{"name": "Own"}]), "predicates[0]", id="unknown-predicate"),
        pytest.param(policy(priorities=[priority("Own")]), "priorities[0]", id="unknown-priority"),
        pytest.param(policy(priorities=[priority("EqualPriority")]), "priorities[0]", id="equal"),
        pytest.param(policy(priorities=[priority("ResourceLimitsPriority")]), "priorities[0]", id="limits"),
        pytest.param(policy(priorities=[priority("NodePreferAvoidPodsPriority")]), "priorities[0]", id="avoid"),
        pytest.param(policy(alwaysCheckAllPredicates=True), "alwaysCheckAllPredicates", id="check-all"),
    ],
)
def test_what_has_no_counterpart_is_reported(source: dict[str, Any], path: str) -> None:
    assert path in remarks(source)


def test_the_symmetric_weight_is_an_argument_of_inter_pod_affinity() -> None:
    (entry,) = spec(policy(hardPodAffinitySymmetricWeight=10))["pluginConfig"]
    assert entry == {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 10}}


@pytest.mark.parametrize(
    ("nanoseconds", "fields", "became"),
    [
        pytest.param(5_000_000_000, {}, "are the default, and left out", id="default"),
        pytest.param(7_000_000_000, {"httpTimeout": "7s"}, "are written as 7s", id="another"),
    ],
)
def test_what_became_of_nanoseconds_is_reported(nanoseconds: int, fields: dict[str, str], became: str) -> None:
    source = policy(extenders=[{"urlPrefix": "http://one", "httpTimeout": nanoseconds}])
    assert spec(source)["extenders"] == [{"urlPrefix": "http://one", **fields}]
    assert remarks(source)["extenders[0].httpTimeout"] == f"{nanoseconds} nanoseconds {became}"


@pytest.mark.parametrize(
    ("field", "named", "holder"),
    [
        ("extenders", {"urlPrefix": "http://one"}, "an extender"),
        ("predicates", {"name": "HostName"}, "a predicate"),
        ("priorities", {"name": "EqualPriority"}, "a priority"),
    ],
)
def test_a_field_that_does_not_exist_is_reported_with_its_owner(field: str, named: dict[str, str], holder: str) -> None:
    source = policy(unheard=1, **{field: [{**named, "unheard": 1}]})
    assert remarks(source)[f"{field}[0].unheard"] == f"left out: {holder} has no field unheard"
    assert remarks(source)["unheard"] == "left out: a Policy has no field unheard"


def test_extenders_are_read_in_whichever_case_and_in_nanoseconds() -> None:
    source = policy(
        extenders=[
            {
                "urlPrefix": "http://127.0.0.1/prefix",
                "BindVerb": "bind",
                "enableHttps": True,
                "tlsConfig": {"Insecure": True, "CAFile": "/ca"},
                "httpTimeout": 1_500_000_000,
                "managedResources": [{"name": "example.com/foo", "ignoredByScheduler": True}],
            }
        ]
    )
    assert spec(source)["extenders"] == [
        {
            "urlPrefix": "http://127.0.0.1/prefix",
            "bindVerb": "bind",
            "enableHTTPS": True,
            "tlsConfig": {"insecure": True, "caFile": "/ca"},
            "httpTimeout": "1500ms",
            "managedResources": [{"name": "example.com/foo", "ignoredByScheduler": True}],
        }
    ]


def test_a_policy_that_does_not_say_what_it_is_is_one_by_its_fields() -> None:
    assert outcome({"predicates": [{"name": "GeneralPredicates"}]}).objects
