"""``berth diff``: what changes in effect."""

import json
from pathlib import Path

import pytest
import yaml

from tests.scheduler_operator.cli.berth import BARE, DOCUMENT, PROFILE, Ran, berth


def diff(tmp_path: Path, before: str, after: str, *options: str) -> Ran:
    (tmp_path / "before.yaml").write_text(before)
    (tmp_path / "after.yaml").write_text(after)
    return berth("diff", str(tmp_path / "before.yaml"), str(tmp_path / "after.yaml"), *options)


def changes(ran: Ran) -> list[list[str]]:
    assert ran.status == 1, ran
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in ran.stdout.splitlines()[1:]]


def test_notation_makes_no_difference(tmp_path: Path) -> None:
    rewritten = json.dumps(yaml.safe_load(DOCUMENT) | {"parallelism": 16})
    ran = diff(tmp_path, DOCUMENT, rewritten)
    assert (ran.status, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(
            "weight: 9", "weight: 4", ["spread: score: PodTopologySpread", "weight 9", "weight 4"], id="weight"
        ),
        pytest.param(
            "{enabled:",
            "{disabled: [{name: ImageLocality}], enabled:",
            ["spread: score: ImageLocality", "weight 1", "-"],
            id="a-plugin-goes",
        ),
        pytest.param(
            "resourceName: spread", "resourceName: b", ["leaderElection.resourceName", "spread", "b"], id="process"
        ),
        pytest.param(
            "  plugins:",
            "  percentageOfNodesToScore: 50\n  plugins:",
            ["spread: percentageOfNodesToScore", "-", "50"],
            id="percentage",
        ),
        pytest.param(
            "  plugins:",
            "  pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 7}}]\n  plugins:",
            ["spread: InterPodAffinity args: hardPodAffinityWeight", "1", "7"],
            id="arguments",
        ),
    ],
)
def test_shows_the_one_thing_that_changed(tmp_path: Path, old: str, new: str, expected: list[str]) -> None:
    assert changes(diff(tmp_path, DOCUMENT, DOCUMENT.replace(old, new))) == [expected]


def test_a_changed_order_is_a_change(tmp_path: Path) -> None:
    def filters(*names: str) -> str:
        return DOCUMENT.replace(
            "plugins:", f"plugins:\n    filter: {{enabled: [{', '.join(f'{{name: {n}}}' for n in names)}]}}"
        )

    result = changes(diff(tmp_path, filters("NodePorts", "NodeName"), filters("NodeName", "NodePorts")))
    assert result == [["spread: filter: order", "NodePorts, NodeName", "NodeName, NodePorts"]]


def test_a_profile_more_is_a_change(tmp_path: Path) -> None:
    more = DOCUMENT + "- schedulerName: calm\n"
    assert changes(diff(tmp_path, DOCUMENT, more)) == [["calm: the profile", "-", "is there"]]


def test_without_b_an_upgrade_is_displayed() -> None:
    ran = berth("diff", "-", "--kubernetes", "1.36", "--to", "1.37", stdin=BARE % ("calm", ""))
    result = changes(ran)
    assert ["calm: filter: order", "NodeUnschedulable, NodeName", "NodeName, NodeUnschedulable"] in result


def test_the_version_of_to_is_followed_even_where_the_profile_names_another() -> None:
    pinned = BARE % ("calm", "scheduler: {kubernetesVersion: '1.36'}")
    assert berth("diff", "-", "--to", "1.37", stdin=pinned).status == 1


def test_a_profile_and_a_document_can_be_compared(tmp_path: Path) -> None:
    result = changes(diff(tmp_path, DOCUMENT, PROFILE))
    assert ["packed: schedulerName", "spread", "packed"] in result


def test_programs_get_the_values_as_they_are(tmp_path: Path) -> None:
    ran = diff(tmp_path, DOCUMENT, DOCUMENT.replace("profiles:", "parallelism: 4\nprofiles:"), "-o", "json")
    assert json.loads(ran.stdout) == [{"where": "parallelism", "before": 16, "after": 4}]


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        pytest.param(["-"], DOCUMENT, "name B, or give --to", id="one-file"),
        pytest.param(["-", "-"], DOCUMENT, "standard input is named twice", id="stdin-twice"),
        pytest.param(
            ["-", "--to", "1.37"], PROFILE + BARE % ("calm", ""), "holds 2 processes (packed, calm)", id="two"
        ),
    ],
)
def test_refuses_what_cannot_be_compared(arguments: list[str], stdin: str, words: str) -> None:
    ran = berth("diff", *arguments, stdin=stdin)
    assert (ran.status, ran.stdout) == (2, "")
    assert words in ran.stderr
