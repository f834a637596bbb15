"""Odd and hostile profiles and PluginConfigs through all that the operator does with them, but for its requests."""

import json
import os
import pickle
from random import Random
from typing import Any

import pytest

from scheduler_operator.cluster.user_objects import StoredObject
from scheduler_operator.desired import desired_objects
from scheduler_operator.reconcile import render_process
from scheduler_operator.reconcile.render_process import CPU_SECONDS
from scheduler_operator.reconcile.scheduler_state import SchedulerState
from scheduler_operator.reconcile.status import (
    Excluded,
    Outcome,
    ProfileGroup,
    Rejected,
    plugin_config_status,
    profile_statuses,
)
from scheduler_operator.render import Rendered, uses
from scheduler_operator.render.relations import joiners
from scheduler_runtime.catalog import Target
from scheduler_runtime.catalog.bounds import MAX_BYTES
from tests.fuzz.budget import Budget
from tests.fuzz.inputs import user_objects
from tests.scheduler_operator.builders import NAMESPACE, RELEASE, V1_36, applied

pytestmark = pytest.mark.thorough
FUZZ = int(os.environ.get("FUZZ", "1000"))
TOTAL = FUZZ if FUZZ >= 100_000 else FUZZ // 5
"""All of them in ``make fuzz``, a fifth in ``make test``: each takes hundredths of a second."""
SHARDS = 10
TARGET = Target(V1_36)


def judge(objects: list[dict[str, Any]]) -> None:
    """Do what a watch, a reconcile of each object and the process that renders do."""
    stored = [StoredObject.from_object(raw) for raw in objects]
    configs = {item.name: item for item in stored if item.relations.kind == "PluginConfig"}
    profiles = {item.name: item for item in stored if item.relations.kind == "SchedulerProfile"}
    for config in configs.values():
        problems = render_process._check(*pickle.loads(pickle.dumps((config, configs, NAMESPACE, TARGET))))  # noqa: S301
        users = [name for name, profile in profiles.items() if uses(profile.relations, config.relations)]
        check_status(plugin_config_status(config.relations, problems, users))
    for profile in profiles.values():
        members = [profiles[name.name] for name in joiners(profile.name, (p.relations for p in profiles.values()))]
        used = {name: item for name, item in configs.items() if uses(profile.relations, item.relations)}
        shared = pickle.loads(  # noqa: S301
            pickle.dumps(render_process._render_shared(profile, members, used, NAMESPACE, TARGET))
        )
        group = ProfileGroup(profile.relations, [member.relations for member in members])
        outcomes: list[Outcome] = [Excluded(shared.excluded)]
        if isinstance(shared.outcome, Rendered):
            desired = desired_objects(profile.relations, shared.outcome, RELEASE)
            assert len(shared.outcome.text) + len(shared.outcome.extras) <= MAX_BYTES
            assert len(json.dumps(shared.outcome.text)) < 3 * MAX_BYTES
            assert desired
            outcomes.append(
                applied(
                    shared.outcome,
                    SchedulerState(),
                    profile.relations,
                    *(item.relations for item in members if item.name not in shared.excluded),
                )
            )
        else:
            outcomes.append(Rejected(shared.outcome))
        for outcome in outcomes:
            for _, status in profile_statuses(group.without(shared.excluded), outcome):
                check_status(status)


def check_status(status: dict[str, Any]) -> None:
    assert len(json.dumps(status)) < 512 * 1024
    assert all(len(condition["message"]) <= 4096 + 200 for condition in status["conditions"])
    assert all(len(warning["path"]) <= 1024 for warning in status.get("warnings", ()))


def as_sent(item: dict[str, Any], number: int) -> dict[str, Any]:
    """An object as the API server sends it."""
    metadata = {"name": item["metadata"]["name"], "uid": f"uid-{number}", "generation": 1, "resourceVersion": "1"}
    if isinstance(annotations := item["metadata"].get("annotations"), dict):
        metadata["annotations"] = {str(key): str(value) for key, value in annotations.items()}
    return {**item, "metadata": metadata}


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_spec_ends_a_judgement_or_makes_it_long(shard: int) -> None:
    budget = Budget(seconds=CPU_SECONDS, megabytes=300)
    for number in range(shard, TOTAL, SHARDS):
        random = Random(number)  # noqa: S311 - chance, not secrets
        objects = [as_sent(item, index) for index, item in enumerate(user_objects(random))]
        try:
            with budget.input(f"input {number}"):
                judge(objects)
        except BaseException as error:
            error.add_note(f"input {number}: {str(objects)[:2000]}")
            raise
    budget.print("profiles and PluginConfigs")
