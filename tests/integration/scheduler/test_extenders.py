"""Extenders beside a real API server, and the same ones beside the real kube-scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import devcluster
from devcluster import Cluster
from tests.integration.scheduler.support import ApiView, SchedulerProcess, api, document, lease_of, scheduler
from tests.scheduler_runtime.scheduling.extenders.test_http_calls import OK, base64_of, client_pair, endless
from tests.support.deciding_scheduler import deciding_scheduler
from tests.support.extenders import Answer, ExtenderServer, Object, Raw, keeps, nodes_of, prefers, serving
from tests.support.pages import listed_paths

pytestmark = pytest.mark.cluster

PODS = "/api/v1/namespaces/default/pods"
DEVICE = "foo.com/bar"


def of(cluster: Cluster, *extenders: Object) -> Object:
    """A document for either scheduler, which does not have to stand for election."""
    connection = {"qps": -1, "kubeconfig": str(cluster.kubeconfig)}
    return document(clientConnection=connection, leaderElection={"leaderElect": False}, extenders=list(extenders))


def binds(there: ApiView) -> Answer:
    """Binds through the API server."""
    loop = asyncio.get_running_loop()

    def answer(question: Object) -> Object:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": question["PodName"], "uid": question["PodUID"]},
            "target": {"kind": "Node", "name": question["Node"]},
        }
        sent = there.client.request("POST", f"{PODS}/{question['PodName']}/binding", body=body)
        asyncio.run_coroutine_threadsafe(sent, loop).result(30)
        return {}

    return answer


@contextlib.asynccontextmanager
async def machines(there: ApiView) -> AsyncIterator[None]:
    """Five nodes that take 32 pods each."""
    names = [f"machine{number}" for number in range(1, 6)]
    for name in names:
        node = {"metadata": {"name": name}, "status": {"allocatable": {"pods": "32"}}}
        await there.client.request("POST", "/api/v1/nodes", body=node)
        there.cluster.kubectl("taint", "node", name, "node.kubernetes.io/not-ready-", check=False)
    try:
        yield
    finally:
        for name in names:
            await there.client.request("DELETE", f"/api/v1/nodes/{name}")


async def test_scheduler_extender(cluster: Cluster, tmp_path: Path) -> None:
    """Upstream's case: two let machine2 and machine3 through, and the heavier one prefers machine2."""
    first = {"filter": keeps("machine1", "machine2", "machine3"), "prioritize": prefers("machine2")}
    second = {"filter": keeps("machine2", "machine3", "machine5"), "prioritize": prefers("machine3")}
    third = {**first, "prioritize": prefers("machine2", 5 * 10)}
    async with api(cluster) as there, machines(there):
        with serving(first) as one, serving({**second, "bind": binds(there)}) as two, serving(third) as three:
            managed = [{"name": DEVICE, "ignoredByScheduler": True}]
            config = of(
                cluster,
                one.configuration(weight=3),
                two.configuration(weight=4, managedResources=managed),
                three.configuration(weight=10, nodeCacheCapable=True),
            )
            with scheduler(tmp_path, cluster.kubeconfig, config):
                container = {"name": "container", "image": "none", "resources": {"limits": {DEVICE: "1"}}}
                await there.create_pods(1, "extender-test-pod", containers=[container])
                await there.all_bound(1)
            (bound,) = await there.bound()
            assert bound["spec"]["nodeName"] == "machine2"
            assert [question["Node"] for question in two.questions("bind")] == ["machine2"]


# The same document, run by both.


def by_pod(**nodes: str) -> Answer:
    """Prefers a node for each pod."""
    return lambda question: prefers(nodes[question["Pod"]["metadata"]["name"]])(question)


def agrees(question: Object) -> Object:
    """Lets the pod preempt whom it wants to."""
    victims_by_node = question["NodeNameToVictims"]
    return {
        "NodeNameToMetaVictims": {
            node: {**victims, "Pods": [{"UID": pod["metadata"]["uid"]} for pod in victims["Pods"]]}
            for node, victims in victims_by_node.items()
        }
    }


@contextlib.contextmanager
def two_extenders(there: ApiView) -> Iterator[tuple[ExtenderServer, ExtenderServer]]:
    """One that knows the nodes, and one that is told of them, binds, and weighs victims."""
    few = [f"kwok-{number}" for number in range(1, 8)]
    knows = {"filter": keeps(*few), "prioritize": by_pod(**{"first-0": "kwok-2", "second-0": "kwok-3"})}
    binds_and_preempts = {"filter": keeps(*few[1:]), "preempt": agrees, "bind": binds(there)}
    with serving(knows) as one, serving(binds_and_preempts) as two:
        yield one, two


async def story(there: ApiView, urgent: str) -> dict[str, str]:
    """Four pods, of which the last takes the place of the third; where they are at the end."""
    plain: Object = {"automountServiceAccountToken": False}
    here = {**plain, "nodeSelector": {"kubernetes.io/hostname": "kwok-5"}}
    await there.create_pods(1, "first", **plain)
    await there.all_bound(1)
    await there.create_pods(1, "second", **plain)
    await there.all_bound(2)
    await there.create_pods(1, "low", cpu="20", **here)
    await there.all_bound(3)
    await there.create_pods(1, "high", cpu="20", priorityClassName=urgent, **here)

    async def preempted() -> dict[str, str]:
        node_by_pod = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in await there.bound()}
        return node_by_pod if "high-0" in node_by_pod else {}

    return await there.eventually(preempted, 60)


def first_questions(extender: ExtenderServer) -> dict[tuple[str, str], Any]:
    """What it was asked first about each pod with each verb, without what differs between any two runs."""
    questions: dict[tuple[str, str], Any] = {}
    for verb, question in extender.received:
        name = question.get("PodName") or question["Pod"]["metadata"]["name"]
        questions.setdefault((verb, name), alike(question))
    return questions


def alike(question: Object) -> Object:
    question = {**question, "PodUID": "", **({"Pod": pod_alike(question["Pod"])} if "Pod" in question else {})}
    if question.get("Nodes") or question.get("NodeNames"):
        question["names"], question["NodeNames"] = sorted(nodes_of(question)), None
    for node in (question.get("Nodes") or {}).get("items", ()):
        of_run(node["metadata"])
        del node["status"]["conditions"]
    if question.get("Nodes"):
        question["Nodes"]["items"].sort(key=lambda node: node["metadata"]["name"])
    for victims in (question.get("NodeNameToVictims") or {}).values():
        victims["Pods"] = [{**pod_alike(pod), "status": {}} for pod in victims["Pods"]]
    return question


def pod_alike(pod: Object) -> Object:
    """Without what is written of a pod meanwhile, which either scheduler may see sooner or later."""
    status = {field: pod["status"].get(field) for field in ("phase", "qosClass")}
    return {**pod, "metadata": of_run(pod["metadata"]), "status": status}


def of_run(metadata: Object) -> Object:
    for field in ("uid", "resourceVersion", "creationTimestamp", "managedFields"):
        metadata.pop(field, None)
    return metadata


@pytest.fixture
def urgent(cluster: Cluster) -> Iterator[str]:
    """The name of a class of pods that others have to leave for."""
    priority_class = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 9,
    }
    cluster.kubectl("apply", "-f", "-", input=json.dumps(priority_class))
    yield "urgent"
    cluster.kubectl("delete", "priorityclass", "urgent")


async def test_kube_scheduler_asks_extenders_the_same_and_does_the_same(
    cluster: Cluster, tmp_path: Path, urgent: str
) -> None:
    binary = devcluster.binaries("kube-scheduler")["kube-scheduler"]
    questions: list[Any] = []
    places: list[dict[str, str]] = []
    for run in (
        lambda config: scheduler(tmp_path, cluster.kubeconfig, config),
        lambda config: deciding_scheduler(binary, config, tmp_path),
    ):
        async with api(cluster) as there:
            with two_extenders(there) as (one, two):
                config = of(
                    cluster, one.configuration(weight=1000, nodeCacheCapable=True), two.configuration(httpTimeout="20s")
                )
                with run(config):
                    places.append(await story(there, urgent))
            questions.append((first_questions(one), first_questions(two)))
    ours, theirs = questions
    assert places == [{"first-0": "kwok-2", "second-0": "kwok-3", "high-0": "kwok-5"}] * 2
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]
    assert set(theirs[1]) >= {("bind", "first-0"), ("filter", "high-0"), ("preempt", "high-0")}


async def follow(there: ApiView, process: SchedulerProcess, config: Object, count: int) -> None:
    """Have ``process`` follow its next document, the ``count``-th."""
    (file,) = process.log_file.parent.glob("config-0.yaml")
    file.write_text(yaml.safe_dump(config))
    process.process.send_signal(signal.SIGHUP)
    await there.until(lambda: len(process.lines("follows a new document")) == count, 30)


async def test_extenders_come_and_go_with_the_document(cluster: Cluster, tmp_path: Path) -> None:
    async with api(cluster) as there:
        with (
            serving({"filter": keeps("kwok-7")}) as extender,
            scheduler(tmp_path, cluster.kubeconfig, of(cluster)) as process,
        ):
            await there.create_pods(1, "before")
            await there.all_bound(1)
            await follow(there, process, of(cluster, extender.configuration()), 1)
            await there.create_pods(1, "asked")
            await there.all_bound(2)
            await follow(there, process, of(cluster), 2)
            await there.create_pods(1, "after")
            await there.all_bound(3)
        places = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in await there.bound()}
        assert places["asked-0"] == "kwok-7"
        assert {question["Pod"]["metadata"]["name"] for question in extender.questions("filter")} == {"asked-0"}


async def test_no_page_log_or_event_has_a_password_or_a_key(cluster: Cluster, tmp_path: Path) -> None:
    certificate, key = client_pair(tmp_path)
    data = {"certData": base64_of(certificate), "keyData": base64_of(key)}
    with serving({"filter": lambda _: Raw(500)}) as extender:
        address = extender.url.replace("://", "://berth:marked-pass-word@") + "/?token=marked-token"
        config = of(cluster, extender.configuration(urlPrefix=address, tlsConfig=data))
        async with api(cluster) as there:
            with scheduler(tmp_path, cluster.kubeconfig, config, "-v", "10") as process:
                await there.create_pods(1, "refused")
                events: list[Object] = []

                async def is_reported() -> bool:
                    events.extend(await there.events("refused-0", "FailedScheduling"))
                    return bool(events)

                await there.eventually(is_reported, 30)
                targets = [
                    f"{path}{query}" for path in listed_paths(process.port) for query in ("", "?verbose&compare")
                ]
                outputs = {target: process.get(target) for target in targets}
                process.process.send_signal(signal.SIGUSR2)
                await there.until(lambda: process.lines("waiting pod"), 30)
                outputs |= {"log": process.log, "events": json.dumps(events), "pods": json.dumps(await there.pods())}
            await there.delete_pods()
    assert "***@127.0.0.1" in outputs["/configz"]
    assert "failed filter with extender at URL http://***@127.0.0.1" in outputs["events"]
    marks = ("marked-pass-word", "marked-token", data["keyData"], data["keyData"][100:140])
    assert [(name, mark) for name, text in outputs.items() for mark in marks if mark in text] == []


ASKS = {"containers": [{"name": "c", "image": "none", "resources": {"limits": {DEVICE: "1"}}}]}
"""A pod of the extender's."""
MANAGED = {"managedResources": [{"name": DEVICE, "ignoredByScheduler": True}], "httpTimeout": "60s"}


async def check_answer(cluster: Cluster, directory: Path, extender: Object, problem: str) -> None:
    """Whether the scheduler says in a sentence why the extender's pod waits, and meanwhile binds others at once."""
    name = lease_of(directory)  # events of another pod of the name would be there still
    async with api(cluster) as there:
        with scheduler(directory, cluster.kubeconfig, of(cluster, {**extender, **MANAGED})) as process:
            await there.create_pods(1, "before")
            await there.all_bound(1)
            cpu, memory = process.metric("process_cpu_seconds_total"), process.metric("process_resident_memory_bytes")
            (asking,) = await there.create_pods(1, name, **ASKS)
            await there.bind_others(10, 30)
            condition = await there.eventually(lambda: there.condition(asking), 30)
            (event, *_) = await there.eventually(lambda: there.events(asking, "FailedScheduling"), 30)
            for message in (condition["message"], event["note"]):
                assert problem in message
                assert len(message) < 4096
            assert process.metric("process_cpu_seconds_total") - cpu < 10
            assert process.metric("process_resident_memory_bytes") - memory < 150 * 2**20
            assert process.process.poll() is None


@pytest.mark.parametrize(
    ("start", "part", "problem"),
    [
        pytest.param(OK + b"\r\n", b" " * 65536, "the answer has more than 8", id="body"),
        pytest.param(OK, b"X: y\r\n" * 1000, "bytes beside its body", id="head"),
        pytest.param(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000, "bytes beside its body", id="interim-responses"),
    ],
)
async def test_an_answer_without_an_end_ends_in_a_sentence_and_delays_no_other_pod(
    cluster: Cluster, tmp_path: Path, start: bytes, part: bytes, problem: str
) -> None:
    async with endless(start, part) as (url, _):
        await check_answer(cluster, tmp_path, {"urlPrefix": url, "filterVerb": "filter"}, problem)


async def test_a_reason_of_megabytes_is_cut_and_written(cluster: Cluster, tmp_path: Path) -> None:
    def answer(question: Object) -> Object:
        long, *others = nodes_of(question)
        return {"FailedNodes": {long: "no room for you. " * 180_000, **dict.fromkeys(others, "none")}}

    with serving({"filter": answer}) as extender:
        await check_answer(cluster, tmp_path, extender.configuration(nodeCacheCapable=True), "no room for you. no room")
