"""Pieces that traps are made of."""

from __future__ import annotations

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
ONE = "profiles: [%s]"
FIT = "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: %s}]}]"
BALANCE = "profiles: [{pluginConfig: [{name: NodeResourcesBalancedAllocation, args: %s}]}]"
AFFINITY = "profiles: [{pluginConfig: [{name: NodeAffinity, args: {addedAffinity: %s}}]}]"
REQUIRED = "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [%s]}]}}"
RATIO = "{scoringStrategy: {type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: %s}}}"

CONFIG = "profiles: [{pluginConfig: [%s]}]"
PLUGINS = "profiles: [{plugins: {%s}}]"
EXTENDER = "extenders: [{urlPrefix: 'http://x', %s}]"
