"""upstream: test/integration/scheduler/bind."""

from __future__ import annotations

import contextlib
import json

import msgspec
import pytest

from devcluster import Cluster
from scheduler_runtime.framework import BindError, Placed
from tests.integration.upstream.support import node, pod, world

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("is_another", [pytest.param(False, id="same-uid"), pytest.param(True, id="different-uid")])
async def test_default_binder(server: Cluster, is_another: bool) -> None:
    async with world(server) as there:
        await there.create_nodes(node("testnode"))
        await there.create_pod(pod("fixed-name"))
        async with there.stepping() as process:
            target = process.pods.objects[f"{there.namespace}/fixed-name"]
            if is_another:
                target = msgspec.structs.replace(
                    target, metadata=msgspec.structs.replace(target.metadata, uid="another")
                )
            refused = pytest.raises(BindError, match="deleted") if is_another else contextlib.nullcontext()
            with refused:
                await process.frameworks["default-scheduler"].binding.run_bind_plugins(Placed(target, "testnode"))
        bound = json.loads(await there.client.request("GET", there.path("fixed-name")))
        assert bound["spec"].get("nodeName", "") == ("" if is_another else "testnode")
