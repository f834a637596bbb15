"""Reasons why pods do not run, from their status."""

from typing import Any

import pytest

from scheduler_operator.reconcile.scheduler_state import find_pod_trouble, last_words

PULL = {"reason": "ErrImagePull", "message": "manifest unknown"}
BACK_OFF = {"reason": "CrashLoopBackOff", "message": "back-off 20s restarting failed container"}
CREATING = {"reason": "ContainerCreating"}
CONFIG = {"reason": "CreateContainerConfigError", "message": 'configmap "x" not found'}


def crashed(exit_code: int = 2, minutes: int = 0, message: str = "no such plugin\n") -> dict[str, Any]:
    ended = f"2026-01-01T00:{minutes:02}:09Z"
    return {"exitCode": exit_code, "startedAt": "2026-01-01T00:00:00Z", "finishedAt": ended, "message": message}


def pod(name: str, waiting: Any = None, last: Any = None, *, template: str = "new", **more: Any) -> dict[str, Any]:
    """A pod whose one container is not ready; it runs when it waits for nothing."""
    created = "2026-01-01T00:00:00Z" if template == "old" else "2026-01-02T00:00:00Z"
    metadata = {"name": name, "namespace": "home", "labels": {"pod-template-hash": template}}
    state = {"waiting": waiting} if waiting else {"running": {}}
    container = {
        "ready": False,
        "state": state,
        "restartCount": more.pop("restarts", 0),
        "lastState": {"terminated": last} if last else {},
    }
    status = {"containerStatuses": [container], **more.pop("status", {})}
    return {"metadata": {**metadata, "creationTimestamp": created, **more}, "status": status}


@pytest.mark.parametrize(
    ("pods", "messages", "is_lasting"),
    [
        pytest.param([pod("a", PULL)], "pod home/a waits: ErrImagePull: manifest unknown", True, id="image"),
        pytest.param([pod("a", CONFIG), pod("b", PULL)], "pod home/b waits: Err", True, id="what-lasts-goes-first"),
        pytest.param(
            [pod("a", PULL), pod("b", PULL)], "pod home/a waits: ErrImagePull: manifest unknown (1 more", True
        ),
        pytest.param([pod("a", CONFIG)], "pod home/a waits: CreateContainerConfigError: ", False, id="may-pass"),
        pytest.param(
            [pod("a", BACK_OFF, crashed())],
            "pod home/a waits: CrashLoopBackOff: it ended with exit code 2: no such plugin",
            True,
            id="crashes",
        ),
        pytest.param(
            [pod("a", None, crashed(), restarts=3)],
            "pod home/a waits: CrashLoopBackOff: it ended with exit code 2: no such plugin",
            True,
            id="between-two-crashes",
        ),
    ],
)
def test_what_holds_a_pod_up_is_reported_with_its_name(pods: list[Any], messages: str, is_lasting: bool) -> None:
    result = find_pod_trouble(pods)
    assert result is not None
    assert str(result).startswith(messages)
    assert result.is_lasting is is_lasting


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="no-pods"),
        pytest.param([pod("a", CREATING)], id="no-more-than-starting"),
        pytest.param([pod("a", None, crashed(), restarts=1)], id="crashed-once"),
        pytest.param([pod("a", None, crashed(minutes=15), restarts=5)], id="ran-for-long-before"),
        pytest.param([pod("a", None, crashed(exit_code=0), restarts=5)], id="ended-well"),
        pytest.param([pod("a", PULL, template="old"), pod("b")], id="of-the-template-before"),
        pytest.param([pod("a", PULL, deletionTimestamp="now")], id="going"),
        pytest.param([{"metadata": {"name": "a"}}], id="without-status"),
    ],
)
def test_nothing_is_invented(pods: list[Any]) -> None:
    assert find_pod_trouble(pods) is None


def test_a_pod_that_no_node_takes_is_reported_with_the_schedulers_words() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    result = find_pod_trouble([{"metadata": {"name": "a", "namespace": "home"}, "status": {"conditions": [condition]}}])
    assert str(result) == "pod home/a waits: Unschedulable: 0/3 nodes"


def test_pods_created_in_one_second_are_distinguished_by_the_image_they_are_to_run() -> None:
    def made(name: str, image: str) -> dict[str, Any]:
        waiting = {"reason": "ErrImageNeverPull", "message": f"there is no {image}"}
        return {
            "metadata": {"name": name, "namespace": "home", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"containers": [{"image": image}]},
            "status": {"containerStatuses": [{"name": "c", "ready": False, "state": {"waiting": waiting}}]},
        }

    result = find_pod_trouble([made("before", "old"), made("after", "new")], images=["new"])
    assert result is not None
    assert str(result) == "pod home/after waits: ErrImageNeverPull: there is no new"
    assert find_pod_trouble([made("before", "old")], images=["new"]) is None


INFO = "2026-01-01T00:00:00.000Z INFO serves health, metrics and pages at=https://127.0.0.1:1"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param(
            f"{INFO}\n/var/lib/node/pods/1/config.yaml: profiles[0].plugins: is not a field\n",
            "config.yaml: profiles[0].plugins: is not a field",
            id="a-sentence-behind-what-is-no-error",
        ),
        pytest.param(f"/etc/berth/config.yaml: a\n/etc/berth/config.yaml: b\n{INFO}", "config.yaml: b; config.yaml: a"),
        pytest.param(f"{INFO}\n2026-01-01T00:00:00.000Z ERROR no credentials because=x", "no credentials because=x"),
        pytest.param(
            'Traceback (most recent call last):\n  File "/x.py", line 1, in x\n    y()\nKeyError: 1\n', "KeyError: 1"
        ),
        pytest.param(
            'I0101 00:00:00.000000       1 serving.go:1] "Generated"\n'
            'E0101 00:00:00.000000       1 run.go:72] "command failed" err="no such plugin"\n',
            '"command failed" err="no such plugin"',
            id="kube-scheduler",
        ),
        pytest.param(
            '{"ts": "x", "level": "info", "msg": "a"}\n{"level": "error", "msg": "b"}', '{"level": "error", "msg": "b"}'
        ),
        pytest.param(INFO, INFO, id="no-error-at-all"),
        pytest.param("", "", id="nothing"),
        pytest.param("\n".join("abcdefgh"), "h; g; f; e; d", id="many"),
    ],
)
def test_the_last_words_of_a_process_are_its_errors(log: str, expected: str) -> None:
    assert last_words(log) == expected


def test_a_crash_without_a_word_is_told_by_its_code() -> None:
    trouble = find_pod_trouble([pod("a", BACK_OFF, {"exitCode": 137, "reason": "OOMKilled"})])
    assert str(trouble) == "pod home/a waits: CrashLoopBackOff: it ended with exit code 137: OOMKilled"
    assert "back-off 20s" in str(find_pod_trouble([pod("a", BACK_OFF)]))
