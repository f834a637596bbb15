"""KubeSchedulerConfiguration v1 to profiles."""

from typing import Any

import pytest

from scheduler_operator.migrate.api_versions import VERSIONS
from tests.scheduler_operator.migrate.results import document, one_profile, outcome, profiles, refusals, remarks, spec


def test_a_document_that_asks_for_nothing_becomes_a_profile_that_asks_for_nothing() -> None:
    assert spec(one_profile()) == {}
    assert remarks(one_profile()) == {}


def test_what_a_profile_says_is_carried_over_unchanged() -> None:
    messages: dict[str, Any] = {
        "percentageOfNodesToScore": 40,
        "plugins": {
            "filter": {"disabled": [{"name": "NodePorts"}]},
            "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit", "weight": 5}]},
        },
        "pluginConfig": [{"name": "NodeResourcesFit", "args": {"scoringStrategy": {"type": "MostAllocated"}}}],
    }
    assert spec(one_profile(**messages)) == messages


def test_process_settings_of_an_input_go_to_the_scheduler_of_the_profile() -> None:
    source = document(
        parallelism=4,
        podInitialBackoffSeconds=2,
        podMaxBackoffSeconds=60,
        leaderElection={"leaseDuration": "30s", "renewDeadline": "20s"},
        clientConnection={"qps": 20, "burst": 40},
    )
    assert spec(source)["scheduler"] == {
        "leaderElection": {"leaseDuration": "30s", "renewDeadline": "20s"},
        "podInitialBackoffSeconds": 2,
        "podMaxBackoffSeconds": 60,
        "parallelism": 4,
        "clientConnection": {"qps": 20, "burst": 40},
    }


def test_values_that_hold_anyway_are_omitted() -> None:
    source = document(
        parallelism=16,
        podMaxBackoffSeconds=10,
        enableProfiling=True,
        leaderElection={"leaderElect": True, "leaseDuration": "15s", "renewDeadline": "0s"},
    )
    assert spec(source) == {}


def test_fields_that_a_profile_does_not_have_become_overrides() -> None:
    source = document(enableProfiling=False, clientConnection={"qps": -1, "contentType": "application/json"})
    assert spec(source)["overrides"] == [
        {"op": "add", "path": "/clientConnection/contentType", "value": "application/json"},
        {"op": "add", "path": "/enableProfiling", "value": False},
    ]


def test_later_profiles_join_the_first_and_keep_what_is_theirs() -> None:
    source = document(
        parallelism=4,
        percentageOfNodesToScore=30,
        profiles=[{"schedulerName": "one"}, {"schedulerName": "two", "percentageOfNodesToScore": 0}],
    )
    assert profiles(outcome(source)) == {
        "one": {"percentageOfNodesToScore": 30, "scheduler": {"parallelism": 4}},
        "two": {"percentageOfNodesToScore": 0, "joins": "one"},
    }


EXTENDER = {"urlPrefix": "http://one", "filterVerb": "filter", "httpTimeout": "3s"}


def test_extenders_of_one_profile_are_that_profiles() -> None:
    source = document(extenders=[EXTENDER])
    assert spec(source) == {"extenders": [EXTENDER]}
    assert "extenders" not in remarks(source)


def test_extenders_of_several_profiles_stay_those_of_the_process() -> None:
    source = document(extenders=[EXTENDER], profiles=[{"schedulerName": "one"}, {"schedulerName": "two"}])
    assert profiles(outcome(source)) == {
        "one": {"overrides": [{"op": "add", "path": "/extenders", "value": [EXTENDER]}]},
        "two": {"joins": "one"},
    }
    assert "became an override" in remarks(source)["extenders"]


def test_tls_counts_without_enable_https_because_the_address_decides() -> None:
    extender = {"urlPrefix": "https://one", "tlsConfig": {"caFile": "/ca", "serverName": "two"}}
    assert spec(document(extenders=[extender]))["extenders"] == [extender]


def test_a_scheduler_that_elects_no_leader_runs_once() -> None:
    source = document(leaderElection={"leaderElect": False, "resourceName": "mine", "resourceNamespace": "kube-system"})
    assert spec(source)["scheduler"] == {"replicas": 1}
    assert set(remarks(source)) >= {
        "leaderElection.leaderElect",
        "leaderElection.resourceName",
        "leaderElection.resourceNamespace",
    }


def test_no_word_on_qps_is_reported_because_berth_sets_no_limit() -> None:
    assert "50 requests" in remarks(document(clientConnection={}))["clientConnection"]


def test_arguments_lose_the_header_that_goes_without_saying() -> None:
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "InterPodAffinityArgs"}
    source = one_profile(pluginConfig=[{"name": "InterPodAffinity", "args": {**header, "hardPodAffinityWeight": 7}}])
    assert spec(source)["pluginConfig"] == [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 7}}]


def test_a_plugin_from_elsewhere_gets_a_plugin_config_that_declares_it() -> None:
    source = one_profile(
        plugins={"filter": {"enabled": [{"name": "PriceCap"}]}, "score": {"enabled": [{"name": "PriceCap"}]}},
        pluginConfig=[{"name": "PriceCap", "args": {"maxHourlyPrice": 2}}],
    )
    result = outcome(source)
    assert result.objects[0]["metadata"]["name"] == "mine-price-cap"
    assert result.objects[0]["spec"] == {
        "plugin": "PriceCap",
        "args": {"maxHourlyPrice": 2},
        "declares": {
            "hooks": ["filter", "score"],
            "argsSchema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    assert profiles(result)["mine"]["engine"] == "KubeScheduler"
    assert profiles(result)["mine"]["pluginConfig"] == [{"name": "PriceCap", "ref": "mine-price-cap"}]


def test_a_document_with_all_defaults_becomes_short() -> None:
    plugins = {
        "multiPoint": {"enabled": [{"name": "TaintToleration", "weight": 3}, {"name": "NodePorts"}]},
        "bind": {"enabled": [{"name": "DefaultBinder"}]},
    }
    args = [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 1}}]
    source = one_profile(plugins=plugins, pluginConfig=args)
    assert spec(source) == {}
    assert remarks(source)["profiles[0].plugins"].endswith("left out: DefaultBinder, TaintToleration, NodePorts")
    assert remarks(source)["profiles[0].pluginConfig[0]"].endswith("left out: hardPodAffinityWeight")


def test_arguments_of_a_plugin_that_is_off_are_omitted_with_a_remark() -> None:
    off = {"multiPoint": {"disabled": [{"name": "InterPodAffinity"}]}}
    source = one_profile(plugins=off, pluginConfig=[{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 9}}])
    assert spec(source) == {"plugins": off}
    assert remarks(source)["profiles[0].pluginConfig[0]"] == "left out, because InterPodAffinity is off"


def test_a_default_that_loses_its_weight_by_being_named_stays_named() -> None:
    source = one_profile(plugins={"score": {"enabled": [{"name": "TaintToleration"}]}})
    assert spec(source)["plugins"] == {"score": {"enabled": [{"name": "TaintToleration"}]}}


@pytest.mark.parametrize(
    ("source", "path", "sentence"),
    [
        pytest.param(document(parallelism="many"), "parallelism", "'many' is not a whole number", id="text-for-number"),
        pytest.param(
            document("v1beta3", profiles={}), "profiles", "{} is not a list of mappings", id="mapping-for-list"
        ),
        pytest.param(
            document("v1beta3", profiles=[{"schedulerName": "a"}, {}]),
            "profiles[1].schedulerName",
            "is required, because there are several profiles",
            id="one-of-two-without-a-name",
        ),
        pytest.param(
            document("v1beta3", profiles=[{"schedulerName": "a"}, {"schedulerName": "a"}]),
            "profiles[1].schedulerName",
            "'a' is the name of profiles[0] too; give each its own",
            id="one-name-twice",
        ),
        pytest.param(
            document(parallelism=0), "parallelism", "0 is too small; it must be at least 1", id="out-of-range"
        ),
        pytest.param(
            document("v1beta3", parallelism=0),
            "SchedulerProfile mine, which would come of it: spec.scheduler.parallelism",
            "0 is too small; it must be at least 1",
            id="out-of-range-in-an-old-version",
        ),
    ],
)
def test_a_document_is_refused_with_the_place_and_what_would_be_right(
    source: dict[str, Any], path: str, sentence: str
) -> None:
    assert refusals(source)[path] == sentence


STRICT = [version.name for version in VERSIONS.values() if version.is_strict]
LIKELY = "is not a field; did you mean schedulerName?"


@pytest.mark.parametrize("version", STRICT)
def test_a_field_that_does_not_exist_is_refused_as_kube_scheduler_refuses_it(version: str) -> None:
    source = document(version, leaderElection={"foo": 1}, profiles=[{"schedulername": "a"}])
    result = {path: sentence.partition("; the fields are")[0] for path, sentence in refusals(source).items()}
    assert result == {"profiles[0].schedulername": LIKELY, "leaderElection.foo": "is not a field"}


@pytest.mark.parametrize("version", STRICT)
def test_a_misspelt_field_of_an_extender_is_refused_with_the_intended_one(version: str) -> None:
    source = document(version, extenders=[{"urlPrefix": "http://one", "filterVerbs": "filter"}])
    assert refusals(source)["extenders[0].filterVerbs"] == "is not a field; did you mean filterVerb?"


def test_a_field_that_does_not_exist_is_reported_where_kube_scheduler_ignored_it() -> None:
    assert remarks(document("v1alpha1", foo=1))["foo"] == "left out: v1alpha1 has no such field"


@pytest.mark.parametrize("near", ["schedulername", "SchedulerName", "schedulrName", "scheduler_name"])
def test_a_misspelt_name_never_makes_the_default_scheduler(near: str) -> None:
    assert refusals(document("v1alpha1", **{near: "a"})) == {near: LIKELY}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("duration", [15, "15"])
def test_a_number_is_no_duration_and_the_refusal_says_how_to_write_one(version: str, duration: str | int) -> None:
    source = document(version, leaderElection={"leaseDuration": duration})
    sentence = f"{duration!r} is not a duration; write it like 15s or 1m30s"
    assert refusals(source) == {"leaderElection.leaseDuration": sentence}


def test_a_lock_that_earlier_releases_of_v1_had_is_omitted_with_a_remark() -> None:
    source = document(leaderElection={"resourceLock": "endpointsleases"})
    assert "Lease of its own" in remarks(source)["leaderElection.resourceLock"]
