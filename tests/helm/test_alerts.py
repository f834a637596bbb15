"""The chart's alerts, evaluated by Prometheus's own promtool: each fires by what it is for, and not without it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import devcluster
from tools.dashboards.pages import ALL

RULES = Path(__file__).resolve().parents[2] / "helm/berth/monitoring/rules.yaml"

pytestmark = pytest.mark.cluster(binaries=("promtool",))  # they need no cluster, but it is built as those binaries are


@dataclass(frozen=True)
class Alert:
    """Series minute by minute, as promtool takes them: 0x60 is 0 for an hour, 0+5x60 grows by five each minute."""

    fires: dict[str, str]
    silent: dict[str, str]
    labels: dict[str, str]
    """By which the alert is told from others of its name."""


PROFILE, OTHER = 'job="berth-packing",instance="a"', 'job="berth-packing",instance="b"'
OPERATOR = 'job="berth-operator",instance="a"'
CONTROLLER = f'{OPERATOR},controller="schedulerprofile"'
JOB = {"job": "berth-packing"}
LEADS = "leader_election_master_status"
ATTEMPTS = "scheduler_schedule_attempts_total"
ALERTS = {
    "BerthOperatorDoesNotLead": Alert(
        fires={f'{LEADS}{{{OPERATOR},name="berth-operator"}}': "0x60"},
        silent={
            f'{LEADS}{{{OPERATOR},name="berth-operator"}}': "0x60",
            f'{LEADS}{{job="berth-operator",instance="b",name="berth-operator"}}': "1x60",
        },
        labels={},  # nobody is there to have any
    ),
    "BerthProfileNotReady": Alert(
        fires={f'berth_profiles{{{OPERATOR},ready="False",reason="Invalid"}}': "2x60"},
        silent={
            f'berth_profiles{{{OPERATOR},ready="True",reason="Scheduling"}}': "2x60",
            f'berth_profiles{{{OPERATOR},ready="Unknown",reason="Paused"}}': "2x60",
        },
        labels={"job": "berth-operator", "reason": "Invalid"},
    ),
    "BerthReconcileErrors": Alert(
        fires={f"controller_runtime_reconcile_errors_total{{{CONTROLLER}}}": "0+1x60"},
        silent={
            f"controller_runtime_reconcile_errors_total{{{CONTROLLER}}}": "7x60",
            'controller_runtime_reconcile_errors_total{job="other",controller="certificates"}': "0+1x60",
        },
        labels={"job": "berth-operator", "controller": "schedulerprofile"},
    ),
    "BerthReconcilePanics": Alert(
        fires={f"controller_runtime_reconcile_panics_total{{{CONTROLLER}}}": "0x50 1x10"},
        silent={f"controller_runtime_reconcile_panics_total{{{CONTROLLER}}}": "1x60"},
        labels={"job": "berth-operator", "controller": "schedulerprofile"},
    ),
    "BerthWorkerStuck": Alert(
        fires={f'workqueue_longest_running_processor_seconds{{{OPERATOR},name="pluginconfig"}}': "0+60x60"},
        silent={f'workqueue_longest_running_processor_seconds{{{OPERATOR},name="pluginconfig"}}': "30x60"},
        labels={"job": "berth-operator", "name": "pluginconfig"},
    ),
    "BerthDriftRepairedAgainAndAgain": Alert(
        fires={f'berth_drift_repaired_total{{{OPERATOR},kind="Deployment"}}': "0+1x60"},
        silent={f'berth_drift_repaired_total{{{OPERATOR},kind="Deployment"}}': "0x40 5x20"},
        labels={"job": "berth-operator", "kind": "Deployment"},
    ),
    "BerthObjectsUnreadable": Alert(
        fires={f'berth_unreadable_objects{{{OPERATOR},kind="PluginConfig"}}': "1x60"},
        silent={f'berth_unreadable_objects{{{OPERATOR},kind="PluginConfig"}}': "0x60"},
        labels={"job": "berth-operator", "kind": "PluginConfig"},
    ),
    "BerthSchedulerDoesNotLead": Alert(
        fires={f'{LEADS}{{{who},name="berth-packing"}}': "0x60" for who in (PROFILE, OTHER)},
        silent={
            f'{LEADS}{{{PROFILE},name="berth-packing"}}': "0x60",
            f'{LEADS}{{{OTHER},name="berth-packing"}}': "1x60",
            f'{LEADS}{{{OPERATOR},name="berth-operator"}}': "0x60",  # another alert is about that
        },
        labels={**JOB, "name": "berth-packing"},
    ),
    "BerthSchedulerIsDown": Alert(
        fires={f"up{{{who}}}": "0x60" for who in (PROFILE, OTHER)},
        silent={f"up{{{PROFILE}}}": "0x60", f"up{{{OTHER}}}": "1x60", 'up{job="other"}': "0x60"},
        labels=JOB,
    ),
    "BerthSchedulerStandsStill": Alert(
        fires={
            f'scheduler_pending_pods{{{PROFILE},queue="active"}}': "3x60",
            f'{ATTEMPTS}{{{PROFILE},result="scheduled",profile="packing"}}': "0+9x20 180x40",
        },
        silent={
            f'scheduler_pending_pods{{{PROFILE},queue="active"}}': "3x60",
            f'scheduler_pending_pods{{{PROFILE},queue="unschedulable"}}': "3x60",
            f'{ATTEMPTS}{{{PROFILE},result="unschedulable",profile="packing"}}': "0+9x60",
        },
        labels=JOB,
    ),
    "BerthSchedulingErrors": Alert(
        fires={
            f'{ATTEMPTS}{{{PROFILE},result="scheduled",profile="packing"}}': "0+90x60",
            f'{ATTEMPTS}{{{PROFILE},result="error",profile="packing"}}': "0+10x60",
        },
        silent={
            f'{ATTEMPTS}{{{PROFILE},result="scheduled",profile="packing"}}': "0+90x60",
            f'{ATTEMPTS}{{{PROFILE},result="unschedulable",profile="packing"}}': "0+90x60",
            f'{ATTEMPTS}{{{PROFILE},result="error",profile="packing"}}': "0+1x60",
        },
        labels={**JOB, "profile": "packing"},
    ),
    "BerthSchedulingIsSlow": Alert(
        fires={
            f'scheduler_scheduling_algorithm_duration_seconds_bucket{{{PROFILE},le="{bound}"}}': f"0+{number}x60"
            for bound, number in (("0.512", 90), ("1.024", 100), ("+Inf", 100))
        },
        silent={
            f'scheduler_scheduling_algorithm_duration_seconds_bucket{{{PROFILE},le="{bound}"}}': "0+100x60"
            for bound in ("0.001", "0.512", "+Inf")
        },
        labels=JOB,
    ),
    "BerthEventLoopIsLate": Alert(
        fires={
            f'berth_event_loop_lag_seconds_bucket{{{PROFILE},le="{bound}"}}': f"0+{number}x60"
            for bound, number in (("1.024", 90), ("2.048", 100), ("+Inf", 100))
        },
        silent={
            f'berth_event_loop_lag_seconds_bucket{{{PROFILE},le="{bound}"}}': "0+100x60" for bound in ("0.512", "+Inf")
        },
        labels=JOB,
    ),
    "BerthDocumentNotFollowed": Alert(
        fires={f'berth_document_not_followed{{{PROFILE},why="refused"}}': "1x60"},
        silent={f'berth_document_not_followed{{{PROFILE},why="refused"}}': "0x60"},
        labels={**JOB, "why": "refused"},
    ),
    "BerthObjectsSetAside": Alert(
        fires={f'berth_objects_set_aside{{{PROFILE},resource="pods",reason="unreadable"}}': "1x60"},
        silent={f'berth_objects_set_aside{{{PROFILE},resource="pods",reason="unreadable"}}': "0x60"},
        labels={**JOB, "resource": "pods", "reason": "unreadable"},
    ),
}


def promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = devcluster.binaries("promtool")["promtool"]
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def alert_test(series: dict[str, str], expected: list[dict[str, str]], alert: str) -> dict[str, Any]:
    """What promtool tests after an hour: the alerts of that name that fire."""
    # Every series of ALERTS has the labels of its alert, without those of how bad it is.
    query = f'sum without (severity) (ALERTS{{alertname="{alert}",alertstate="firing"}})'
    labels = [
        ",".join(f'{name}="{value}"' for name, value in {**fired, "alertname": alert, "alertstate": "firing"}.items())
        for fired in expected
    ]
    samples = [{"labels": f"{{{one}}}", "value": 1} for one in labels]
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": query, "eval_time": "59m", "exp_samples": samples}],
    }


def judge(directory: Path, tests: list[dict[str, Any]]) -> str:
    """What promtool complains of."""
    file = directory / "tests.yaml"
    document = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}
    file.write_text(yaml.safe_dump(document))
    answer = promtool("test", "rules", str(file))
    return "" if answer.returncode == 0 else answer.stdout + answer.stderr


def test_every_alert_is_tested() -> None:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    assert sorted(rule["alert"] for group in groups for rule in group["rules"]) == sorted(ALERTS)


def test_the_rules_are_written_as_prometheus_reads_them() -> None:
    answer = promtool("check", "rules", "--lint=all", "--lint-fatal", str(RULES))
    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_fires_by_what_it_is_for_and_not_without_it(name: str, tmp_path: Path) -> None:
    alert = ALERTS[name]
    assert judge(tmp_path, [alert_test(alert.fires, [alert.labels], name)]) == ""
    assert judge(tmp_path, [alert_test(alert.silent, [], name)]) == ""


@pytest.mark.parametrize("name", ALL)
def test_the_queries_of_the_dashboards_are_written_as_prometheus_reads_them(name: str, tmp_path: Path) -> None:
    queries = [query.expression for panel in ALL[name].panels() for query in panel.queries]
    rules = [
        {"record": f"panel:{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(queries)
    ]
    file = tmp_path / "panels.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    answer = promtool("check", "rules", "--lint=none", str(file))
    assert answer.returncode == 0, answer.stdout + answer.stderr
