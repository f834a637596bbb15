"""Limits of profiles, by default and with values; on a real API server they are compared with the policy's."""

import pytest

from scheduler_operator.app.settings import parse
from scheduler_operator.desired.limits import Limits
from scheduler_operator.models import SchedulerSpec
from scheduler_operator.models.scheduler_profile import Engine

DEFAULT = parse(["--scheduler-image", "berth:1"], {}).release.limits


def problems(limits: Limits, engine: Engine = "Python", **scheduler: object) -> list[str]:
    return [str(problem) for problem in limits.problems(engine, SchedulerSpec.model_validate(scheduler))]


@pytest.mark.parametrize("engine", ["Python", "ConfigMap"])
def test_a_plain_profile_is_within_the_default_limits(engine: Engine) -> None:
    assert problems(DEFAULT, engine, image="berth:1", podLabels={"team": "a"}, podAnnotations={"note": "b"}) == []


def test_all_that_is_beyond_the_default_limits_is_named_with_what_to_change() -> None:
    beyond = {
        "image": "evil:1",
        "priorityClassName": "system-node-critical",
        "podLabels": {"sidecar.istio.io/inject": "true"},
        "podAnnotations": {"container.apparmor.security.beta.kubernetes.io/scheduler": "unconfined"},
    }
    found = problems(DEFAULT, "KubeScheduler", **beyond)
    assert [problem.partition(": ")[0].removeprefix("spec.") for problem in found] == [
        *("engine", "scheduler.image", "scheduler.priorityClassName", "scheduler.podLabels", "scheduler.podAnnotations")
    ]
    assert found[:2] == [
        "spec.engine: KubeScheduler is not among what profiles may have here (Python, ConfigMap); "
        "change it, or have it added to profiles.allowed.engines of the chart",
        "spec.scheduler.image: evil:1 is not among what profiles may have here (berth:1); "
        "change it, or have it added to profiles.allowed.images of the chart",
    ]


def test_a_repository_is_its_versions_and_nothing_else() -> None:
    limits = Limits(images=["host:5000/it", "team/"])
    allowed = ("host:5000/it", "host:5000/it:1", "host:5000/it@sha256:0", "host:5000/it:1@sha256:0", "team/a:1")
    refused = ("host:5000/it-evil:1", "host:5000/it:1/evil", "host:5000/it/evil", "host", "team", "team:1", "teams/a:1")
    assert [image for image in (*allowed, *refused) if not problems(limits, image=image)] == list(allowed)
