"""The demo's display of one moment."""

import io
from typing import Any

from rich.console import Console

from examples.demo import story
from examples.demo.story import Row, Scene

TAKEN = "it ended with exit code 1: 127.0.0.2:10259 cannot be served on: Address already in use"


def profile(**conditions: str) -> dict[str, Any]:
    described = [{"type": kind, "status": "True", "reason": "R", "message": said} for kind, said in conditions.items()]
    return {"status": {"conditions": described}}


def shown(scene: Scene) -> str:
    console = Console(width=120, file=io.StringIO())
    with console.capture() as captured:
        console.print(story.picture(scene, rows=3))
    return captured.get()


def test_what_stalls_the_profile_is_said_while_the_demo_waits_and_shown() -> None:
    stalled = story.stalled(profile(Ready="no process is ready", Stalled=TAKEN))
    scene = Scene({story.PROFILE: "Ready=False"}, [], "", "", stalled)
    assert story.waits_for(scene) == f"the profile's scheduler to start and to lead; the profile is stalled: {TAKEN}"
    assert f"{story.PROFILE} is stalled: {TAKEN}" in shown(scene)


def test_a_profile_that_gets_on_is_not_called_stalled() -> None:
    scene = Scene({story.PROFILE: "Ready=True"}, [], "", "", story.stalled(profile(Ready="fine")))
    assert story.waits_for(scene) == "the profile's scheduler to start and to lead"
    assert "stalled" not in shown(scene)


def test_how_long_a_pod_waited_is_said_to_count_from_its_creation() -> None:
    text = shown(Scene({}, [Row("packed-1", "Running", "process-0", story.PROFILE, 13.0)], "", ""))
    assert "13 s" in text
    assert story.WAITED in text
