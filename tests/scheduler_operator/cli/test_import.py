"""``berth import``: from other schedulers' configurations."""

import json
from pathlib import Path

import yaml

from tests.scheduler_operator.cli.berth import DOCUMENT, berth

OLD = """apiVersion: kubescheduler.config.k8s.io/v1beta3
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: packed
  plugins: {score: {enabled: [{name: NodeResourcesFit, weight: 5}]}}
"""


def test_an_old_configuration_becomes_profiles_that_render() -> None:
    ran = berth("import", "-", stdin=OLD)
    assert ran.status in (0, 1)
    (profile,) = yaml.safe_load_all(ran.stdout)
    assert (profile["kind"], profile["metadata"]["name"]) == ("SchedulerProfile", "packed")
    assert "weight: 5" in berth("render", "-", stdin=ran.stdout).stdout


def test_what_is_not_carried_over_is_reported_at_its_place() -> None:
    inputs = DOCUMENT + "healthzBindAddress: 0.0.0.0:10251\n"
    ran = berth("import", "-", stdin=inputs.replace("/v1\n", "/v1beta2\n"))
    assert ran.status == 1
    assert any(line.startswith("<stdin>:8: healthzBindAddress: ") for line in ran.stderr.splitlines())


def test_what_a_comment_allows_stays_allowed() -> None:
    ran = berth("import", "-", stdin=f"{DOCUMENT}clientConnection: {{qps: 1, burst: 1}}  # berth: allow TinyQPS\n")
    assert "TinyQPS" not in berth("lint", "-", stdin=ran.stdout).stdout
    assert "TinyQPS" in berth("lint", "-", stdin=ran.stdout.replace("allow-findings", "other")).stdout


def test_json_holds_the_objects_and_the_remarks() -> None:
    ran = berth("import", "-o", "json", "-", stdin=OLD)
    result = json.loads(ran.stdout)
    assert [item["kind"] for item in result["objects"]] == ["SchedulerProfile"]
    assert len(result["remarks"]) == len(ran.stderr.splitlines())


def test_a_policy_without_a_name_can_get_one(tmp_path: Path) -> None:
    policy = tmp_path / "policy.cfg"
    policy.write_text(json.dumps({"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "PodFitsHost"}]}))
    ran = berth("import", str(policy), "--name", "legacy")
    assert yaml.safe_load(ran.stdout)["metadata"]["name"] == "legacy"


def test_what_cannot_be_imported_is_refused() -> None:
    ran = berth("import", "-", stdin="apiVersion: v1\nkind: Service\n")
    assert (ran.status, ran.stdout) == (2, "")
    assert ran.stderr.startswith("<stdin>:2: kind: Service cannot be imported")
