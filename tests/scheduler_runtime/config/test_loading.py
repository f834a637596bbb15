"""Reading and writing documents: every problem at once, each with its path and what would be right."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scheduler_runtime import config
from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.args import NodeResourcesFitArgs

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def loaded(text: str) -> config.Document:
    document = config.load(HEADER + text)
    assert isinstance(document, config.Document), document
    return document


def problems(text: str) -> list[str]:
    """What is wrong with a document, its plugins included."""
    document = config.load(HEADER + text)
    if isinstance(document, config.Document):
        refused = config.expand_profiles(document, Target.parse("1.36"))
        assert isinstance(refused, config.Problems), f"nothing is wrong with {text}"
        return [str(problem) for problem in refused]
    return [str(problem) for problem in document]


def test_an_empty_document_is_the_default_scheduler_with_upstreams_defaults() -> None:
    document = loaded("")
    assert [profile.scheduler_name for profile in document.profiles] == ["default-scheduler"]
    assert (document.parallelism, document.pod_initial_backoff_seconds, document.pod_max_backoff_seconds) == (16, 1, 10)
    assert document.leader_election.lease_duration_seconds == 15.0
    assert document.client_connection.qps == 50.0


def test_fields_that_are_null_count_as_absent() -> None:
    document = loaded("profiles:\nleaderElection: {leaderElect: null, resourceName: null}\nparallelism: null\n")
    assert document == loaded("profiles: []\nleaderElection: {}\n")


def test_several_problems_are_reported_at_once_with_their_paths() -> None:
    text = """
paralelism: 3
parallelism: "3"
percentageOfNodesToScore: 101
leaderElection: {retryPeriod: 2, renewDeadline: 10 seconds}
profiles:
- schedulerName: a
  plugin: {}
  plugins: {score: {enabled: [{weight: 1}, {name: 5}]}}
"""
    assert sorted(problems(text)) == [
        "leaderElection.renewDeadline: '10 seconds' is not a duration; write it like 15s or 1m30s",
        "leaderElection.retryPeriod: 2 is not a duration; write it like 15s or 1m30s",
        "paralelism: is not a field; did you mean parallelism?",
        "parallelism: '3' is not a whole number",
        "percentageOfNodesToScore: 101 is too large; it must be at most 100",
        "profiles[0].plugin: is not a field; did you mean plugins?",
        "profiles[0].plugins.score.enabled[1].name: 5 is not text; put it in quotes",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("profiles: [{}, {schedulerName: b}]", "profiles[0].schedulerName: is required"),
        (
            "profiles: [{schedulerName: a}, {schedulerName: a}]",
            "profiles[1].schedulerName: 'a' is the name of profiles[0] too",
        ),
        (
            "leaderElection: {leaseDuration: 5s}",
            "leaderElection.leaseDuration: 5s is not longer than renewDeadline, 10s",
        ),
        (
            "leaderElection: {leaseDuration: null}",
            "leaderElection.leaseDuration: null is not a duration; write it like 15s or 1m30s",
        ),
        ("profiles: [{plugins: {score: {enabled: [{}]}}}]", "profiles[0].plugins.score.enabled[0].name: is required"),
        (
            "leaderElection: {resourceLock: endpoints}",
            "leaderElection.resourceLock: 'endpoints' is gone; leases is the only lock",
        ),
        (
            "podMaxBackoffSeconds: 3\npodInitialBackoffSeconds: 5",
            "podMaxBackoffSeconds: 3 is less than podInitialBackoffSeconds, 5",
        ),
        (
            "profiles: [{pluginConfig: [{name: A, args: {}}, {name: A, args: {}}]}]",
            "profiles[0].pluginConfig[1].name: 'A' has pluginConfig entry 0 already",
        ),
        (
            "extenders: [{urlPrefix: 'http://x', prioritizeVerb: p}]",
            "extenders[0].weight: 0 must be at least 1, because prioritizeVerb is given",
        ),
        (
            "extenders: [{urlPrefix: 'http://x', managedResources: [{name: cpu}]}]",
            "extenders[0].managedResources[0].name: 'cpu' is not an extended resource such as example.com/gpu",
        ),
        ("parallelism: 1\nparallelism: 2", "line 4: the key parallelism is there already"),
        ("profiles: [", "is not YAML: line 4: did not find expected node content"),
    ],
)
def test_what_a_document_must_not_say(text: str, expected: str) -> None:
    assert problems(text) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("apiVersion: v1\nkind: KubeSchedulerConfiguration", "apiVersion: 'v1' is not kubescheduler.config.k8s.io/v1"),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration",
            "apiVersion: kubescheduler.config.k8s.io/v1beta3 is not read any more; "
            "write kubescheduler.config.k8s.io/v1: berth import makes a SchedulerProfile of it, "
            "and berth render a document of that",
        ),
        (
            "apiVersion: berth.dev/v1alpha1\nkind: SchedulerProfile",
            "apiVersion: 'berth.dev/v1alpha1' is not kubescheduler.config.k8s.io/v1; "
            "berth render makes a document of a SchedulerProfile",
        ),
        ("[]", "is not a KubeSchedulerConfiguration but a list"),
        ("", "is empty; there is no document in it"),
        ("a: 1\n---\nb: 2", "holds 2 documents, at the lines 1 and 2; kube-scheduler would read the first one only"),
    ],
)
def test_what_is_no_such_document(text: str, expected: str) -> None:
    refused = config.load(text)
    assert isinstance(refused, config.Problems)
    assert any(str(problem).startswith(expected) for problem in refused), refused


FIT = "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: %s}}]}]"
STRATEGY = "profiles[0].pluginConfig[0].args.scoringStrategy"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            FIT % "{type: Best}",
            f"{STRATEGY}.type: 'Best' is not one of 'LeastAllocated', 'MostAllocated' or 'RequestedToCapacityRatio'",
        ),
        (
            FIT % "{type: RequestedToCapacityRatio}",
            f"{STRATEGY}.requestedToCapacityRatio: is required when type is RequestedToCapacityRatio",
        ),
        (
            FIT % "{type: MostAllocated, requestedToCapacityRatio: {shape: [{utilization: 0}]}}",
            f"{STRATEGY}.requestedToCapacityRatio: must be left out when type is MostAllocated",
        ),
        (
            FIT % "{type: RequestedToCapacityRatio, requestedToCapacityRatio: "
            "{shape: [{utilization: 10}, {utilization: 60}, {utilization: 50}]}}",
            f"{STRATEGY}.requestedToCapacityRatio.shape[2].utilization: 50 is not greater than 60 before it; "
            "utilization values must increase",
        ),
        (
            FIT % "{type: LeastAllocated, resources: [{name: cpu, weight: 101}]}",
            f"{STRATEGY}.resources[0].weight: 101 is too large; it must be at most 100",
        ),
        (
            "profiles: [{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: "
            "{resources: [{name: cpu, weight: 2}]}}]}]",
            "profiles[0].pluginConfig[0].args.resources[0].weight: 2 must be 1: balance knows no weights",
        ),
        *(
            (
                f"profiles: [{{pluginConfig: [{{name: PodTopologySpread, args: {{defaultingType: {value}}}}}]}}]",
                f"profiles[0].pluginConfig[0].args.defaultingType: {quoted} is not one of 'System' or 'List'",
            )
            for value, quoted in (("false", "false"), ("0", "0"), ("[]", "[]"), ("{}", "{}"))
        ),
        (
            "extenders: [{urlPrefix: 'http://a', tlsConfig: {certData: [256]}}]",
            "extenders[0].tlsConfig.certData: [256] is not text; put it in quotes",
        ),
        (
            "profiles: [{pluginConfig: [{name: EBSLimits}]}]",
            "profiles[0].pluginConfig[0].name: "
            "EBSLimits was removed from Kubernetes; NodeVolumeLimits counts every driver's volumes",
        ),
        (
            "profiles: [{pluginConfig: [{name: NodeAffinity, args: {kind: NodeResourcesFitArgs}}]}]",
            "profiles[0].pluginConfig[0].args.kind: 'NodeResourcesFitArgs' is not NodeAffinityArgs",
        ),
        (
            "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: "
            "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
            "[{matchExpressions: [{key: a, operator: In}]}]}}}}]}]",
            "profiles[0].pluginConfig[0].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            ".nodeSelectorTerms[0].matchExpressions[0].values: is empty; In needs at least one value",
        ),
        (
            "profiles: [{pluginConfig: [{name: DefaultPreemption, args: "
            "{minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0}}]}]",
            "profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: "
            "0 leaves no candidate while minCandidateNodesAbsolute is 0 too",
        ),
    ],
)
def test_what_arguments_must_not_say(text: str, expected: str) -> None:
    assert problems(text) == [expected]


@pytest.mark.parametrize("name", ["NodeResourceFit", "NodeName"])
def test_arguments_that_nobody_reads_are_for_the_linter(name: str) -> None:
    document = loaded(f"profiles: [{{pluginConfig: [{{name: {name}, args: {{a: 1}}}}]}}]")
    assert not isinstance(config.expand_profiles(document, Target.parse("1.36")), config.Problems)


def test_arguments_may_carry_their_kind_and_get_their_defaults() -> None:
    text = (
        "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {apiVersion: kubescheduler.config.k8s.io/v1, "
        "kind: NodeResourcesFitArgs, scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 0}]}}}]}]"
    )
    expanded = config.expand_profile(loaded(text).profiles[0], Target.parse("1.36"))
    assert isinstance(expanded, config.EffectiveProfile)
    args = expanded.args["NodeResourcesFit"]
    assert isinstance(args, NodeResourcesFitArgs)
    assert [(resource.name, resource.weight) for resource in args.scoring_strategy.resources] == [("cpu", 1)]
    assert "PodTopologySpread" in expanded.args, "enabled plugins have their default arguments"


def test_a_document_is_read_back_and_printed_alike() -> None:
    text = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaseDuration: 1m30s
clientConnection:
  qps: -1.0
profiles:
- schedulerName: größer
  plugins:
    score:
      enabled:
      - name: NodeResourcesFit
        weight: 5
      disabled:
      - name: '*'
  pluginConfig:
  - name: NodeResourcesFit
    args:
      ignoredResources:
      - example.com/gpu
"""
    document = config.load(text)
    assert isinstance(document, config.Document)
    assert config.dump(document) == text


@pytest.mark.parametrize("package", ["catalog", "config"])
def test_reading_documents_takes_no_numpy(package: str) -> None:
    script = f"import sys, scheduler_runtime.{package}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(("value", "base64"), [("[]", ""), ("[97, 98]", "YWI="), ("[null]", "AA=="), ("YWI=", "YWI=")])
def test_bytes_can_be_numbers_as_go_reads_them(value: str, base64: str) -> None:
    (extender,) = loaded(f"extenders: [{{urlPrefix: 'http://a', tlsConfig: {{certData: {value}}}}}]").extenders
    assert extender.tls_config is not None
    assert extender.tls_config.cert_data == base64
