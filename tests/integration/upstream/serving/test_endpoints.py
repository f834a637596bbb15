"""upstream: test/integration/scheduler/serving and test/integration/serving, health paths and who may ask."""

from __future__ import annotations

import contextlib
import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from devcluster import Cluster
from devcluster.system.ports import free_port
from tests.integration.scheduler.support import SchedulerProcess, document, scheduler
from tests.support.eventually import eventually
from tests.support.pages import get_page

pytestmark = pytest.mark.cluster


def response_status(directory: Path, port: int, path: str, token: str = "") -> int | None:
    """The status of a GET, by somebody who trusts the certificate in ``directory``; None while nobody listens."""
    certificate = directory / "kube-scheduler.crt"
    if not certificate.exists():
        return None
    trust = ssl.create_default_context(cafile=certificate)
    try:
        return get_page(port, path, {"Authorization": f"Token {token}"} if token else {}, trust=trust).status
    except OSError:
        return None


def broken(server: Cluster, directory: Path) -> Path:
    """A kubeconfig that leads nowhere."""
    kubeconfig = directory / "broken"
    kubeconfig.write_text(server.kubeconfig.read_text().replace("127.0.0.1", "127.0.0.2"))
    return kubeconfig


HEALTH = [
    pytest.param("/healthz", id="/healthz"),
    pytest.param("/livez", id="/livez"),
    pytest.param("/livez/ping", id="/livez with ping check"),
    pytest.param("/readyz", id="/readyz"),
    pytest.param("/readyz/sched-handler-sync", id="/readyz with sched-handler-sync"),
    pytest.param("/readyz/shutdown", id="/readyz with shutdown"),
]


@contextlib.contextmanager
def answering(kubeconfig: Path, directory: Path) -> Iterator[SchedulerProcess]:
    """A scheduler whose health anybody may ask for."""
    paths = ",".join(str(param.values[0]) for param in HEALTH)
    flags = ["--leader-elect=false", "--cert-dir", str(directory), "--authorization-always-allow-paths", paths]
    with scheduler(directory, kubeconfig, document(), *flags) as process:
        yield process


@pytest.fixture(scope="module")
def healthy(server: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SchedulerProcess, Path]]:
    directory = tmp_path_factory.mktemp("healthy")
    with answering(server.kubeconfig, directory) as process:
        yield process, directory


@pytest.mark.parametrize("path", HEALTH)
def test_endpoint_handlers(healthy: tuple[SchedulerProcess, Path], path: str) -> None:
    process, directory = healthy
    eventually(lambda: response_status(directory, process.port, path) == 200, 30, explain=lambda: process.log)


@pytest.mark.parametrize("path", [pytest.param("/readyz", id="/readyz with broken apiserver")])
def test_endpoint_handlers_without_an_api_server(server: Cluster, tmp_path: Path, path: str) -> None:
    with answering(broken(server, tmp_path), tmp_path) as process:
        eventually(lambda: response_status(tmp_path, process.port, path) == 500, 30, explain=lambda: process.log)


NOBODY, SOMEBODY = "", "flwqkenfjasasdfmwerasd"
AUTHN, AUTHZ = "--authentication-kubeconfig", "--authorization-kubeconfig"


@pytest.mark.parametrize(
    ("flags", "path", "token", "expected"),
    [
        pytest.param([], "/healthz", NOBODY, 200, id="/healthz without authn/authz"),
        pytest.param([], "/metrics", NOBODY, 403, id="/metrics without authn/authz"),
        pytest.param(
            [AUTHN, "{good}", AUTHZ, "{good}"],
            "/healthz",
            SOMEBODY,
            200,
            id="authorization skipped for /healthz with authn/authz",
        ),
        pytest.param(
            ["--authentication-skip-lookup", AUTHN, "{bad}", AUTHZ, "{bad}"],
            "/healthz",
            SOMEBODY,
            200,
            id="authorization skipped for /healthz with BROKEN authn/authz",
        ),
        pytest.param(
            [AUTHN, "{good}", AUTHZ, "{bad}"],
            "/metrics",
            SOMEBODY,
            500,
            id="not authorized /metrics with BROKEN authn/authz",
        ),
        pytest.param(
            [AUTHN, "{bad}", AUTHZ, "{bad}", "--authorization-always-allow-paths", "/healthz,/metrics"],
            "/metrics",
            SOMEBODY,
            200,
            id="always-allowed /metrics with BROKEN authn/authz",
        ),
    ],
)
def test_component_secure_serving_and_auth(
    server: Cluster, tmp_path: Path, flags: list[str], path: str, token: str, expected: int
) -> None:
    bad, port = broken(server, tmp_path), free_port()
    filled = [flag.format(good=server.kubeconfig, bad=bad) for flag in flags]
    command = [
        sys.executable,
        "-m",
        "scheduler_runtime",
        "--kubeconfig",
        str(server.kubeconfig),
        "--leader-elect=false",
    ]
    command += ["--secure-port", str(port), "--cert-dir", str(tmp_path), *filled]
    log = tmp_path / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stderr=output)
    try:
        eventually(lambda: response_status(tmp_path, port, path, token) == expected, 30, explain=log.read_text)
    finally:
        process.kill()
        process.wait()


def test_component_secure_serving_and_auth_no_flags() -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}
    ended = subprocess.run([sys.executable, "-m", "scheduler_runtime"], env=environ, capture_output=True, timeout=30)
    assert ended.returncode == 1
