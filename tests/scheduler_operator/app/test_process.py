"""The operator's process beside its reconciles."""

from __future__ import annotations

import pytest

from scheduler_operator.app.process import OperatorProcess
from scheduler_operator.cluster.api import RequestError


class Forbidding:
    """An API server that lets nobody look at Deployments."""

    async def own_lease_by_deployment(self, name: str) -> None:
        raise RequestError(f"GET /apis/apps/v1/deployments/{name}", 403, "Forbidden", "no right to see it")


async def test_a_lease_that_cannot_be_tied_to_the_deployment_is_reported_and_holds_nothing_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    process = object.__new__(OperatorProcess)
    process.cluster = Forbidding()  # type: ignore[assignment]
    await process.own_lease_by_deployment()
    (message,) = caplog.messages
    assert message.startswith("the Lease berth-operator will stay when Berth is uninstalled: ")
    assert message.endswith("403 Forbidden: no right to see it")
