"""Documents for properties: what an author could have written for a version, and what a slip makes of it.

``documents(target)`` are mostly accepted by the kube-scheduler of that version; ``mutated`` ones mostly are not.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from scheduler_runtime import catalog
from scheduler_runtime.catalog import Target

Json = Any
HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
_NAMES = st.sampled_from(["default-scheduler", "bin-packing", "spread", "batch", "y", "on", "1e3", "a.b", "gpu_2"])
_RESOURCES = st.sampled_from(["cpu", "memory", "example.com/gpu", "ephemeral-storage", "hugepages-2Mi"])
_LABELS = st.sampled_from(["pool", "topology.kubernetes.io/zone", "kubernetes.io/hostname", "example.com/tier"])
_VALUES = st.sampled_from(["a", "batch", "5", "-3", "", "A_b.c"])
_DURATIONS = st.sampled_from(["5s", "0s", "1m30s", "1.5h", "250ms", "1h1h", ".5m", "10m0s", "+2s"])


def documents(target: Target) -> SearchStrategy[dict[str, Json]]:
    """Whole documents, as parsed from YAML."""
    return _object(
        HEADER,
        parallelism=st.integers(1, 64),
        leaderElection=_leader_election(),
        clientConnection=_object(
            contentType=st.sampled_from(["application/json", "application/vnd.kubernetes.protobuf", ""]),
            qps=st.sampled_from([0, -1, 50, 0.1, 1e-50, 3.4e38, 16777217, 123.456]),
            burst=st.sampled_from([0, 1, 100, 2**31 - 1]),
        ),
        enableProfiling=st.booleans(),
        enableContentionProfiling=st.booleans(),
        percentageOfNodesToScore=st.integers(0, 100),
        podInitialBackoffSeconds=st.integers(1, 10),
        podMaxBackoffSeconds=st.integers(10, 2**40),
        delayCacheUntilActive=st.booleans(),
        profiles=_profiles(target),
        extenders=st.lists(_extender(), max_size=2, unique_by=_managed),
    )


def _object(always: dict[str, Json] | None = None, /, **fields: Any) -> SearchStrategy[dict[str, Json]]:
    """A mapping with any of these ``fields``."""
    return st.fixed_dictionaries({}, optional=fields).map(lambda optional_fields: {**(always or {}), **optional_fields})


def _leader_election() -> SearchStrategy[dict[str, Json]]:
    times = st.sampled_from(
        [
            ("15s", "10s", "2s"),
            ("1m", "45s", "1s500ms"),
            ("2h", "1h", "0s"),
            ("0s", "2s", "9s"),
            ("1m0.5s", "1m", "1ms"),
        ]
    ).map(lambda three: dict(zip(("leaseDuration", "renewDeadline", "retryPeriod"), three, strict=True)))
    rest = _object(
        leaderElect=st.booleans(),
        resourceLock=st.just("leases"),
        resourceName=st.sampled_from(["kube-scheduler", "berth", "", "y"]),
        resourceNamespace=st.sampled_from(["kube-system", "berth-system", ""]),
    )
    return st.tuples(times | st.just({}), rest).map(lambda both: {**both[0], **both[1]})


def _profiles(target: Target) -> SearchStrategy[list[dict[str, Json]]]:
    one = _object(
        percentageOfNodesToScore=st.integers(0, 100), plugins=_plugins(target), pluginConfig=_plugin_config(target)
    )
    named = st.lists(_NAMES, min_size=1, max_size=3, unique=True)
    return _named("schedulerName", named, one) | st.lists(one, max_size=1)


@st.composite
def _named(draw: st.DrawFn, field: str, names: SearchStrategy[list[str]], rest: Json) -> list[dict[str, Json]]:
    """A mapping for each of the ``names``, and the ``rest`` of it."""
    return [{field: name, **draw(rest)} for name in draw(names)]


def _plugins(target: Target) -> SearchStrategy[dict[str, Json]]:
    defaults = catalog.defaults(target.version)
    points = {
        point: _plugin_set([name for name, extends in defaults.extends.items() if point in extends])
        for point in defaults.points
        if point not in ("queueSort", "bind")
    }
    queue_sort = st.just({"enabled": [{"name": "PrioritySort"}], "disabled": [{"name": "*"}]})
    bind = st.just({"disabled": [{"name": "*"}], "enabled": [{"name": "DefaultBinder"}]})
    return _object(**points, bind=bind, multiPoint=_multi_point(sorted(defaults.extends)), queueSort=queue_sort)


def _plugin_set(names: list[str]) -> SearchStrategy[dict[str, Json]]:
    weight = st.one_of(st.none(), st.integers(0, 100), st.just(2**31 - 1))
    enabled = st.lists(st.sampled_from(names), max_size=3, unique=True) if names else st.just([])
    weighed = st.tuples(enabled, st.lists(weight, min_size=3, max_size=3)).map(
        lambda both: [
            {"name": name} if weight is None else {"name": name, "weight": weight}
            for name, weight in zip(both[0], both[1], strict=False)
        ]
    )
    disabled = st.lists(st.sampled_from([*names, "*", "NoSuchPlugin"]).map(lambda name: {"name": name}), max_size=2)
    return _object(enabled=weighed, disabled=disabled)


def _multi_point(names: list[str]) -> SearchStrategy[dict[str, Json]]:
    """Changes everywhere, that keep one to sort and one to bind."""

    def complete(plugin_set: dict[str, Json]) -> dict[str, Json]:
        disabled = {plugin["name"] for plugin in plugin_set.get("disabled", ())}
        have = {plugin["name"] for plugin in plugin_set.get("enabled", ())}
        needed = [name for name in ("PrioritySort", "DefaultBinder") if disabled & {name, "*"} and name not in have]
        return {**plugin_set, "enabled": [*plugin_set.get("enabled", ()), *({"name": name} for name in needed)]}

    return _plugin_set(names).map(complete)


def _plugin_config(target: Target) -> SearchStrategy[list[dict[str, Json]]]:
    kinds = _args(target)
    return _configured(kinds)


@st.composite
def _configured(draw: st.DrawFn, kinds: dict[str, SearchStrategy[dict[str, Json]]]) -> list[dict[str, Json]]:
    names = draw(st.lists(st.sampled_from(sorted(kinds)), max_size=4, unique=True))
    return [{"name": name, "args": draw(kinds[name])} for name in names]


def _args(target: Target) -> dict[str, SearchStrategy[dict[str, Json]]]:
    """The arguments of every plugin that has some, of one that has none, and of one that does not exist."""
    weighed = st.lists(_object(name=_RESOURCES, weight=st.integers(0, 100)), max_size=3)
    balanced = st.lists(_RESOURCES, max_size=3, unique=True).map(lambda names: [{"name": name} for name in names])
    binding: dict[str, SearchStrategy[Json]] = {"bindTimeoutSeconds": st.sampled_from([0, 600, 2**40])}
    if target.enabled("StorageCapacityScoring"):
        binding["shape"] = _shape() | st.just([])
    return {
        "DefaultPreemption": _object(
            minCandidateNodesPercentage=st.integers(0, 100), minCandidateNodesAbsolute=st.integers(1, 2**31 - 1)
        ),
        "DynamicResources": _object(filterTimeout=_DURATIONS, bindingTimeout=st.sampled_from(["1s", "600s", "1h"])),
        "InterPodAffinity": _object(
            hardPodAffinityWeight=st.integers(0, 100), ignorePreferredTermsOfExistingPods=st.booleans()
        ),
        "NodeAffinity": _object(addedAffinity=_affinity()),
        "NodeResourcesBalancedAllocation": _object(resources=balanced),
        "NodeResourcesFit": _object(
            ignoredResources=st.lists(_RESOURCES, max_size=2),
            ignoredResourceGroups=st.lists(st.sampled_from(["example.com", "other"]), max_size=2),
            scoringStrategy=_strategy(weighed),
        ),
        "PodTopologySpread": _spread(),
        "VolumeBinding": _object(**binding),
        "NodeName": st.just({}) | st.just({"anything": [1, None]}),
        "NoSuchPlugin": st.just({"kind": "Whatever"}),
    }


def _shape() -> SearchStrategy[list[dict[str, int]]]:
    points = st.lists(st.integers(0, 100), min_size=1, max_size=4, unique=True).map(sorted)
    scores = st.lists(st.integers(0, 10), min_size=4, max_size=4)
    return st.tuples(points, scores).map(
        lambda both: [{"utilization": at, "score": score} for at, score in zip(both[0], both[1], strict=False)]
    )


def _strategy(resources: SearchStrategy[Json]) -> SearchStrategy[dict[str, Json]]:
    plain = st.sampled_from(["LeastAllocated", "MostAllocated"]).flatmap(
        lambda kind: _object({"type": kind}, resources=resources)
    )
    ratio = _shape().flatmap(
        lambda shape: _object(
            {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}, resources=resources
        )
    )
    return plain | ratio


def _affinity() -> SearchStrategy[dict[str, Json]]:
    values = st.lists(_VALUES.filter(lambda text: text != "-3"), min_size=1, max_size=2)
    several = st.fixed_dictionaries({"key": _LABELS, "operator": st.sampled_from(["In", "NotIn"]), "values": values})
    other: SearchStrategy[Json] = st.sampled_from([{"operator": "Exists"}, {"operator": "Gt", "values": ["5"]}])
    one = st.tuples(_LABELS, other).map(lambda both: {"key": both[0], **both[1]})
    expressions = st.lists(several | one, max_size=2)
    named = st.just([{"key": "metadata.name", "operator": "In", "values": ["node-1"]}])
    term = _object(matchExpressions=expressions, matchFields=named)
    preferred = st.tuples(st.integers(0, 100), term).map(lambda both: {"weight": both[0], "preference": both[1]})
    return _object(
        requiredDuringSchedulingIgnoredDuringExecution=_object(nodeSelectorTerms=st.lists(term, max_size=2)),
        preferredDuringSchedulingIgnoredDuringExecution=st.lists(preferred, max_size=2),
    )


def _spread() -> SearchStrategy[dict[str, Json]]:
    when = st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])
    constraint = st.tuples(
        st.fixed_dictionaries({"maxSkew": st.integers(1, 5), "topologyKey": _LABELS, "whenUnsatisfiable": when}),
        _object(
            minDomains=st.integers(1, 3),
            nodeAffinityPolicy=st.sampled_from(["Honor", "Ignore"]),
            matchLabelKeys=st.lists(_LABELS, max_size=1),
        ),
    ).map(lambda both: {**both[0], **both[1]})
    constraints = st.lists(
        constraint, max_size=2, unique_by=lambda item: (item["topologyKey"], item["whenUnsatisfiable"])
    )
    lists = constraints.map(lambda items: {"defaultingType": "List", "defaultConstraints": items})
    return lists | st.sampled_from([{}, {"defaultingType": "System"}, {"defaultingType": ""}])


def _managed(extender: dict[str, Any]) -> Any:
    """The resource that an extender looks after, which no other one may."""
    return next((resource["name"] for resource in extender.get("managedResources", ())), id(extender))


def _extender() -> SearchStrategy[dict[str, Json]]:
    managed = st.sampled_from(["example.com/gpu", "example.com/fpga", "other.org/nic"]).flatmap(
        lambda name: _object({"name": name}, ignoredByScheduler=st.booleans())
    )
    return _object(
        {"urlPrefix": "http://localhost:1/scheduler"},
        filterVerb=st.just("filter"),
        preemptVerb=st.just("preempt"),
        weight=st.sampled_from([0, 1, -5, 2**40]),
        enableHTTPS=st.booleans(),
        httpTimeout=_DURATIONS,
        nodeCacheCapable=st.booleans(),
        managedResources=st.lists(managed, max_size=1),
        ignorable=st.booleans(),
        tlsConfig=_object(insecure=st.booleans(), serverName=st.just("extender"), certData=st.just("YQ==")),
    )


_ODD: tuple[Json, ...] = (
    None,
    "",
    "x",
    "5",
    "*",
    0,
    -1,
    1,
    101,
    2**31,
    2**63,
    -(2**63) - 1,
    0.5,
    1e30,
    True,
    [],
    {},
    [None],
    {"name": "x"},
    "1h",
    "0.5s",
    "PrioritySort",
    "ImageLocality",
    False,
    7,
    2147483647,
    [{}],
    {"enabled": [{"name": "NodeName", "weight": 3}]},
    {"name": "NodeAffinity"},
    "NodeResourcesFit",
    "example.com/gpu",
)


@st.composite
def mutated(draw: st.DrawFn, source: SearchStrategy[dict[str, Json]]) -> dict[str, Json]:
    """A document of ``source`` after a slip or two, below its header most of the time."""
    document: dict[str, Json] = copy.deepcopy(draw(source))
    for _ in range(draw(st.integers(1, 2))):
        places = list(_places(document))
        below = [place for place in places if place[1] not in HEADER]
        holder, key = draw(st.sampled_from(below or places))
        _slip(draw, holder, key)
    return document


def _places(value: Json) -> Iterator[tuple[Json, Json]]:
    """Every mapping and list with each of its keys."""
    keys: list[Json] = list(value) if isinstance(value, dict) else list(range(len(value)))
    for key in keys:
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _slip(draw: st.DrawFn, holder: Json, key: Json) -> None:
    kind = draw(st.sampled_from(["replace", "alike", "alike", "remove", "add", "double"]))
    if kind in ("replace", "alike"):
        alike = [odd for odd in _ODD if type(odd) is type(holder[key]) or odd is None]
        holder[key] = copy.deepcopy(draw(st.sampled_from(alike if kind == "alike" else _ODD)))
    elif kind == "remove":
        del holder[key]
    elif isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key] if kind == "double" else draw(st.sampled_from(_ODD))))
    else:
        holder[draw(st.sampled_from(["unknownField", key.title(), "weight", "name", "args"]))] = holder[key]
