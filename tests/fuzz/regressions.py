"""Inputs that once ended badly, each with every command for ever."""

INPUTS: tuple[bytes, ...] = (
    b"",
    b"\0",
    b"apiVersion: v1\nkind: [{}]\n",
    b"apiVersion: [{}]\nkind: KubeSchedulerConfiguration\n",
    b"""
apiVersion: berth.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: a, annotations: {berth.dev/allow-findings: cluster}}
spec: {nodes: {matchExpressions: [{key: a, operator: In, values: [b]}, {key: a, operator: NotIn, values: [b]}]}}
# berth: allow Everything
""",
    "a: !!binary é\n".encode(),
    b"""
apiVersion: berth.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: a}
spec: {pluginConfig: [{name: NodeName, ref: b}]}
---
apiVersion: berth.dev/v1alpha1
kind: PluginConfig
metadata: {name: c}
spec: {plugin: [x], declares: {hooks: [filter]}}
---
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
""",
    b"""
apiVersion: berth.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: a, annotations: [x]}
spec: {pluginConfig: [{name: NodeName, ref: b}]}
---
apiVersion: berth.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: c}
spec: {pluginConfig: [{name: NodeName, ref: b}]}
---
apiVersion: berth.dev/v1alpha1
kind: PluginConfig
metadata: {name: b}
spec: {plugin: NodeName, args: text}
""",
)
