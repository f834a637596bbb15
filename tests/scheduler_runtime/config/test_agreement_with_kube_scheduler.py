"""A document is accepted here if and only if the real kube-scheduler accepts it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import devcluster
from scheduler_runtime import config
from scheduler_runtime.catalog import Target

pytestmark = pytest.mark.cluster

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FIT = "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: %s}]}]"
BALANCE = "profiles: [{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: %s}]}]"
AFFINITY = "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: %s}}]}]"
REQUIRED = "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [%s]}]}}"
RATIO = "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: %s}}}"

ACCEPTED = [
    "",
    "profiles: []",
    "profiles:",
    "profiles: [{}]",
    "profiles: [{schedulerName: a}, {schedulerName: b}]",
    "parallelism: 1",
    "percentageOfNodesToScore: 100",
    "podMaxBackoffSeconds: 1",
    "enableProfiling: false\nenableContentionProfiling: false\ndelayCacheUntilActive: true",
    "leaderElection: {leaseDuration: 1m, renewDeadline: 45s, retryPeriod: 1s500ms, resourceName: a}",
    "leaderElection: {resourceNamespace: 'y'}",
    "leaderElection: {leaderElect: false}",
    "profiles: [{percentageOfNodesToScore: 0}]",
    "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity, weight: 100}], disabled: [{name: '*'}]}}}]",
    "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeName}], disabled: [{name: NodeName}]}}}]",
    "profiles: [{plugins: {filter: {disabled: [{name: NoSuchPlugin}]}}}]",
    "profiles: [{plugins: {placementScore: {disabled: [{name: NodeResourcesFit}]}}}]",
    FIT % "{}",
    FIT % "{kind: NodeResourcesFitArgs, apiVersion: kubescheduler.config.k8s.io/v1}",
    FIT % "{ignoredResources: [example.com/foo], ignoredResourceGroups: [example.com]}",
    FIT % "{scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 100}, {name: example.com/gpu}]}}",
    FIT % "{scoringStrategy: {type: LeastAllocated, resources: []}}",
    FIT % RATIO % "[{utilization: 0, score: 0}, {utilization: 100, score: 10}]",
    BALANCE % "{resources: [{name: cpu}, {name: memory, weight: 1}]}",
    AFFINITY % "{}",
    AFFINITY % REQUIRED % "{key: pool, operator: In, values: [a, b]}",
    AFFINITY % REQUIRED % "{key: example.com/n, operator: Gt, values: ['5']}",
    AFFINITY % "{preferredDuringSchedulingIgnoredDuringExecution: "
    "[{weight: 5, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}",
    "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 100}}]}]",
    "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List}}]}]",
]

REFUSED = [
    "profiles: [{}, {}]",
    "profiles: [{schedulerName: a}, {schedulerName: a}]",
    "parallelism: 0",
    "parallelism: '5'",
    "parallelism: 1.5",
    "percentageOfNodesToScore: 101",
    "percentageOfNodesToScore: -1",
    "podInitialBackoffSeconds: 0",
    "podInitialBackoffSeconds: 11",
    "enableProfiling: 'true'",
    "nothing: 1",
    "Parallelism: 1",
    "parallelism: 1\nparallelism: 1",
    "leaderElection: {leaseDuration: 10s}",
    "leaderElection: {leaseDuration: 15}",
    "leaderElection: {leaseDuration: 15 s}",
    "leaderElection: {resourceNamespace: y}",
    "leaderElection: {resourceNamespace: 1e3}",
    "leaderElection: {resourceNamespace: off}",
    "leaderElection: {retryPeriod: -1s}",
    "leaderElection: {resourceLock: endpoints}",
    "profiles: [{percentageOfNodesToScore: 200}]",
    "profiles: [{plugins: {score: {enabled: [{name: NodeResourceFit}]}}}]",
    "profiles: [{plugins: {multiPoint: {enabled: [{name: NodeResourceFit}]}}}]",
    "profiles: [{plugins: {filter: {enabled: [{name: ImageLocality}]}}}]",
    "profiles: [{plugins: {filter: {enabled: [{name: NodeName}, {name: NodeName}]}}}]",
    "profiles: [{plugins: {filter: {enabled: [{nam: NodeName}]}}}]",
    "profiles: [{plugins: {filters: {}}}]",
    "profiles: [{plugins: {podGroupPostFilter: {enabled: [{name: DefaultPreemption}]}}}]",
    "profiles: [{plugins: {queueSort: {disabled: [{name: '*'}]}}}]",
    "profiles: [{plugins: {bind: {disabled: [{name: DefaultBinder}]}}}]",
    "profiles: [{pluginConfig: [{name: NodeName, args: {}}, {name: NodeName, args: {}}]}]",
    FIT % "{kind: NodeAffinityArgs}",
    FIT % "{ignoredResource: []}",
    FIT % "{ignoredResources: [-]}",
    FIT % "{ignoredResourceGroups: [example.com/x]}",
    FIT % "{scoringStrategy: {type: Best}}",
    FIT % "{scoringStrategy: {resources: [{name: cpu}]}}",
    FIT % "{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: 101}]}}",
    FIT % "{scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, weight: -1}]}}",
    FIT % "{scoringStrategy: {type: RequestedToCapacityRatio}}",
    FIT % "{scoringStrategy: {type: MostAllocated, requestedToCapacityRatio: {shape: [{utilization: 0}]}}}",
    FIT % RATIO % "[]",
    FIT % RATIO % "[{utilization: 50, score: 1}, {utilization: 50, score: 2}]",
    FIT % RATIO % "[{utilization: 0, score: 11}]",
    FIT % RATIO % "[{utilization: 101, score: 1}]",
    BALANCE % "{resources: [{name: cpu, weight: 2}]}",
    BALANCE % "{resources: [{name: cpu}, {name: cpu}]}",
    AFFINITY % REQUIRED % "{key: pool, operator: In}",
    AFFINITY % REQUIRED % "{key: pool, operator: Inside, values: [a]}",
    AFFINITY % REQUIRED % "{key: pool, operator: Exists, values: [a]}",
    AFFINITY % REQUIRED % "{key: pool, operator: Gt, values: [a]}",
    AFFINITY % REQUIRED % "{key: pool, operator: In, values: ['not a label']}",
    AFFINITY % REQUIRED % "{key: '-', operator: Exists}",
    "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]",
    "profiles: [{pluginConfig: [{name: PodTopologySpread, args: {defaultConstraints: "
    "[{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]}}]}]",
    "profiles: [{pluginConfig: [{name: VolumeBinding, args: {bindTimeoutSeconds: -1}}]}]",
    "extenders: [{urlPrefix: 'http://x', prioritizeVerb: p}]",
    "extenders: [{urlPrefix: 'http://x', bindVerb: a}, {urlPrefix: 'http://y', bindVerb: b}]",
]


@pytest.fixture(scope="module")
def kube_scheduler() -> Path:
    return devcluster.binaries("kube-scheduler", kubernetes="1.36")["kube-scheduler"]


def theirs(kube_scheduler: Path, text: str, tmp_path: Path) -> str:
    """Why the real one refuses a document; empty when it accepts it."""
    source = tmp_path / "config.yaml"
    source.write_text(text)
    flags = ["--secure-port=0", "--master=http://127.0.0.1:1"]
    flags += [f"--config={source}", f"--write-config-to={tmp_path / 'out.yaml'}"]
    run = subprocess.run([str(kube_scheduler), *flags], capture_output=True, text=True, timeout=60, check=False)
    return run.stderr.splitlines()[-1] if run.returncode else ""


def ours(text: str) -> str:
    document = config.load(text)
    if isinstance(document, config.Problems):
        return str(document)
    expanded = [config.effective(profile, Target.parse("1.36")) for profile in document.profiles]
    return "\n".join(str(each) for each in expanded if isinstance(each, config.Problems))


@pytest.mark.parametrize("text", ACCEPTED)
def test_both_accept(text: str, kube_scheduler: Path, tmp_path: Path) -> None:
    assert theirs(kube_scheduler, HEADER + text, tmp_path) == ""
    assert ours(HEADER + text) == ""


@pytest.mark.parametrize("text", REFUSED)
def test_both_refuse(text: str, kube_scheduler: Path, tmp_path: Path) -> None:
    assert ours(HEADER + text) != ""
    assert theirs(kube_scheduler, HEADER + text, tmp_path) != ""


def test_arguments_for_no_plugin_are_refused_here_and_ignored_there(kube_scheduler: Path, tmp_path: Path) -> None:
    """A deliberate difference: upstream runs with the defaults of the plugin whose name was misspelt."""
    text = HEADER + "profiles: [{pluginConfig: [{name: NodeResourceFit, args: {}}]}]"
    assert theirs(kube_scheduler, text, tmp_path) == ""
    assert "did you mean NodeResourcesFit?" in ours(text)


def test_times_that_would_fail_later_are_refused_here(kube_scheduler: Path, tmp_path: Path) -> None:
    """A deliberate difference: upstream notices only when it starts to elect, and exits."""
    text = HEADER + "leaderElection: {retryPeriod: 9s}"
    assert theirs(kube_scheduler, text, tmp_path) == ""
    assert "is not longer than 1.2 × retryPeriod" in ours(text)


def test_what_we_write_it_reads(kube_scheduler: Path, tmp_path: Path) -> None:
    for text in ACCEPTED:
        document = config.load(HEADER + text)
        assert isinstance(document, config.Document)
        assert theirs(kube_scheduler, config.dump(document), tmp_path) == "", text
