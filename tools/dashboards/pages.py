"""The dashboards: one for schedulers, Berth's and kube-scheduler alike, and one for the operator."""

from __future__ import annotations

from collections.abc import Iterable

from tools.dashboards.grafana import Dashboard, Panel, Query, Row, Variable

RATE = "[$__rate_interval]"
OF_JOB = 'job=~"$job"'
OF_PROFILE = f'{OF_JOB},profile=~"$profile"'
QUANTILES = (0.5, 0.9, 0.99)


def rate(metric: str, of: str, *by: str, more: str = "") -> str:
    """Return the sum of what a counter grows by in a second, ``by`` labels; ``more`` are further matchers."""
    return f"sum by ({', '.join(by)}) (rate({metric}{{{of}{more}}}{RATE}))"


def quantile(number: float, metric: str, of: str, *by: str, more: str = "") -> str:
    """Return a quantile of a histogram."""
    return f"histogram_quantile({number}, {rate(f'{metric}_bucket', of, *by, 'le', more=more)})"


def quantiles(metric: str, of: str, more: str = "") -> list[Query]:
    """Return the median and two quantiles of a histogram."""
    return [Query(quantile(number, metric, of, more=more), f"{number:.0%} of them") for number in QUANTILES]


def mean(metric: str, of: str, *by: str) -> str:
    """Return the mean of what a histogram has seen."""
    return f"{rate(f'{metric}_sum', of, *by)} / {rate(f'{metric}_count', of, *by)}"


def requests(host_errors: str) -> Panel:
    """Return the panel of requests to the API server."""
    return Panel(
        "Requests to the API server",
        f"By method and status of the answer; <error> is no answer. {host_errors}",
        [Query(rate("rest_client_requests_total", OF_JOB, "method", "code"), "{{method}} {{code}}")],
        "reqps",
    )


def process() -> Iterable[Panel]:
    """Return panels about the process itself."""
    yield Panel(
        "Leader",
        "1 for the process that leads. Nobody works while all are 0.",
        [Query(f"max by (job, instance) (leader_election_master_status{{{OF_JOB}}})", "{{job}} {{instance}}")],
    )
    yield Panel(
        "CPU",
        "In cores.",
        [Query(f"sum by (job, instance) (rate(process_cpu_seconds_total{{{OF_JOB}}}{RATE}))", "{{job}} {{instance}}")],
    )
    yield Panel(
        "Memory",
        "Resident.",
        [Query(f"sum by (job, instance) (process_resident_memory_bytes{{{OF_JOB}}})", "{{job}} {{instance}}")],
        "bytes",
    )


def loop_lag() -> Panel:
    """Return the panel of the event loop."""
    return Panel(
        "Event loop: how late it is",
        "Whatever is due waits so long. A hundred milliseconds now and then are usual with thousands of nodes.",
        [
            Query(quantile(number, "berth_event_loop_lag_seconds", OF_JOB, "job"), f"{{{{job}}}} {number:.0%}")
            for number in QUANTILES[1:]
        ],
        "s",
    )


SCHEDULERS = Dashboard(
    "berth-schedulers",
    "Schedulers",
    "Berth's schedulers and kube-scheduler, by the metrics that both have; the last row has what only Berth's have.",
    (
        Variable("job", "scheduler_pending_pods", "job"),
        Variable("profile", f"scheduler_schedule_attempts_total{{{OF_JOB}}}", "profile"),
    ),
    (
        Row(
            "Pods",
            (
                Panel(
                    "Waiting pods",
                    "active: next in turn; backoff: after a failed attempt; unschedulable: until something changes; "
                    "gated: until a gate opens.",
                    [Query(f"sum by (job, queue) (scheduler_pending_pods{{{OF_JOB}}})", "{{job}} {{queue}}")],
                ),
                Panel(
                    "Attempts",
                    "By how they ended: scheduled, unschedulable, error.",
                    [
                        Query(
                            rate("scheduler_schedule_attempts_total", OF_PROFILE, "profile", "result"),
                            "{{profile}} {{result}}",
                        )
                    ],
                    "ops",
                ),
                Panel(
                    "Unschedulable pods, by plugin",
                    "A pod counts for every plugin that rejected it.",
                    [Query(f"sum by (plugin) (scheduler_unschedulable_pods{{{OF_PROFILE}}})", "{{plugin}}")],
                ),
                Panel(
                    "Why pods came to wait",
                    "By the event that brought them there.",
                    [
                        Query(
                            rate("scheduler_queue_incoming_pods_total", OF_JOB, "queue", "event"),
                            "{{queue}}: {{event}}",
                        )
                    ],
                    "ops",
                ),
                Panel(
                    "Attempts that a pod needs",
                    "The mean over pods that were bound.",
                    [Query(mean("scheduler_pod_scheduling_attempts", OF_JOB, "job"), "{{job}}")],
                ),
                Panel(
                    "Preemption",
                    "Searches for pods to preempt, and pods that were chosen.",
                    [
                        Query(rate("scheduler_preemption_attempts_total", OF_JOB, "job"), "{{job}} searches"),
                        Query(rate("scheduler_preemption_victims_sum", OF_JOB, "job"), "{{job}} victims"),
                    ],
                    "ops",
                ),
            ),
        ),
        Row(
            "Time",
            (
                Panel(
                    "From waiting to bound",
                    "Since a pod was first ready to be scheduled, failed attempts and backoff included.",
                    quantiles("scheduler_pod_scheduling_sli_duration_seconds", OF_JOB),
                    "s",
                ),
                Panel(
                    "One attempt",
                    "From taking the pod to its being bound.",
                    quantiles("scheduler_scheduling_attempt_duration_seconds", OF_PROFILE, ',result="scheduled"'),
                    "s",
                ),
                Panel(
                    "Decision",
                    "Choosing the node: the part of an attempt in which nothing else is decided.",
                    quantiles("scheduler_scheduling_algorithm_duration_seconds", OF_JOB),
                    "s",
                ),
                Panel(
                    "Extension points",
                    "99 % take no longer. All plugins of a point together.",
                    [
                        Query(
                            quantile(
                                0.99,
                                "scheduler_framework_extension_point_duration_seconds",
                                OF_PROFILE,
                                "extension_point",
                            ),
                            "{{extension_point}}",
                        )
                    ],
                    "s",
                ),
                Panel(
                    "Plugins",
                    "The mean of one plugin at one point. Only one decision in ten is measured.",
                    [
                        Query(
                            mean("scheduler_plugin_execution_duration_seconds", OF_JOB, "plugin", "extension_point"),
                            "{{plugin}} {{extension_point}}",
                        )
                    ],
                    "s",
                ),
                Panel(
                    "Work in the background",
                    "Bindings under way, and calls of extenders.",
                    [Query(f"sum by (job, operation) (scheduler_goroutines{{{OF_JOB}}})", "{{job}} {{operation}}")],
                ),
            ),
        ),
        Row(
            "API server and process",
            (
                requests("A scheduler's requests for its Lease are not among Berth's."),
                Panel(
                    "How long answers take",
                    "99 % take no longer.",
                    [Query(quantile(0.99, "rest_client_request_duration_seconds", OF_JOB, "verb"), "{{verb}}")],
                    "s",
                ),
                Panel(
                    "Cache",
                    "Nodes and pods that the scheduler knows, and pods that only it knows to be on a node.",
                    [Query(f"sum by (job, type) (scheduler_cache_size{{{OF_JOB}}})", "{{job}} {{type}}")],
                ),
                *process(),
            ),
        ),
        Row(
            "Berth only",
            (
                loop_lag(),
                Panel(
                    "Documents that are not followed",
                    "1 while the newest document is refused, missing, or waits for code: the last good one is active.",
                    [Query(f"max by (job, why) (berth_document_not_followed{{{OF_JOB}}}) > 0", "{{job}} {{why}}")],
                ),
                Panel(
                    "Objects that are set aside",
                    "They cannot be read, or taking them in failed. /debug/cache names them.",
                    [
                        Query(
                            f"max by (job, resource, reason) (berth_objects_set_aside{{{OF_JOB}}}) > 0",
                            "{{job}} {{resource}} {{reason}}",
                        )
                    ],
                ),
                Panel(
                    "Slow attempts",
                    "Attempts that took more CPU than a pod may take before it has to let others go first.",
                    [Query(rate("berth_slow_attempts_total", OF_PROFILE, "profile"), "{{profile}}")],
                    "ops",
                ),
                Panel(
                    "Pods that let others go first",
                    "Their attempts are slow, or fail again and again.",
                    [Query(f"sum by (job) (berth_yielding_pods{{{OF_JOB}}})", "{{job}}")],
                ),
            ),
        ),
    ),
)

OPERATOR = Dashboard(
    "berth-operator",
    "Berth operator",
    "What becomes of profiles, and how the operator does.",
    (Variable("job", "berth_profiles", "job"),),
    (
        Row(
            "Profiles",
            (
                Panel(
                    "Profiles",
                    "By the condition Ready and its reason.",
                    [Query(f"sum by (ready, reason) (berth_profiles{{{OF_JOB}}})", "{{ready}}: {{reason}}")],
                ),
                Panel(
                    "Repaired drift",
                    "Generated objects that others had changed or deleted. A profile's events say who did.",
                    [Query(rate("berth_drift_repaired_total", OF_JOB, "kind"), "{{kind}}")],
                    "ops",
                ),
                Panel(
                    "Objects that make trouble",
                    "Specs that took too much time or memory to render, objects that take long, and those that the API "
                    "server cannot read back.",
                    [
                        Query(f"sum (rate(berth_unrenderable_total{{{OF_JOB}}}{RATE}))", "not rendered, per second"),
                        Query(f"sum (berth_slow_objects{{{OF_JOB}}})", "slow"),
                        Query(f"sum by (kind) (berth_unreadable_objects{{{OF_JOB}}})", "unreadable {{kind}}"),
                    ],
                ),
            ),
        ),
        Row(
            "Reconciles",
            (
                Panel(
                    "Reconciles",
                    "By how they ended: success; requeue, which is looked at again soon; error.",
                    [
                        Query(
                            rate("controller_runtime_reconcile_total", OF_JOB, "controller", "result"),
                            "{{controller}} {{result}}",
                        )
                    ],
                    "ops",
                ),
                Panel(
                    "Errors",
                    "Errors are in the log. A panic is one that nobody foresaw: please report it.",
                    [
                        Query(
                            rate("controller_runtime_reconcile_errors_total", OF_JOB, "controller"), "{{controller}}"
                        ),
                        Query(
                            rate("controller_runtime_reconcile_panics_total", OF_JOB, "controller"),
                            "{{controller}} panics",
                        ),
                    ],
                    "ops",
                ),
                Panel(
                    "How long a reconcile takes",
                    "Half of them, and 99 %, take no longer.",
                    [
                        Query(
                            quantile(number, "controller_runtime_reconcile_time_seconds", OF_JOB, "controller"),
                            f"{{{{controller}}}} {number:.0%}",
                        )
                        for number in (0.5, 0.99)
                    ],
                    "s",
                ),
                Panel(
                    "Work queue",
                    "Objects that wait for a worker, and those that rest before their next attempt.",
                    [
                        Query(f"sum by (name) (workqueue_depth{{{OF_JOB}}})", "{{name}} waiting"),
                        Query(f"sum by (controller) (berth_resting_objects{{{OF_JOB}}})", "{{controller}} resting"),
                    ],
                ),
                Panel(
                    "How long objects wait for a worker",
                    "99 % wait no longer.",
                    [Query(quantile(0.99, "workqueue_queue_duration_seconds", OF_JOB, "name"), "{{name}}")],
                    "s",
                ),
                Panel(
                    "Additions and retries",
                    "Objects that came to wait, and those that have to be looked at again.",
                    [
                        Query(rate("workqueue_adds_total", OF_JOB, "name"), "{{name}} added"),
                        Query(rate("workqueue_retries_total", OF_JOB, "name"), "{{name}} again"),
                    ],
                    "ops",
                ),
                Panel(
                    "Workers",
                    "Those that are busy, and all. They serve both kinds of objects.",
                    [
                        Query(
                            f"sum by (controller) (controller_runtime_active_workers{{{OF_JOB}}})",
                            "{{controller}} busy",
                        ),
                        Query(f"max (controller_runtime_max_concurrent_reconciles{{{OF_JOB}}})", "all"),
                    ],
                ),
                Panel(
                    "Work under way",
                    "How long the longest reconcile has taken so far, and all that are under way together.",
                    [
                        Query(
                            f"max by (name) (workqueue_longest_running_processor_seconds{{{OF_JOB}}})",
                            "{{name}} longest",
                        ),
                        Query(f"sum by (name) (workqueue_unfinished_work_seconds{{{OF_JOB}}})", "{{name}} together"),
                    ],
                    "s",
                ),
                loop_lag(),
            ),
        ),
        Row(
            "API server and process",
            (
                requests("Watches count when they begin; requests for the Lease are not counted."),
                Panel(
                    "How long answers take",
                    "99 % take no longer. Without the lists and watches.",
                    [Query(quantile(0.99, "rest_client_request_duration_seconds", OF_JOB, "verb"), "{{verb}}")],
                    "s",
                ),
                *process(),
            ),
        ),
    ),
)

ALL = {"schedulers.json": SCHEDULERS, "operator.json": OPERATOR}
