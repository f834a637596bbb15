"""The operator's metrics, by the names, labels and buckets that controller-runtime 0.24 has."""

import re
from dataclasses import replace

from scheduler_operator.cluster.user_objects import StoredObject, UserObjects
from scheduler_operator.reconcile.metrics import OperatorMetrics, add_gauges
from scheduler_operator.reconcile.reconciler import Key
from scheduler_operator.reconcile.render_process import RenderProcesses
from scheduler_operator.reconcile.work_queue import WorkQueue
from scheduler_operator.resources import kinds
from tests.scheduler_operator.builders import profile

OF_QUEUE, OF_CONTROLLER = {"name", "controller"}, {"controller"}
QUEUE_BOUNDS = [10.0**exponent for exponent in range(-8, 4)]
CONTROLLER_RUNTIME = {
    "workqueue_depth": ("gauge", OF_QUEUE),
    "workqueue_adds_total": ("counter", OF_QUEUE),
    "workqueue_queue_duration_seconds": ("histogram", OF_QUEUE),
    "workqueue_work_duration_seconds": ("histogram", OF_QUEUE),
    "workqueue_unfinished_work_seconds": ("gauge", OF_QUEUE),
    "workqueue_longest_running_processor_seconds": ("gauge", OF_QUEUE),
    "workqueue_retries_total": ("counter", OF_QUEUE),
    "controller_runtime_reconcile_total": ("counter", {"controller", "result"}),
    "controller_runtime_reconcile_errors_total": ("counter", OF_CONTROLLER),
    "controller_runtime_reconcile_panics_total": ("counter", OF_CONTROLLER),
    "controller_runtime_reconcile_time_seconds": ("histogram", OF_CONTROLLER),
    "controller_runtime_max_concurrent_reconciles": ("gauge", OF_CONTROLLER),
    "controller_runtime_active_workers": ("gauge", OF_CONTROLLER),
    "rest_client_requests_total": ("counter", {"code", "method", "host"}),
}
"""Its metrics, but for the priority of a queue, which ours has not, and for errors after which it gives up."""


def families(text: str) -> dict[str, tuple[str, set[str]]]:
    """The metrics of a page: the type and the labels of each."""
    by_name = {name: (kind, set[str]()) for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE)}
    for sample, labels in re.findall(r"^([a-z_0-9]+)(?:\{(.*)\})? \S+$", text, re.MULTILINE):
        name = sample if sample in by_name else re.sub(r"_(bucket|sum|count)$", "", sample)
        by_name[name][1].update(re.findall(r'([a-z_]+)="', labels))
        by_name[name][1].discard("le")
    return by_name


def numbers(text: str, name: str) -> dict[str, float]:
    """The numbers of a metric by the values of their labels."""
    lines = re.findall(rf"^{name}\{{(.*)\}} (\S+)$", text, re.MULTILINE)
    return {",".join(re.findall(r'="([^"]*)"', labels)): float(number) for labels, number in lines}


class Parts:
    """An operator's metrics with what they measure."""

    def __init__(self) -> None:
        self.now = 100.0
        self.metrics = OperatorMetrics("10.0.0.1:443")
        self.work: WorkQueue[Key] = WorkQueue(self.metrics, lambda: self.now)
        self.users = UserObjects()
        add_gauges(self.metrics, self.work, 4, self.users, RenderProcesses())


def key(name: str, kind: kinds.ResourceKind = kinds.PROFILE) -> Key:
    return Key(kind.name, name)


async def test_metrics_are_those_of_controller_runtime() -> None:
    parts = Parts()
    parts.metrics.observe_wait(key("a"), 0.1)
    parts.metrics.observe_work(key("a"), "success", 0.1)
    parts.metrics.count_request(200, "GET", (0, 0.1, 0, 10))
    text = parts.metrics.text()
    page = families(text)
    assert {name: page[name] for name in CONTROLLER_RUNTIME} == CONTROLLER_RUNTIME
    bounds = re.findall(r'^workqueue_queue_duration_seconds_bucket\{.*le="([^"]+)"', text, re.MULTILINE)
    assert [f"{float(bound):.6g}" for bound in bounds] == [f"{bound:.6g}" for bound in [*QUEUE_BOUNDS, float("inf")]]
    assert re.findall(r'^controller_runtime_reconcile_time_seconds_bucket\{.*le="([^"]+)"', text, re.MULTILINE)[
        -3:
    ] == [*("50", "60", "+Inf")]


async def test_before_anything_happens_everything_that_can_be_counted_is_0() -> None:
    text = Parts().metrics.text()
    assert numbers(text, "controller_runtime_reconcile_total") == {
        f"{controller},{result}": 0
        for controller in ("schedulerprofile", "pluginconfig")
        for result in ("success", "requeue", "requeue_after", "error")
    }
    assert numbers(text, "workqueue_depth") == {"schedulerprofile,schedulerprofile": 0, "pluginconfig,pluginconfig": 0}
    assert set(numbers(text, "berth_drift_repaired_total").values()) == {0}


async def test_reconciles_are_counted_by_how_they_ended() -> None:
    parts = Parts()
    for result in ("success", "requeue", "requeue", "error", "panic"):
        parts.metrics.observe_work(key("a"), result, 2.0)
    text = parts.metrics.text()
    results = numbers(text, "controller_runtime_reconcile_total")
    assert {name: number for name, number in results.items() if number} == {
        "schedulerprofile,success": 1,
        "schedulerprofile,requeue": 2,
        "schedulerprofile,error": 2,
    }
    assert numbers(text, "controller_runtime_reconcile_errors_total")["schedulerprofile"] == 2
    assert numbers(text, "controller_runtime_reconcile_panics_total")["schedulerprofile"] == 1
    assert numbers(text, "workqueue_retries_total")["schedulerprofile,schedulerprofile"] == 4
    assert numbers(text, "controller_runtime_reconcile_time_seconds_sum") == {"schedulerprofile": 10}


async def test_a_queue_is_shown_as_it_is_now() -> None:
    parts = Parts()
    for one in (key("a"), key("b"), key("c", kinds.PLUGIN_CONFIG)):
        parts.work.add(one)
    parts.now = 103.0
    assert parts.work._queue.take(parts.now) == key("a")
    parts.now = 105.0
    text = parts.metrics.text()
    assert numbers(text, "workqueue_depth") == {"schedulerprofile,schedulerprofile": 1, "pluginconfig,pluginconfig": 1}
    assert numbers(text, "workqueue_adds_total")["schedulerprofile,schedulerprofile"] == 2
    assert numbers(text, "workqueue_queue_duration_seconds_sum") == {"schedulerprofile,schedulerprofile": 3}
    for name in ("unfinished_work", "longest_running_processor"):
        assert numbers(text, f"workqueue_{name}_seconds")["schedulerprofile,schedulerprofile"] == 2
    assert numbers(text, "controller_runtime_active_workers") == {"schedulerprofile": 1, "pluginconfig": 0}
    assert numbers(text, "controller_runtime_max_concurrent_reconciles") == {"schedulerprofile": 4, "pluginconfig": 4}


async def test_profiles_are_counted_by_the_reason_of_their_readiness() -> None:
    parts = Parts()

    def stored(name: str, status: str = "", reason: str = "") -> StoredObject:
        conditions = [{"type": "Ready", "status": status, "reason": reason}] if status else []
        return StoredObject(replace(profile(name), status={"conditions": conditions}), 1, b"{}")

    page = [
        stored("a", "True", "Scheduling"),
        stored("b", "True", "Scheduling"),
        stored("c", "False", "Invalid"),
        stored("d"),
    ]
    parts.users.put_page(kinds.PROFILE, page, is_first=True, is_last=True)
    parts.users.unlistable[kinds.PROFILE] = ["poison"]
    text = parts.metrics.text()
    assert numbers(text, "berth_profiles") == {"True,Scheduling": 2, "False,Invalid": 1, "Unknown,": 1}
    assert numbers(text, "berth_unreadable_objects") == {"SchedulerProfile": 1, "PluginConfig": 0}
