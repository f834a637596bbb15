"""A marked secret in every place where one may stand, right and wrong: no message, finding, status or event has it."""

from __future__ import annotations

import base64
import copy
import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from scheduler_operator.reconcile.events import stall_change
from scheduler_operator.reconcile.scheduler_state import DeploymentState, SchedulerState
from scheduler_operator.reconcile.status import Excluded, Outcome, ProfileGroup, Rejected, profile_statuses
from scheduler_operator.render import Rendered, render_shared
from scheduler_runtime import config
from scheduler_runtime.catalog import Target
from scheduler_runtime.reload.reloader import configz_page
from tests.scheduler_operator.builders import NAMESPACE, V1_36, applied, profile
from tests.scheduler_operator.cli.berth import berth

pytestmark = pytest.mark.thorough

TOTAL = int(os.environ.get("FUZZ", "1000")) // 5
MARK = "pass.w0rd-M4rk"
KEY = f"-----BEGIN PRIVATE KEY-----\n{MARK}{MARK}\n-----END PRIVATE KEY-----\n".encode()
KEY_DATA = base64.b64encode(KEY).decode()
MARKS = (MARK, KEY_DATA[40:60])
ADDRESSES = (
    *(
        "https://me:{}@there",
        "http://{}@there/path",
        "http://me:{}@there:99999999",
        "http://me:/?#{}@there",
        "me:{}@there",
    ),
    *(
        "ftp://me:{}@there",
        "http://me:{}@",
        "http://me:a@b@{}@there",
        "http://there/?token={}",
        "HTTP://x:{}@[::1",
        "{}@x",
    ),
    *("http://me:" + "x" * 100 + "{}@there", "http://me:a {} b@there", "http://me:{}\n@there", " http://me:{}@x.svc "),
)
KEYS: tuple[Any, ...] = (
    KEY_DATA,
    MARK,
    f"{MARK}=",
    {"x": MARK},
    [MARK],
    list(KEY),
    f"\n{KEY_DATA}\n",
    [KEY_DATA],
    True,
)
MISTAKES: tuple[dict[str, Any], ...] = (
    {}, {}, {}, {"filterVerb": ""}, {"filterVerb": 5}, {"enableHTTPS": True}, {"httpTimeout": "-5s"},
    {"httpTimeout": "5"}, {"prioritizeVerb": "p"}, {"unknown": 1}, {"bindVerb": "b"}, {"weight": "x"},
    {"managedResources": [{"name": "x"}]}, {"ignorable": True}, {"urlPrefix": None}, {"tlsConfig": None},
)  # fmt: skip


def extender(random: Random) -> dict[str, Any]:
    """An extender with one or two secrets, and perhaps a mistake."""
    address = random.choice(ADDRESSES).format(MARK)
    wrong = random.random() < 0.15
    made: dict[str, Any] = {"urlPrefix": random.choice(([address], {"x": address})) if wrong else address}
    made["filterVerb"] = "filter"
    if random.random() < 0.6:
        made["tlsConfig"] = {"keyData": random.choice(KEYS)}
        if random.random() < 0.5:
            made["tlsConfig"]["certData"] = random.choice(("eA==", "?", "LS0tLS1CRUdJTg=="))
        if random.random() < 0.2:
            made["tlsConfig"] |= {"insecure": True, "caData": "eA=="}
    return {**made, **random.choice(MISTAKES)}


def extenders(random: Random) -> Any:
    """What stands at ``extenders``, which is a list most times."""
    entries = [extender(random) for _ in range(random.choice((1, 1, 2)))]
    return random.choice((entries, entries, entries, entries, entries[0], [entries], entries[0]["urlPrefix"]))


def overrides(random: Random) -> list[dict[str, Any]]:
    """Changes of the document that bring a secret in, or do not work because of it."""
    value: Any = random.choice((extender(random), random.choice(ADDRESSES).format(MARK)))
    path = random.choice(
        ("/extenders", "/extenders/0", "/extenders/0/urlPrefix", "/extenders/0/tlsConfig/keyData", "/x")
    )
    operation = random.choice(("add", "replace", "test", "remove", "copy"))
    return [{"op": operation, "path": path, "value": random.choice((value, [value]))}]


def spec(random: Random) -> dict[str, Any]:
    """A profile's spec with secrets in it."""
    made: dict[str, Any] = {"engine": random.choice(("Python", "Python", "KubeScheduler", "ConfigMap"))}
    if random.random() < 0.8:
        made["extenders"] = extenders(random)
    if random.random() < 0.4 or "extenders" not in made:
        made["overrides"] = overrides(random)
    return made


def document(random: Random) -> dict[str, Any]:
    """A document with secrets in it."""
    return {
        "apiVersion": config.API_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "a"}],
        "extenders": extenders(random),
    }


def operator_outputs(random: Random) -> Iterator[tuple[str, Any]]:
    """What the operator says about a profile, and about another that joins it."""
    made, joiner = profile("made", **spec(random)), profile("joiner", joins="made")
    shared = render_shared(made, [joiner], {}, NAMESPACE, Target(V1_36))
    group = ProfileGroup(made, (joiner,))
    outcome: Outcome
    if isinstance(shared.outcome, Rendered):
        state = SchedulerState(DeploymentState(replicas=2, existing=2, current=2, ready=2))
        outcome = applied(shared.outcome, state, made, *(() if shared.excluded else (joiner,)))
    else:
        yield "problems", str(shared.outcome)
        outcome = Rejected(shared.outcome)
    for members, part in ((group.without(shared.excluded), outcome), (group, Excluded(shared.excluded))):
        for user_object, status in profile_statuses(members, part):
            yield f"status of {user_object.name}", status
            yield f"event of {user_object.name}", stall_change({}, status)


def document_outputs(text: str) -> Iterator[tuple[str, Any]]:
    """What a scheduler says about a document."""
    target = Target(V1_36)
    match config.check_document(json.loads(text), target):
        case config.Problems() as problems:
            yield "check", str(problems)
    match config.load(text):
        case config.Problems() as problems:
            yield "problems", str(problems)
        case config.Document() as loaded:
            yield "/configz", configz_page(config.LoadReport("", ""), config.with_defaults(loaded, target))


def command_outputs(random: Random, text: str) -> Iterator[tuple[str, Any]]:
    """What ``berth`` prints: of what prints the document itself, only the messages."""
    command = random.choice((("lint",), ("lint", "-o", "json"), ("lint", "-o", "sarif"), ("expand",), ("render",),
                             ("import",), ("diff", "--to", "1.37")))  # fmt: skip
    ran = berth(*command, "-", stdin=text)
    yield " ".join(command), ran.stderr + ("" if command[0] in ("render", "import") else ran.stdout)


def test_no_output_has_a_secret() -> None:
    outputs = 0
    for number in range(TOTAL):
        random = Random(number)  # noqa: S311 - chance, not secrets
        text = json.dumps(document(random), indent=random.choice((None, 1)))
        manifest = {"apiVersion": "berth.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": {"name": "made"}}
        applied = json.dumps({**manifest, "spec": spec(copy.copy(random))})
        for source, made in (
            ("operator", operator_outputs(random)),
            ("document", document_outputs(text)),
            ("command", command_outputs(random, text)),
            ("command", command_outputs(random, applied)),
        ):
            for name, output in made:
                outputs += 1
                shown = output if isinstance(output, str) else json.dumps(output, default=repr)
                assert not any(mark in shown for mark in MARKS), f"{source}: {name}, input {number}:\n{shown}\n{text}"
    assert outputs > 3 * TOTAL
