"""One small cluster for every test of the scheduler, and who bound what in it; tests may be coroutines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import devcluster
from devcluster import Cluster, Spec
from tests.support.audit import BINDINGS, AuditLog
from tests.support.coroutines import pytest_pyfunc_call

__all__ = ["pytest_pyfunc_call"]

NODES = 20


@pytest.fixture(scope="package")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> AuditLog:
    return AuditLog.of(tmp_path_factory.mktemp("audit"), BINDINGS)


@pytest.fixture(scope="package")
def cluster(audit_log: AuditLog) -> Iterator[Cluster]:
    args = audit_log.apiserver_args
    with devcluster.running(Spec(node="none", fake_nodes=NODES, scheduler=False, apiserver_args=args)) as running:
        yield running
