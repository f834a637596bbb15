"""The example of docs/plugins.md at work: installed as a package, on a real API server."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster import Cluster
from tests.integration.scheduler.support import SCHEDULER, ApiView, api, document, lease_of, scheduler

pytestmark = pytest.mark.cluster

EXAMPLE = Path(__file__).resolve().parents[3] / "examples/plugins/price_cap"
MERGE_PATCH = "application/merge-patch+json"
NAMESPACE = "berth-system"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


def installed(directory: Path) -> Path:
    """A folder with the wheel of the example as pip would leave it."""
    for file in EXAMPLE.iterdir():
        if file.is_file():
            (directory / file.name).write_text(file.read_text())
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel"], cwd=directory, check=True)
    (wheel,) = (directory / "dist").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(directory / "site")
    return directory / "site"


def thrifty() -> dict[str, Any]:
    """The profile of the example, for the pods of these tests."""
    (profile,) = yaml.safe_load((EXAMPLE / "config.yaml").read_text())["profiles"]
    return {**profile, "schedulerName": SCHEDULER}


async def write_prices(there: ApiView, **prices: str) -> None:
    await there.client.request("PATCH", f"{CONFIG_MAPS}/node-prices", body={"data": prices}, content_type=MERGE_PATCH)


async def node_of(there: ApiView, name: str) -> str:
    async def bound() -> str:
        return next((pod["spec"]["nodeName"] for pod in await there.bound() if pod["metadata"]["name"] == name), "")

    return await there.eventually(bound, 20)


async def waits(there: ApiView, name: str, words: str) -> None:
    """Return when the pod says that it waits, in these words."""

    async def says_so() -> bool:
        return words in str((await there.condition(name)).get("message"))

    await there.eventually(says_so, 20)


@asynccontextmanager
async def priced(there: ApiView) -> AsyncIterator[tuple[str, str]]:
    """Two nodes of types with a price, small and huge, and a ConfigMap without prices; all is undone at the end."""
    small, huge, *_ = [node["metadata"]["name"] for node in await there.nodes()]
    metadata = {"metadata": {"name": NAMESPACE}}
    await there.client.request("POST", "/api/v1/namespaces", body={"apiVersion": "v1", "kind": "Namespace", **metadata})
    prices = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "node-prices"}}
    await there.client.request("POST", CONFIG_MAPS, body=prices)
    for node, kind in ((small, "small"), (huge, "huge")):
        await label(there, node, kind)
    try:
        yield small, huge
    finally:
        for node in (small, huge):
            await label(there, node, None)
        await there.client.request("DELETE", f"{CONFIG_MAPS}/node-prices", body={})


async def label(there: ApiView, node: str, kind: str | None) -> None:
    body = {"metadata": {"labels": {"node.kubernetes.io/instance-type": kind}}}
    await there.client.request("PATCH", f"/api/v1/nodes/{node}", body=body, content_type=MERGE_PATCH)


async def test_an_installed_plugin_decides_by_what_it_watches(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "package").mkdir()
    monkeypatch.setenv("PYTHONPATH", str(installed(tmp_path / "package")), prepend=os.pathsep)
    config = document(lease_of(tmp_path), profiles=[thrifty()])
    async with api(cluster) as there, priced(there) as (small, huge):
        with scheduler(tmp_path, cluster.kubeconfig, config) as process:
            await there.until(lambda: process.is_scheduling, 30)
            await there.create_pods(1, "first")
            await waits(there, "first-0", "0/20 nodes are available: 20 node has no known price.")
            await write_prices(there, small="0.1", huge="20")
            assert await node_of(there, "first-0") == small

            await there.create_pods(1, "second", nodeSelector={"kubernetes.io/hostname": huge})
            await waits(there, "second-0", "1 node costs more than the profile allows")
            await write_prices(there, small="5", huge="1")
            assert await node_of(there, "second-0") == huge
