"""The integration cases of kube-scheduler 1.36 that are re-created here: how many rows each has, and what differs.

From test/integration/scheduler of kubernetes/kubernetes. A test without a table counts as one row. Most tables of
preemption are gone through with every combination of some feature gates; what counts here is the table.
"""

from __future__ import annotations

ROWS: dict[str, dict[str, int]] = {
    "scheduler": {
        "TestUnschedulableNodes": 1,
        "TestMultipleSchedulers": 1,
        "TestMultipleSchedulingProfiles": 1,
        "TestAllocatable": 1,
        "TestSchedulerInformers": 2,
        "TestNodeEvents": 1,
        "TestHostPorts": 15,
        "TestTaintTolerationGtLtIntegration": 1,
    },
    "rescheduling": {"TestReScheduling": 6},
    "taint": {"TestTaintNodeByCondition": 13},
    "batch": {"TestBatchScenarios": 9},
    "serving": {
        "TestEndpointHandlers": 7,
        "TestSchedulerZPages": 25,
        "TestComponentSecureServingAndAuth": 7,
    },
    "extender": {"TestSchedulerExtender": 1},
    "podgroup": {
        "TestPodGroupScheduling": 15,
        "TestWorkloadAwarePreemptionInvocation": 1,
        "TestPostFilterInvocationCount": 1,
        "TestPodGroupAdmission": 5,
        "TestTopologyAwareSchedulingWithGangPolicy": 12,
        "TestTopologyAwareSchedulingWithBasicPolicy": 13,
    },
    "queueing": {
        "TestCoreResourceEnqueue": 78,
        "TestCoreResourceEnqueueWithoutQueueingHints": 26,
        "TestSchedulingGates": 4,
        "TestCustomResourceEnqueue": 1,
        "TestRequeueByBindFailure": 1,
        "TestRequeueByPermitRejection": 1,
        "TestPopFromBackoffQWhenActiveQEmpty": 1,
    },
    "prequeueinghint": {"TestPreQueueingHintNarrowsPodSet": 2},  # since 1.37
    "bind": {"TestDefaultBinder": 2},
    "nominated_node_name": {
        "TestNominatedNodeNameIsSetBeforePreBindAndWaitOnPermit": 4,
        "TestPreemptionAndNominatedNodeNameScenarios": 5,
        "TestSchedulerRestartWithNominatedNode": 1,  # since 1.37
    },
    "eventhandler": {"TestUpdateNodeEvent": 1, "TestUpdateNominatedNodeName": 2},
    "plugins": {
        "TestPreFilterPlugin": 5,
        "TestQueueSortPlugin": 2,
        "TestPostFilterPlugin": 6,
        "TestScorePlugin": 2,
        "TestNormalizeScorePlugin": 1,
        "TestReservePluginReserve": 2,
        "TestPrebindPlugin": 6,
        "TestUnReserveReservePlugins": 4,
        "TestUnReservePermitPlugins": 3,
        "TestUnReservePreBindPlugins": 2,
        "TestUnReserveBindPlugins": 2,
        "TestBindPlugin": 5,
        "TestPostBindPlugin": 2,
        "TestPermitPlugin": 6,
        "TestMultiplePermitPlugins": 1,
        "TestPermitPluginsCancelled": 1,
        "TestCoSchedulingWithPermitPlugin": 2,
        "TestFilterPlugin": 2,
        "TestPreScorePlugin": 2,
        "TestPreEnqueuePlugin": 2,
        "TestPreemptWithPermitPlugin": 3,
        "TestActivatePods": 1,
        "TestPreEnqueuePluginEventsToRegister": 4,
    },
    "filters": {
        "TestInterPodAffinity": 20,
        "TestInterPodAffinityWithNamespaceSelector": 2,
        "TestTaintTolerationFilter": 15,
        "TestPodTopologySpreadFilter": 20,
        "TestNodePortsFilter": 2,
        "TestUnschedulablePodBecomesSchedulable": 8,
        "TestPodAffinityMatchLabelKeyEnablement": 1,
        "TestNodeResourcesFilter": 2,
        "TestNodeAffinityFilter": 6,
        "TestNodeDeclaredFeaturesFilter": 6,
    },
    "scoring": {
        "TestNodeResourcesScoring": 2,
        "TestNodeAffinityScoring": 1,
        "TestPodAffinityScoring": 6,
        "TestTaintTolerationScoring": 4,
        "TestImageLocalityScoring": 1,
        "TestPodTopologySpreadScoring": 7,
        "TestDefaultPodTopologySpreadScoring": 3,
    },
    "preemption": {
        "TestPreemption": 6,
        "TestAsyncPreemption": 12,
        "TestPreemptionRespectsWaitingPod": 1,
        "TestPreemptionRespectsBindingPod": 1,
        "TestNonPreemption": 2,
        "TestDisablePreemption": 1,
        "TestPodPriorityResolution": 3,
        "TestPreemptionStarvation": 1,
        "TestPreemptionRaces": 1,
        "TestPDBInPreemption": 3,
        "TestReadWriteOncePodPreemption": 3,
        "TestNominatedNode": 5,
        "TestPreferNominatedNode": 2,
        "TestPodGroupPreemption": 13,
    },
}

ELSEWHERE: dict[str, tuple[str, ...]] = {"extender": ("tests/integration/scheduler/test_extenders.py",)}
"""Where tests are that are not in the directory of upstream's name."""

VOLUMES = "the plugins for volumes are not part of this build: such a pod is parked, with that reason"
POD_GROUPS = "there are no extension points for groups of pods, and no plugin that needs them"
CBOR = "CBOR is behind an alpha gate, CBORServingAndStorage, and no client needs it from a scheduler"
DEVICES = "the plugin for devices is not part of this build: an extended resource is only what nodes offer of it"
HINTS_OFF = "queueing hints cannot be turned off in any version from 1.34 on"


def every_row(count: int, reason: str) -> dict[str, str]:
    return {f"row {number}": reason for number in range(1, count + 1)}


def of_plugin(plugin: str, reason: str, *changes: str) -> dict[str, str]:
    """The rows of TestCoreResourceEnqueue in which ``plugin`` rejects a pod, and these ``changes`` are to be heard."""
    return {f"{plugin}: {change}": reason for change in changes}


NOT_ENQUEUED = {
    **of_plugin(
        "NodeResourcesFit",
        DEVICES,
        "a Node does not have the extended resource, and DRAExtendedResource is enabled",
        "created DeviceClass having the extended resource matching pod's requests",
        "updated DeviceClass has the extended resource",
    ),
    **of_plugin(
        "VolumeZone",
        VOLUMES,
        "the PV is added",
        "the PV is updated",
        "the PVC bound to the pod is added",
        "the PVC bound to the pod is updated",
        "the Storage class is added",
        "the PV is updated but the topology is same",
    ),
    **of_plugin("VolumeRestrictions", VOLUMES, "the PVC bound to the pod is added", "the pod is deleted"),
    **of_plugin(
        "VolumeBinding",
        VOLUMES,
        "the Node is created",
        "the Node is updated",
        "the PV is created",
        "the PV is updated",
        "the PVC is created",
        "the PVC is updated",
        "the StorageClass is created",
        "the StorageClass's AllowedTopologies is updated",
        "the StorageClass is updated but the AllowedTopologies is same",
        "the CSINode is created",
        "the CSINode's MigratedPluginsAnnotation is updated",
        "the CSIDriver's StorageCapacity gets disabled",
        "the CSIDriver is updated but the storage capacity is originally enabled",
        "the CSIStorageCapacity is created",
        "the CSIStorageCapacity is increased",
        "the CSIStorageCapacity is updated but the volumelimit is not increased",
    ),
    **of_plugin(
        "NodeVolumeLimits",
        VOLUMES,
        "the CSINode is added",
        "the pod having related PVC is deleted",
        "the related PVC is added",
        "the VolumeAttachment is deleted",
        "the VolumeAttachment of an inline migratable volume is deleted",
    ),
    **of_plugin(
        "GangScheduling",
        POD_GROUPS,
        "a new pod with matching scheduling group is created",
        "a matching pod group is created",
    ),
}

OMITTED: dict[str, dict[str, str]] = {
    "TestCoreResourceEnqueue": NOT_ENQUEUED,
    "TestCoreResourceEnqueueWithoutQueueingHints": every_row(26, HINTS_OFF),
    "TestPreQueueingHintNarrowsPodSet": {
        "feature enabled: only targeted pod evaluated": "since 1.37, alpha: plugins have no hints that name pods",
        "feature disabled: all pods evaluated": "since 1.37: hints are called for every pod, as in queueing",
    },
    "TestUnschedulablePodBecomesSchedulable": {
        "scheduled pod uses read-write-once-pod pvc": VOLUMES,
        "pod with pvc has node-affinity to non-existent/illegal nodes": VOLUMES,
        "pod with pvc got scheduled after node updated it's label": VOLUMES,
    },
    "TestPodTopologySpreadFilter": {
        "feature gate disabled, two node inclusion Constraints, zone: honor/ignore, node: honor/ignore": (
            "the gate NodeInclusionPolicyInPodTopologySpread cannot be turned off in any version from 1.33 on"
        ),
    },
    "TestPreEnqueuePluginEventsToRegister": {
        "preEnqueue plugin without event registered queueHint(false)": HINTS_OFF,
        "preEnqueue plugin with event registered queueHint(false)": HINTS_OFF,
    },
    "TestReadWriteOncePodPreemption": {
        "preempt single pod": VOLUMES,
        "preempt two pods": VOLUMES,
        "preempt single pod with two volumes": VOLUMES,
    },
    "TestSchedulerZPages": {"structured cbor response (statusz)": CBOR, "structured cbor response (flagz)": CBOR},
    "TestPodGroupScheduling": every_row(15, POD_GROUPS),
    "TestWorkloadAwarePreemptionInvocation": every_row(1, POD_GROUPS),
    "TestPostFilterInvocationCount": every_row(1, POD_GROUPS),
    "TestPodGroupAdmission": every_row(5, "they are about what the API server admits"),
    "TestTopologyAwareSchedulingWithGangPolicy": every_row(12, POD_GROUPS),
    "TestTopologyAwareSchedulingWithBasicPolicy": every_row(13, POD_GROUPS),
    "TestPodGroupPreemption": every_row(13, POD_GROUPS),
}
"""Rows that are not re-created, and why."""

DIFFERENT: dict[str, str] = {
    "TestCoreResourceEnqueue": (
        "also checks which event wakes them; the pod's image selects a made-up feature of nodes, where upstream uses a"
        " toleration"
    ),
    "TestDefaultBinder": "our calls to the API server are always asynchronous",
    "TestUpdateNominatedNodeName": "with queueing hints alone; our calls to the API server are always asynchronous",
    "TestPreemptionAndNominatedNodeNameScenarios": (
        "with and without NominatedNodeNameForExpectation; the API server decides when a"
        " nomination is cleared after the binding"
    ),
    "TestSchedulerRestartWithNominatedNode": (
        "since 1.37; the scheduler that stops during a binding is one that lost its lease"
    ),
    "TestMultipleSchedulers": "the pod of the scheduler that does not exist yet comes first, not last",
    "TestSchedulerZPages": "/debug, which is not behind --profiling here, is among the paths of /statusz",
    "TestComponentSecureServingAndAuth": "of test/integration/serving; the part that is about kube-scheduler",
    "TestReScheduling": "without SchedulerAsyncAPICalls off: our calls to the API server are always asynchronous",
    "TestBatchScenarios": (
        "plugins' answers for each node are cached, for all equal pods, whichever pods came between and however much"
        " room is left; the test checks whether they are called for all nodes again"
    ),
    "TestQueueSortPlugin": "checks the order of the decisions, once the queue was full",
    "TestPostFilterPlugin": (
        "a post_filter can call the filters for a node again, not the scores; a plugin that helped returns a nomination"
    ),
    "TestPermitPluginsCancelled": "unreserve informs a plugin that its held pod goes back, whoever rejected it",
    "TestPermitPlugin": "a permit times out after a fraction of a second instead of three",
    "TestActivatePods": "a plugin activates pods through its handle instead of through the state of the cycle",
    "TestNodeDeclaredFeaturesFilter": "the features are real ones, where upstream makes some up",
    "TestPodAffinityMatchLabelKeyEnablement": (
        "the gate MatchLabelKeysInPodAffinity is locked from 1.33 on, so only its effect is tested"
    ),
    "TestPodPriorityResolution": "the pods are in a namespace of their own instead of kube-system",
    "TestPDBInPreemption": "budgets get the status that the disruption controller would give them",
    "TestPreferNominatedNode": "the pod's status names the node, where upstream changes the pod in the queue",
    "TestPreemption": (
        "with and without SchedulerAsyncPreemption; our calls to the API server are always asynchronous, and the API"
        " server decides when a nomination is cleared after the binding"
    ),
}
"""Where a case does the same by other means, and what these are."""
