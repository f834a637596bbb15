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
    b"""
apiVersion: berth.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: a}
spec: {nodes: {matchLabels: {pool: calm}}, pluginConfig: [{name: NodeAffinity, ref: b}]}
---
apiVersion: berth.dev/v1alpha1
kind: PluginConfig
metadata: {name: b}
spec: {plugin: NodeAffinity, args: text}
""",
    b"""{"apiVersion": "berth.dev/v1alpha1", "kind": "PluginConfig", "metadata": {"name": "a"},
"spec": {"plugin": "Own", "args": {"a": 1e308}, "declares": {"hooks": ["filter"], "argsSchema": {"type": "object",
"properties": {"a": {"type": "number", "multipleOf": 1e-300}, "b": {"type": "integer", "minimum": 1"""
    + b"0" * 400
    + b"}}}}}}",
)

OBJECTS: tuple[bytes, ...] = (
    b'{"metadata":{"name":"a","uid":"u","managedFields":[{"fieldsV1":'
    + b'{"f:a":' * 9993
    + b"{}"
    + b"}" * 9993
    + b"}]}}",
    b'{"metadata":{"name":"n1","uid":"u"},"status":{"allocatable":{"pods":"1e25","cpu":"1e30","memory":"9E"}}}',
    b'{"metadata":{"name":"a","uid":"u"},"spec":{"priority":' + b"9" * 400 + b"}}",
    b'{"metadata":{"name":"a","uid":"u","labels":{"a":"\xff"}}}',
    rb'{"metadata":{"name":"a","uid":"u","labels":{"a":"\ud800"}}}',
)
"""Pods, or nodes, that ended a scheduler."""
