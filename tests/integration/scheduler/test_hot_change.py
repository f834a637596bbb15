"""A scheduler that gets another document while it runs, on a real API server."""

from __future__ import annotations

import hashlib
import json
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster import Cluster
from tests.integration.scheduler.support import SCHEDULER, ApiView, SchedulerProcess, api, document, lease_of, scheduler

pytestmark = pytest.mark.cluster

FITS_NOWHERE = {"nodeSelector": {"nobody": "has-this"}}
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def most(strategy: str) -> dict[str, Any]:
    args = {"scoringStrategy": {"type": strategy, "resources": [{"name": "cpu", "weight": 1}]}}
    return {"schedulerName": SCHEDULER, "pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}


def without(*plugins: str) -> dict[str, Any]:
    """A profile that does not ask these plugins."""
    return {"schedulerName": SCHEDULER, "plugins": {"multiPoint": {"disabled": [{"name": name} for name in plugins]}}}


def write(process: SchedulerProcess, config: dict[str, Any]) -> None:
    (file,) = process.log_file.parent.glob("config-0.yaml")
    file.write_text(yaml.safe_dump(config))


def loaded(process: SchedulerProcess) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(process.get("/configz"))
    return answer


async def is_parked(there: ApiView, name: str) -> bool:
    return (await there.condition(name)).get("reason") == "Unschedulable"


async def test_pods_that_wait_are_decided_about_anew(cluster: Cluster, tmp_path: Path) -> None:
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, document(lease_of(tmp_path))) as process:
            await there.until(lambda: process.is_scheduling, 30)
            await there.create_pods(3, "held", **FITS_NOWHERE)
            await there.eventually(lambda: is_parked(there, "held-2"), 20)
            write(process, document(lease_of(tmp_path), profiles=[without("NodeAffinity")]))
            await there.all_bound(3, 20)
            assert process.lines("follows a new document")


async def test_a_document_that_is_wrong_changes_nothing_and_is_reported(cluster: Cluster, tmp_path: Path) -> None:
    async with api(cluster) as there:
        good = document(lease_of(tmp_path))
        with scheduler(tmp_path, cluster.kubeconfig, good) as process:
            await there.until(lambda: process.is_scheduling, 30)
            before = loaded(process)
            plugins = {"score": {"enabled": [{"name": "NodeResourceFit"}]}}
            write(process, {**good, "profiles": [{"schedulerName": SCHEDULER, "plugins": plugins}]})
            process.process.send_signal(signal.SIGHUP)
            await there.until(lambda: "refused" in loaded(process), 30)
            assert "NodeResourcesFit" in loaded(process)["refused"]
            assert loaded(process)["hash"] == before["hash"]
            (line,) = process.lines("the new document is refused")
            assert "the last one stays in force" in line
            await there.create_pods(2)
            await there.all_bound(2)
            write(process, good)
            await there.until(lambda: loaded(process) == before, 30)


async def test_pods_of_a_profile_that_is_added_are_scheduled_and_those_of_one_that_goes_are_not(
    cluster: Cluster, tmp_path: Path
) -> None:
    async with api(cluster) as there:
        with scheduler(tmp_path, cluster.kubeconfig, document(lease_of(tmp_path))) as process:
            await there.until(lambda: process.is_scheduling, 30)
            await there.create_pods(2, "other", schedulerName="other")
            write(process, document(lease_of(tmp_path), profiles=[{"schedulerName": "other"}]))
            await there.all_bound(2, 20)
            await there.create_pods(2, "nobodys")
            await there.create_pods(1, "last", schedulerName="other")
            await there.all_bound(3, 20)
            assert process.metric("scheduler_pending_pods") == 0


async def test_what_a_new_plugin_watches_is_listed_before_it_runs(cluster: Cluster, tmp_path: Path) -> None:
    spreads = {"defaultingType": "System"}
    system = {"schedulerName": SCHEDULER, "pluginConfig": [{"name": "PodTopologySpread", "args": spreads}]}
    async with api(cluster) as there:
        first = document(lease_of(tmp_path), profiles=[without("PodTopologySpread")])
        with scheduler(tmp_path, cluster.kubeconfig, first) as process:
            await there.until(lambda: process.is_scheduling, 30)
            write(process, document(lease_of(tmp_path), profiles=[system]))
            await there.until(lambda: process.lines("follows a new document"), 30)
            await there.create_pods(2)
            await there.all_bound(2, 20)


async def test_its_own_config_map_is_followed_until_its_deletion_and_when_it_is_back(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = document(lease_of(tmp_path))
    text = yaml.safe_dump({**config, "profiles": [most("MostAllocated")]})
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ours"}, "data": {"config.yaml": text}}
    async with api(cluster) as there:
        await there.client.request("POST", CONFIG_MAPS, body=config_map)
        with scheduler(tmp_path, cluster.kubeconfig, config, "--config-map", "default/ours") as process:
            await there.until(lambda: process.is_scheduling, 30)
            digest = hashlib.sha256(text.encode()).hexdigest()
            await there.until(lambda: loaded(process)["hash"] == digest, 30)
            await there.client.request("DELETE", f"{CONFIG_MAPS}/ours", body={})
            await there.until(lambda: "missing" in loaded(process), 30)
            assert loaded(process)["missing"].startswith("ConfigMap default/ours is not there")
            await there.create_pods(2)
            await there.all_bound(2)
            await there.client.request("POST", CONFIG_MAPS, body=config_map)
            await there.until(lambda: "missing" not in loaded(process), 30)
            assert loaded(process)["hash"] == digest
        await there.client.request("DELETE", f"{CONFIG_MAPS}/ours", body={})
