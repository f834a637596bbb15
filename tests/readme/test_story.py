"""The demo's display of one moment."""

import io
from typing import Any

from rich.console import Console

from examples.demo import story
from examples.demo.story import DemoState, Row

PORT_IN_USE = "it ended with exit code 1: 127.0.0.2:10259 cannot be served on: Address already in use"


def profile(**messages: str) -> dict[str, Any]:
    """A profile with these conditions, all true."""
    conditions = [
        {"type": kind, "status": "True", "reason": "R", "message": message} for kind, message in messages.items()
    ]
    return {"status": {"conditions": conditions}}


def screen(state: DemoState) -> str:
    console = Console(width=120, file=io.StringIO())
    with console.capture() as captured:
        console.print(story.picture(state, rows=3))
    return captured.get()


def test_what_stalls_the_profile_is_printed_while_the_demo_waits_and_on_the_screen() -> None:
    stalled = story.stalled_message(profile(Ready="no process is ready", Stalled=PORT_IN_USE))
    state = DemoState({story.PROFILE: "Ready=False"}, [], "", "", stalled)
    assert (
        story.next_step(state) == f"the profile's scheduler to start and to lead; the profile is stalled: {PORT_IN_USE}"
    )
    assert f"{story.PROFILE} is stalled: {PORT_IN_USE}" in screen(state)


def test_a_profile_that_gets_on_is_not_called_stalled() -> None:
    state = DemoState({story.PROFILE: "Ready=True"}, [], "", "", story.stalled_message(profile(Ready="fine")))
    assert story.next_step(state) == "the profile's scheduler to start and to lead"
    assert "stalled" not in screen(state)


def test_a_pods_waiting_time_counts_from_its_creation() -> None:
    text = screen(DemoState({}, [Row("packed-1", "Running", "process-0", story.PROFILE, 13.0)], "", ""))
    assert "13 s" in text
    assert story.WAITED in text
