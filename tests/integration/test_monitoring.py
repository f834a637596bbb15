"""Dashboards, alerts and the page about them, held against an operator, a scheduler and a kube-scheduler that run."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

import devcluster
from devcluster import Cluster, Spec
from devcluster.system.ports import free_port
from examples.demo.installation import NAMESPACE
from tests.integration.operator.running import apply_crds_before_controllers
from tests.support.kube_scheduler import image_program
from tests.support.pages import bearer, get, get_page
from tests.support.promql import labels_by_metric, unknown_to
from tests.support.world import UNHURRIED, Object, World, on_process_nodes
from tools.dashboards.pages import OPERATOR, SCHEDULERS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(240)]

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/observability.md").read_text()
RULES_FILE = ROOT / "helm/berth/monitoring/rules.yaml"
RULES = yaml.safe_load(RULES_FILE.read_text())
PYTHON, KUBE = "ours", "theirs"
PORTS = {"operator": 8443, PYTHON: 10259, KUBE: 10259}
PODS = 40
COLLECTOR = ("monitoring.readers[0].name=collector", "monitoring.readers[0].namespace=default")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    images = {
        "berth:test": [str(Path(sys.executable).parent / "python")],
        "kube-scheduler:1.36": [str(image_program(tmp_path_factory.mktemp("images"), "1.36"))],
    }
    with devcluster.running(Spec(fake_nodes=2, images=images)) as running:
        yield running


@pytest.fixture(scope="module")
def world(cluster: Cluster) -> Iterator[World]:
    """The operator, with a profile of each engine whose scheduler has placed, rejected and gated pods."""
    apply_crds_before_controllers(cluster)
    values = ("profiles.allowed.engines={Python,KubeScheduler}", "profiles.allowed.images={kube-scheduler}")
    with on_process_nodes(cluster, "berth:test", *values, "replicas=1", "logFormat=json", *COLLECTOR) as installation:
        installation.kubectl("create", "serviceaccount", "collector")
        one = {**UNHURRIED, "replicas": 1}
        installation.apply(
            installation.profile(PYTHON, scheduler=one),
            installation.profile(
                KUBE,
                engine="KubeScheduler",
                scheduler={**one, "image": "kube-scheduler:1.36", "kubernetesVersion": "1.36"},
            ),
        )
        for scheduler in (PYTHON, KUBE):
            installation.eventually(partial(installation.holder, f"berth-{scheduler}"), 90)
            installation.apply(*pods(installation, scheduler))
        yield installation


def pods(world: World, scheduler: str) -> Iterator[Object]:
    for app, count, more in (
        ("placed", PODS, {"nodeSelector": {"type": "kwok"}}),
        ("nowhere", 1, {"nodeSelector": {"there": "is-none"}}),
        ("gated", 1, {"schedulingGates": [{"name": "example.com/g"}]}),
    ):
        deployment = world.deployment(f"{app}-{scheduler}", scheduler, count, {"cpu": "1m"})
        deployment["spec"]["template"]["spec"].update(more)
        yield deployment


def address(world: World, program: str) -> str:
    """The address of the one pod of a program."""
    of = {"operator": "app.kubernetes.io/name=berth-operator"}.get(program, f"berth.dev/profile={program}")
    (pod,) = world.kubectl.items("pods", f"--namespace={NAMESPACE}", f"--selector={of}")
    return str(pod["status"]["podIP"])


@pytest.fixture(scope="module")
def pages(world: World) -> dict[str, str]:
    """The metrics of each program, as a collector gets them that has the role of the chart."""
    token = world.kubectl("create", "token", "collector").strip()

    def page(program: str) -> str:
        fetched = get_page(PORTS[program], "/metrics", bearer(token), host=address(world, program))
        assert fetched.status == 200, fetched.body
        return fetched.body

    def attempts(text: str, result: str) -> int:
        """How many attempts of a profile's scheduler ended so."""
        lines = re.findall(r"^scheduler_schedule_attempts_total\{(.*)\} (\S+)$", text, re.MULTILINE)
        return sum(int(float(number)) for labels, number in lines if f'result="{result}"' in labels)

    def is_done(program: str) -> bool:
        text = page(program)
        return attempts(text, "scheduled") == PODS and attempts(text, "unschedulable") > 0

    for program in (PYTHON, KUBE):
        world.eventually(lambda: len(world.bound(f"placed-{program}")) == PODS, 60)  # noqa: B023 - called at once
        world.eventually(partial(is_done, program), 30)
    return {program: page(program) for program in PORTS}


@pytest.mark.parametrize("program", [PYTHON, KUBE])
def test_the_dashboard_of_schedulers_uses_what_they_have(pages: dict[str, str], program: str) -> None:
    page = labels_by_metric(pages[program])
    rows = SCHEDULERS.rows if program == PYTHON else [row for row in SCHEDULERS.rows if row.title != "Berth only"]
    assert len(rows) == len(SCHEDULERS.rows) - (program == KUBE)
    queries = [query.expression for row in rows for panel in row.panels for query in panel.queries]
    variables = [variable.metric for variable in SCHEDULERS.variables]
    assert [problem for query in (*queries, *variables) for problem in unknown_to(page, query)] == []


def test_the_dashboard_of_the_operator_uses_what_it_has(pages: dict[str, str]) -> None:
    page = labels_by_metric(pages["operator"])
    queries = [query.expression for panel in OPERATOR.panels() for query in panel.queries]
    variables = [variable.metric for variable in OPERATOR.variables]
    assert [problem for query in (*queries, *variables) for problem in unknown_to(page, query)] == []


@pytest.mark.parametrize("group", RULES["groups"], ids=lambda group: group["name"])
def test_alerts_use_what_the_programs_have(pages: dict[str, str], group: dict[str, Any]) -> None:
    page = labels_by_metric(pages["operator" if group["name"] == "berth-operator" else PYTHON])
    assert [problem for rule in group["rules"] for problem in unknown_to(page, rule["expr"])] == []


def block(language: str) -> str:
    """The one block of code of that language on the page."""
    (text,) = [part.partition("```")[0] for part in PAGE.split(f"```{language}\n")[1:]]
    return text


def test_the_commands_of_the_page_show_what_became_of_profiles(world: World, pages: dict[str, str]) -> None:
    world.kubectl("delete", "serviceaccount", "collector")  # it is made once more
    environment = {**os.environ, **world.kubectl.environment}
    script = ["bash", "-euo", "pipefail", "-c", block("sh")]
    ran = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert 'berth_profiles{ready="True",reason="Scheduling"} 2' in ran.stdout.splitlines()


def test_the_values_of_the_page_make_every_object() -> None:
    helm = devcluster.binaries("helm")["helm"]
    command = [str(helm), "template", "berth", str(ROOT / "helm/berth"), "--values", "/dev/stdin"]
    ran = subprocess.run(command, input=block("yaml"), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    kinds = {item["kind"] for item in yaml.safe_load_all(ran.stdout) if item}
    assert kinds >= {"ServiceMonitor", "PrometheusRule", "ConfigMap", "ClusterRoleBinding"}


@pytest.mark.nightly("builds Prometheus, and waits for rates")
@pytest.mark.cluster(binaries=("prometheus",))
@pytest.mark.timeout(900)
def test_every_panel_shows_something_in_a_real_prometheus(world: World, pages: dict[str, str], tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(world.kubectl("create", "token", "collector", "--duration=1h"))
    jobs = [
        {
            "job_name": f"berth-{program}",
            "scheme": "https",
            "tls_config": {"insecure_skip_verify": True},
            "authorization": {"credentials_file": str(token)},
            "static_configs": [{"targets": [f"{address(world, program)}:{port}"]}],
        }
        for program, port in PORTS.items()
    ]
    with prometheus(tmp_path, {"scrape_configs": jobs, "rule_files": [str(RULES_FILE)]}) as query:
        world.eventually(lambda: len(query("up == 1")) == len(PORTS), 60)
        for scheduler in (PYTHON, KUBE):
            world.kubectl("scale", f"deployment/placed-{scheduler}", f"--replicas={2 * PODS}")
        world.eventually(lambda: query("sum(increase(scheduler_schedule_attempts_total[30s])) > 10"), 60)
        for dashboard in (SCHEDULERS, OPERATOR):
            empty = [
                (panel.title, part.legend)
                for panel in dashboard.panels()
                for part in panel.queries
                # What is shown only while it is not as it should be is not shown here.
                if not query(in_prometheus(part.expression).removesuffix(" > 0"))
            ]
            assert empty == []
        assert query('ALERTS{alertstate="firing"}') == []
        assert len(query("count by (job) (scheduler_pending_pods)")) == 2


def in_prometheus(expression: str) -> str:
    """A query of a panel, as Grafana sends it when everything is chosen."""
    return expression.replace("$__rate_interval", "30s").replace('"$job"', '".*"').replace('"$profile"', '".*"')


@contextlib.contextmanager
def prometheus(directory: Path, configuration: Object) -> Iterator[Callable[[str], list[Object]]]:
    """A Prometheus that scrapes each second; gives the function that evaluates an expression now."""
    port, file = free_port(), directory / "prometheus.yaml"
    each_second = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
    file.write_text(yaml.safe_dump({"global": each_second, **configuration}))
    program = str(devcluster.binaries("prometheus")["prometheus"])
    listen = f"--web.listen-address=127.0.0.1:{port}"
    command = [program, f"--config.file={file}", f"--storage.tsdb.path={directory / 'data'}", listen]

    def query(expression: str) -> list[Object]:
        try:
            status, body = get(port, f"/api/v1/query?{urlencode({'query': expression})}")
        except OSError:
            return []  # not there yet
        assert status in (200, 503), body
        return json.loads(body)["data"]["result"] if status == 200 else []

    with (directory / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield query
        finally:
            process.kill()


def log_lines(world: World, selector: str) -> list[dict[str, Any]]:
    """What a program has logged, by line."""
    (pod,) = world.kubectl.items("pods", f"--namespace={NAMESPACE}", f"--selector={selector}")
    described = world.kubectl("describe", "pod", pod["metadata"]["name"], f"--namespace={NAMESPACE}")
    (path,) = {word for word in described.split() if word.endswith(".log")}
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_both_programs_log_json_and_the_operator_what_it_changed(world: World, pages: dict[str, str]) -> None:
    operator = "app.kubernetes.io/name=berth-operator"
    config_map = (world.get("schedulerprofile", PYTHON) or {})["status"]["configMap"]
    world.kubectl("annotate", "configmap", config_map, f"--namespace={NAMESPACE}", "example.com/mine=1")
    lines = partial(log_lines, world, operator)
    repaired = world.eventually(
        lambda: [line for line in lines() if line.get("repaired") == [f"ConfigMap/{config_map}"]], 30
    )
    assert repaired[0]["object"] == f"SchedulerProfile/{PYTHON}"
    assert 0 < repaired[0]["seconds"] < 60
    added = [line for line in lines() if f"ConfigMap/{config_map}" in line.get("added", [])]
    assert [line["msg"] for line in added] == ["reconciled"]
    assert {"bound", "leading"} & {line["msg"] for line in log_lines(world, f"berth.dev/profile={PYTHON}")}
