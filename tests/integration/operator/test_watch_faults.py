"""Faults between the operator's watches and the API server: reported, survived, and nothing missed."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from aiohttp import web

from tests.integration.operator.running import Installed, RunningOperator, profile
from tests.support.eventually import eventually
from tests.support.proxy import Act, Proxy, cut_after, every, garble_after, is_watch, proxied_in_a_thread, refuse, reset

pytestmark = pytest.mark.cluster

MOST_LINES = 8
STAMP = re.compile(r"\d{4}-\d\d-\d\dT")
AGAIN = "watching everything again"


@dataclass(frozen=True)
class Scene:
    """An operator that reaches the API server through a proxy, and serves one profile."""

    installed: Installed
    proxy: Proxy
    operator: RunningOperator

    @property
    def lines(self) -> list[str]:
        return self.operator.log.splitlines()

    def identities(self) -> dict[str, str]:
        """The uid of everything that is made for the profile."""
        return {kind: item["metadata"]["uid"] for kind, item in self.installed.generated("kept").items()}

    @property
    def twice_disturbed(self) -> set[str]:
        return {kind for kind, times in self.proxy.disturbed.items() if times >= 2}

    def replaced(self, before: dict[str, str]) -> set[str]:
        """The kinds of which there is another object now; that none is gone has to come true first."""
        now = self.identities()
        assert now.keys() == before.keys()
        return {kind for kind in now if now[kind] != before[kind]}

    def check_log(self, lines: list[str], line: str) -> None:
        """What was wrong is among the ``lines`` of the log, these are few, and the operator lives on."""
        lines = [line for line in lines if " INFO reconciled " not in line]
        text = "\n".join(lines)
        assert line in text
        assert len(lines) <= MOST_LINES, text
        assert all(STAMP.match(line) for line in lines), text
        assert self.operator.process.poll() is None

    def eventually(self, check: Callable[[], object], seconds: float) -> None:
        eventually(check, seconds, explain=lambda: self.operator.log[-6000:])


@pytest.fixture(scope="module")
def scene(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    with proxied_in_a_thread(installed.cluster, tmp_path_factory.mktemp("proxy")) as proxy:
        operator = installed.operator("disturbed", through=proxy.url)
        new_scene = Scene(installed, proxy, operator.until_leading())
        installed.apply(profile("kept"))
        new_scene.eventually(lambda: installed.is_ready("kept"), 30)
        yield new_scene
        installed.delete("schedulerprofile", "kept")
        assert operator.end() == 0


def error(code: int, reason: str) -> bytes:
    """An event of the kind that ends a watch."""
    return json.dumps({"type": "ERROR", "object": {"code": code, "reason": reason, "message": "odd"}}).encode() + b"\n"


def anything(request: web.Request) -> bool:
    return True


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        pytest.param(every(1, is_watch, refuse(410, "Expired")), "expired (410)", id="410-answer"),
        pytest.param(every(1, is_watch, garble_after(0, error(410, "Expired"))), "expired (410)", id="410-event"),
        pytest.param(
            every(1, is_watch, garble_after(0, error(500, "InternalError"))), "500 InternalError: odd", id="500-event"
        ),
        pytest.param(every(1, is_watch, refuse(500, "InternalError")), "500 by the test", id="500"),
        pytest.param(every(1, is_watch, refuse(429, **{"Retry-After": "1"})), "429 by the test", id="429"),
        pytest.param(every(1, is_watch, cut_after(0)), "the stream was cut off", id="cut-in-the-middle-of-a-line"),
        pytest.param(every(1, is_watch, garble_after(0, b'{"type":')), "no event", id="ends-in-the-middle-of-a-line"),
        pytest.param(every(1, is_watch, garble_after(0, b"<html>\n")), "no event", id="garbage"),
        pytest.param(every(1, is_watch, garble_after(0, b"")), "the stream ended early", id="ends-at-once"),
        pytest.param(every(1, is_watch, reset), "no answer from the API server", id="reset"),
        pytest.param(every(1, anything, reset), "no answer from the API server", id="unreachable"),
    ],
)
def test_disturbed_watches_miss_nothing(scene: Scene, rule: Act, line: str) -> None:
    installed, before, lines = scene.installed, scene.identities(), len(scene.lines)
    scene.proxy.disturb(rule)
    installed.delete("configmap", installed.object_name("configmap", "kept"))
    installed.apply(profile("second", engine="ConfigMap"))
    scene.eventually(lambda: scene.twice_disturbed >= {"configmaps", "schedulerprofiles"}, 30)

    scene.proxy.calm()

    scene.eventually(lambda: installed.is_ready("second"), 30)
    scene.eventually(lambda: scene.replaced(before) == {"ConfigMap"}, 30)
    scene.eventually(lambda: any(AGAIN in line for line in scene.lines[lines:]), 30)
    installed.delete("schedulerprofile", "second")
    scene.check_log(scene.lines[lines:], line)


def test_what_was_deleted_before_a_list_is_noticed(scene: Scene) -> None:
    """Only the ConfigMaps are listed again, and there is none: no event tells that there was one."""
    before = scene.identities()
    scene.proxy.disturb(every(1, lambda request: is_watch(request, "configmaps"), refuse(500)))
    scene.installed.delete("configmap", scene.installed.object_name("configmap", "kept"))
    scene.eventually(lambda: scene.twice_disturbed, 30)

    scene.proxy.disturb(every(1, lambda request: is_watch(request, "configmaps"), refuse(410, "Expired")))

    scene.eventually(lambda: scene.replaced(before) == {"ConfigMap"}, 30)
    scene.proxy.calm()
