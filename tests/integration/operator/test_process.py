"""The operator's process in good and bad company: standing by, taking over, and waiting for what is not there."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiohttp import web

import devcluster
from devcluster import Spec
from scheduler_operator.cluster.api import APPLY
from scheduler_operator.models.schema_revision import REVISION
from scheduler_operator.resources import kinds
from scheduler_runtime.component.https import AccessRules
from tests.integration.operator.running import (
    NAMESPACE,
    QUICK,
    UNHURRIED,
    Election,
    Installed,
    RunningOperator,
    apply_crds,
    delete_crds,
    installation,
    profile,
)
from tests.support.eventually import eventually
from tests.support.proxy import Proxy, every, proxied_in_a_thread

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """The chart on an API server of its own, which tests may stop. Profiles there are only rendered."""
    with devcluster.running(Spec(node="none", scheduler=False, controller_manager=False)) as cluster:
        apply_crds(cluster)
        with installation(cluster, tmp_path_factory.mktemp("processes")) as operators:
            yield operators


@pytest.fixture
def start(bare: Installed, request: pytest.FixtureRequest) -> Iterator[Callable[..., RunningOperator]]:
    """Starts operators that end with the test."""
    started: list[RunningOperator] = []

    def start(token: str = "", through: str = "", election: Election = UNHURRIED) -> RunningOperator:
        name = f"{request.node.name.removeprefix('test_')[:40]}-{len(started)}"
        started.append(bare.operator(name, token, through, election))
        return started[-1]

    yield start
    for operator in started:
        if operator.process.poll() is None:
            operator.end()


Start = Callable[..., RunningOperator]


def serves(bare: Installed, name: str, operator: RunningOperator, seconds: float = 20) -> None:
    """A profile of that name, made now, is rendered in time."""
    bare.apply(profile(name, engine="ConfigMap"))
    eventually(lambda: bare.is_ready(name), seconds, explain=lambda: operator.log)
    bare.delete("schedulerprofile", name)


def test_without_crds_it_waits_and_says_for_what(bare: Installed, start: Start) -> None:
    delete_crds(bare.cluster)
    operator = start()
    sentence = "CRD schedulerprofiles.berth.dev and pluginconfigs.berth.dev missing; apply the files in crds/"
    eventually(
        lambda: f"startup failed: {sentence}" in operator.answers("/readyz")[1], 20, explain=lambda: operator.log
    )
    assert operator.answers("/readyz")[0] == 500
    assert operator.answers("/livez") == (200, "ok")
    assert operator.metric("leader_election_master_status") == 0

    apply_crds(bare.cluster)

    operator.until_leading()
    assert operator.answers("/readyz") == (200, "ok")
    assert operator.log.count("missing") == 1
    serves(bare, "late-kinds", operator)


def test_only_who_may_sees_more_than_health(bare: Installed) -> None:
    role = ("create", "clusterrole", "reads-operator-metrics", "--verb=get", "--non-resource-url=/metrics")
    bare.cluster.kubectl(*role)
    bare.cluster.kubectl("create", "serviceaccount", "collector")
    binding = ("reads-operator-metrics", "--clusterrole=reads-operator-metrics", "--serviceaccount=default:collector")
    bare.cluster.kubectl("create", "clusterrolebinding", *binding)
    token = bare.cluster.kubectl("create", "token", "collector").stdout.strip()
    closed = f"--authorization-always-allow-paths={','.join(AccessRules().allowed_paths)}"
    operator = bare.operator("closed", arguments=[closed])
    try:
        eventually(lambda: operator.answers("/readyz") == (200, "ok"), 30, explain=lambda: operator.log)
        statuses = {
            path: (operator.answers(path)[0], operator.answers(path, token)[0])
            for path in ("/livez", "/metrics", "/metrics/slis")
        }
        assert statuses == {"/livez": (200, 200), "/metrics": (403, 200), "/metrics/slis": (403, 403)}
        assert operator.answers("/metrics", "nobody's")[0] == 401
    finally:
        operator.end()


def test_crds_that_go_away_and_come_back_are_watched_again(bare: Installed, start: Start) -> None:
    operator = start().until_leading()
    serves(bare, "before-the-gap", operator)
    delete_crds(bare.cluster)
    eventually(lambda: "404 Not Found" in operator.log, 20, explain=lambda: operator.log)
    eventually(lambda: " gone, with all objects" in operator.answers("/readyz")[1], 40, explain=lambda: operator.log)
    apply_crds(bare.cluster)
    serves(bare, "after-the-gap", operator, 30)
    assert operator.process.poll() is None
    assert len([line for line in operator.log.splitlines() if "watching" in line]) <= 5, operator.log


def test_crds_older_than_the_operator_are_told_everywhere_until_they_are_replaced(
    bare: Installed, start: Start
) -> None:
    name, revision = "schedulerprofiles.berth.dev", "berth.dev/schema-revision"
    bare.cluster.kubectl("annotate", "crd", name, f"{revision}-")
    bare.apply(profile("outdated", engine="ConfigMap"))
    operator = start().until_leading()
    sentence = f"CRD {name} older than this operator (schema revision 0, needed {REVISION}), which refuses fields"

    def message() -> str:
        return str(bare.condition("outdated", "Ready").get("message", ""))

    eventually(lambda: sentence in operator.answers("/readyz")[1], 20, explain=lambda: operator.log)
    assert operator.answers("/readyz")[0] == 200
    eventually(lambda: sentence in message(), 20, explain=lambda: operator.log)
    assert operator.log.count(sentence) == 1

    apply_crds(bare.cluster)

    eventually(lambda: operator.answers("/readyz") == (200, "ok"), 40, explain=lambda: operator.log)
    eventually(lambda: message() and sentence not in message(), 20, explain=lambda: operator.log)
    bare.delete("schedulerprofile", "outdated")


def test_an_api_server_that_is_away_is_waited_for(bare: Installed, start: Start) -> None:
    token = bare.token()
    bare.cluster.stop("kube-apiserver")
    operator = start(token)
    eventually(lambda: "no answer from the API server" in operator.answers("/readyz")[1], 20)
    bare.cluster.start("kube-apiserver")
    operator.until_leading()
    assert operator.log.count("no answer from the API server") == 1
    serves(bare, "patient", operator)


def test_an_api_server_that_goes_away_and_comes_back_is_served_on(bare: Installed, start: Start) -> None:
    operator = start().until_leading()
    serves(bare, "before", operator)
    bare.cluster.stop("kube-apiserver")
    bare.cluster.start("kube-apiserver")
    serves(bare, "afterwards", operator, 30)
    assert operator.process.poll() is None
    lines = [line for line in operator.log.splitlines() if "watching" in line]
    assert 2 <= len(lines) <= 8, operator.log


def test_a_token_that_is_no_longer_good_is_replaced(bare: Installed, start: Start) -> None:
    operator = start().until_leading()
    account = bare.get("serviceaccount", "berth-operator")
    assert account is not None
    bare.delete("serviceaccount", "berth-operator")
    bare.apply({**account, "metadata": {"name": "berth-operator", "namespace": NAMESPACE}})
    eventually(lambda: "401" in operator.log, 20)

    operator.token_file.write_text(bare.token())

    serves(bare, "fresh", operator, 30)


async def hide_profiles(request: web.Request, proxy: Proxy) -> web.Response:
    """An API server that has not yet heard of one of our kinds, as one of several may for a moment."""
    verbs = ["list", "watch"]
    kinds = [{"name": "pluginconfigs", "kind": "PluginConfig", "namespaced": False, "singularName": "", "verbs": verbs}]
    return web.json_response({"kind": "APIResourceList", "resources": kinds})


def test_an_operator_that_did_not_hear_of_a_kind_starts_anew(bare: Installed, start: Start, tmp_path: Path) -> None:
    with proxied_in_a_thread(bare.cluster, tmp_path) as proxy:
        proxy.rules.append(every(2, lambda request: request.path == "/apis/berth.dev/v1alpha1", hide_profiles))
        ignorant = start(through=proxy.url, election=QUICK)  # it ends without a release
        assert ignorant.process.wait(60) == 1
        assert "did not tell of /apis/berth.dev/v1alpha1/schedulerprofiles" in ignorant.log
        assert len(ignorant.log.splitlines()) <= 8, ignorant.log

        proxy.calm()

        second = start(through=proxy.url).until_leading()
        serves(bare, "told", second)
        assert second.end() == 0  # while it can release its lease, or the next operator has to wait


@pytest.fixture
def without_role(bare: Installed) -> Iterator[Callable[[], None]]:
    """The operator's rights in its own namespace are missing until this is called."""
    binding = bare.cluster.kubectl("get", "rolebinding", "berth-operator", "-n", NAMESPACE, "-o", "yaml").stdout
    bare.delete("rolebinding", "berth-operator")

    def give_back() -> None:
        bare.cluster.kubectl("create", "-f", "-", input=binding)

    yield give_back
    if bare.get("rolebinding", "berth-operator") is None:
        give_back()


def test_a_missing_right_is_named_once_and_waited_for(start: Start, without_role: Callable[[], None]) -> None:
    operator = start()
    eventually(lambda: "cannot get resource" in operator.log, 30, explain=lambda: operator.log)
    without_role()
    operator.until_leading()
    assert operator.log.count("WARNING") == 1


def test_another_operator_stands_by_and_takes_over_at_once(bare: Installed, start: Start) -> None:
    first = start().until_leading()
    second = start()
    eventually(lambda: second.answers("/readyz") == (200, "ok"), 20)
    assert not second.leads
    assert first.end() == 0
    second.until_leading(20)  # it would take the lease's 30 seconds if that were not released
    serves(bare, "handed-over", second)


def test_another_operator_takes_over_from_one_that_was_killed(bare: Installed, start: Start) -> None:
    first = start(election=QUICK).until_leading()
    second = start(election=QUICK)
    first.end(signal.SIGKILL)
    second.until_leading(40)
    serves(bare, "survived", second)


def test_another_operator_knows_the_config_map_that_the_first_made_by_the_profiles_status(
    bare: Installed, start: Start
) -> None:
    first = start().until_leading()
    bare.apply(profile("inherited", engine="ConfigMap"))
    eventually(lambda: bare.is_ready("inherited"), 20, explain=lambda: first.log)
    before = bare.get("configmap", "berth-inherited")
    first.end()
    # As the operator does it, but without labels, owner and document: nothing else tells whose it was.
    taken = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "berth-inherited"}}
    path = f"{kinds.CONFIG_MAP.collection(NAMESPACE)}/berth-inherited?fieldManager=berth&force=true"
    bare.api.request("PATCH", path, taken, APPLY)

    second = start().until_leading()

    def is_repaired() -> bool:
        now = bare.get("configmap", "berth-inherited")
        assert before is not None
        assert now is not None
        return all(
            (now.get("data"), now["metadata"].get(field)) == (before["data"], before["metadata"][field])
            for field in ("labels", "ownerReferences")
        )

    eventually(is_repaired, 30, explain=lambda: second.log)
    bare.delete("schedulerprofile", "inherited")


def test_losing_the_lease_ends_the_process(bare: Installed, start: Start) -> None:
    operator = start(election=QUICK).until_leading()
    stolen = {"holderIdentity": "thief", "leaseDurationSeconds": 30}
    bare.patch("lease", "berth-operator", {"spec": stolen})
    assert operator.process.wait(30) == 1
    assert "leadership is lost" in operator.log
    bare.delete("lease", "berth-operator")


def test_the_lease_goes_with_the_operators_deployment(bare: Installed, start: Start) -> None:
    operator = start().until_leading()
    deployment = bare.get("deployment", "berth-operator")
    assert deployment is not None

    def owners() -> list[str]:
        lease = bare.get("lease", "berth-operator") or {"metadata": {}}
        return [owner["uid"] for owner in lease["metadata"].get("ownerReferences", ())]

    eventually(lambda: owners() == [deployment["metadata"]["uid"]], 20, explain=lambda: operator.log)
    serves(bare, "owned", operator)


def test_no_credentials_are_a_sentence(tmp_path: object) -> None:
    argv = [sys.executable, "-m", "scheduler_operator", "--scheduler-image", "x", "--kubeconfig", f"{tmp_path}/absent"]
    answer = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert answer.returncode == 1
    assert "give --kubeconfig" in answer.stderr
    assert "Traceback" not in answer.stderr
