"""Workloads as data, in the shape of scheduler_perf's files; ``side_by_side.operations`` performs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

CASES = Path(__file__).parent / "workloads" / "cases.yaml"
NODE_TEMPLATE = "templates/node-default.yaml"

Object = dict[str, Any]


class WorkloadError(Exception):
    """A file of workloads has a mistake; the message names the place."""


class Read(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A part of the file; unknown fields are refused."""


class Operation(Read, frozen=True, tag_field="opcode"):
    """One step of a workload."""


class LabelNodes(Read, frozen=True):
    """Labels for nodes, in turn."""

    label_key: str
    label_values: list[str]


class CreateNodes(Operation, frozen=True, tag="createNodes"):
    """Nodes of one template."""

    count: int = 0
    count_param: str = ""
    node_template_path: str = NODE_TEMPLATE
    label_node_prepare_strategy: LabelNodes | None = None


class CreateNamespaces(Operation, frozen=True, tag="createNamespaces"):
    """Namespaces called prefix-0, prefix-1 and so on."""

    prefix: str
    count: int = 0
    count_param: str = ""


class CreatePods(Operation, frozen=True, tag="createPods"):
    """Pods of one template, as fast as possible; measured if ``collect_metrics``."""

    count: int = 0
    count_param: str = ""
    namespace: str = ""
    pod_template_path: str = ""
    collect_metrics: bool = False
    skip_wait_to_completion: bool = False


class CreateAny(Operation, frozen=True, tag="createAny"):
    """One object."""

    template_path: str
    namespace: str = ""


class Churn(Operation, frozen=True, tag="churn"):
    """One object of each template every so often, until the workload ends."""

    template_paths: list[str]
    interval_milliseconds: int
    mode: Literal["create"] = "create"
    namespace: str = ""


class Barrier(Operation, frozen=True, tag="barrier"):
    """Wait until every pod created so far has a node."""


Step = CreateNodes | CreateNamespaces | CreatePods | CreateAny | Churn | Barrier


class Sized(Read, frozen=True):
    """One size of a case."""

    name: str
    labels: list[str]
    params: dict[str, int]


class Case(Read, frozen=True):
    """One case and the sizes it comes in."""

    name: str
    workload_template: list[Step]
    workloads: list[Sized]
    default_pod_template_path: str = ""


@dataclass(frozen=True, slots=True)
class Workload:
    """One case in one size, with its templates read."""

    case: str
    size: str
    labels: frozenset[str]
    steps: tuple[Step, ...]
    params: Mapping[str, int]
    templates: Mapping[str, Object]
    default_pod_template: str = ""

    @property
    def name(self) -> str:
        return f"{self.case}/{self.size}"

    def count(self, step: CreateNodes | CreateNamespaces | CreatePods) -> int:
        """The number of objects that the step creates."""
        return self.params[step.count_param.removeprefix("$")] if step.count_param else step.count

    def pod_template(self, step: CreatePods) -> Object:
        return self.templates[step.pod_template_path or self.default_pod_template]

    @property
    def nodes(self) -> int:
        """The number of nodes of the largest createNodes step."""
        return max(self.count(step) for step in self.steps if isinstance(step, CreateNodes))

    @property
    def pods(self) -> int:
        return sum(self.count(step) for step in self.steps if isinstance(step, CreatePods))


def load(file: Path = CASES) -> list[Workload]:
    """Every workload of ``file``, in its order. Raises WorkloadError."""
    try:
        cases = msgspec.convert(yaml.safe_load(file.read_text()), list[Case])
    except msgspec.ValidationError as error:
        raise WorkloadError(f"{file}: {error}") from error
    paths = {path for case in cases for path in _paths(case)}
    templates: dict[str, Object] = {}
    for path in sorted(paths):
        try:
            templates[path] = yaml.safe_load((file.parent / path).read_text())
        except FileNotFoundError as error:
            raise WorkloadError(f"{file}: there is no template {path}") from error
    return [_workload(file, case, size, templates) for case in cases for size in case.workloads]


def select(workloads: Sequence[Workload], *, label: str, cases: Sequence[str], nodes: Sequence[int]) -> list[Workload]:
    """Those that have ``label`` (any has the empty one) and are of ``cases`` and ``nodes``, where these are given.

    A case may be named with its size, ``SchedulingBasic/5000Nodes``; that size needs no label. Raises WorkloadError
    for an unknown name and for an empty selection.
    """
    names = {name for workload in workloads for name in (workload.case, workload.name)}
    if unknown := sorted(set(cases) - names):
        cases_there = ", ".join(sorted({workload.case for workload in workloads}))
        raise WorkloadError(f"there is no workload {', '.join(unknown)}; there are {cases_there}")

    def matches(workload: Workload) -> bool:
        return (
            (not label or label in workload.labels)
            and (not cases or workload.case in cases)
            and (not nodes or workload.nodes in nodes)
        )

    selected = [workload for workload in workloads if workload.name in cases or matches(workload)]
    if not selected:
        raise WorkloadError("no workload is left of this selection: ask for fewer things at once, or with --label ''")
    return selected


def _workload(file: Path, case: Case, size: Sized, templates: Mapping[str, Object]) -> Workload:
    workload = Workload(
        case=case.name,
        size=size.name,
        labels=frozenset(size.labels),
        steps=tuple(case.workload_template),
        params=size.params,
        templates={path: templates[path] for path in _paths(case)},
        default_pod_template=case.default_pod_template_path,
    )
    _check(file, workload)
    return workload


def _paths(case: Case) -> set[str]:
    """The templates that the case needs."""
    paths = {case.default_pod_template_path}
    for step in case.workload_template:
        match step:
            case CreateNodes():
                paths.add(step.node_template_path)
            case CreatePods():
                paths.add(step.pod_template_path)
            case CreateAny():
                paths.add(step.template_path)
            case Churn():
                paths.update(step.template_paths)
    return paths - {""}


def _check(file: Path, workload: Workload) -> None:
    """Raise WorkloadError for a workload that could not be run to its end."""
    params = {
        step.count_param.removeprefix("$")
        for step in workload.steps
        if isinstance(step, CreateNodes | CreateNamespaces | CreatePods) and step.count_param
    }
    if wrong := params.symmetric_difference(workload.params):
        raise WorkloadError(f"{file}: {workload.name}: params and steps do not agree on {', '.join(sorted(wrong))}")
    pods = [step for step in workload.steps if isinstance(step, CreatePods)]
    if [step for step in pods if step.collect_metrics] != [workload.steps[-1]]:
        raise WorkloadError(
            f"{file}: {workload.name}: the last step, and no other, must be a createPods that has collectMetrics"
        )
    without = [step for step in pods if not step.pod_template_path and not workload.default_pod_template]
    if without:
        raise WorkloadError(f"{file}: {workload.name}: createPods needs podTemplatePath where the case has no default")
    if any(step.skip_wait_to_completion and step.collect_metrics for step in pods):
        raise WorkloadError(f"{file}: {workload.name}: what is measured is waited for: drop skipWaitToCompletion")
