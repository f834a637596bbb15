"""The kit finds flaws of a class and of its arguments before it makes an object."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ConfigDict, Field, field_serializer

from scheduler_runtime.api import Declaration, Plugin, PluginArgs, highest_is_best
from tests.support.sound_plugin import Sound, breach_of, broken


def does_not_wait(self: Any, *_: Any) -> Any:
    return None


@pytest.mark.parametrize(
    ("plugin", "words"),
    [
        pytest.param(
            broken(declaration=Declaration("Broken", ("filter",))),
            "filter_row, which is not declared; let class and declaration agree",
            id="undeclared",
        ),
        pytest.param(
            broken(Plugin, declaration=Declaration("Broken", ("permit",))),
            "permit is declared, but Broken has none; let class and declaration agree",
            id="missing",
        ),
        pytest.param(
            broken(Plugin, normalize_score=highest_is_best), "normalize_score without score never runs", id="half"
        ),
    ],
)
def test_hooks_and_declaration_agree(plugin: type[Plugin], words: str) -> None:
    assert words in breach_of(plugin, "hooks")


class Loose(PluginArgs):
    model_config = ConfigDict(extra="allow")


class Changing(PluginArgs):
    model_config = ConfigDict(frozen=False)


class SnakeCase(PluginArgs):
    most_pods: int = Field(default=3, alias="most_pods")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Loose, "Loose.model_config has not extra='forbid'"),
        (Changing, "Changing.model_config has not frozen=True"),
        (SnakeCase, "SnakeCase.most_pods is written most_pods; arguments are camelCase, mostPods"),
    ],
)
def test_arguments_are_strict(model: type[PluginArgs], words: str) -> None:
    assert words in breach_of(broken(Args=model), "model")


class Rounds(Sound.Args):
    @field_serializer("most_pods")
    def _round(self, value: int) -> int:
        return value // 2 * 2


class Spells(Sound.Args):
    @field_serializer("most_pods")
    def _spell(self, value: int) -> str:
        return "three"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            Rounds,
            "its args change when they are written and read again: Rounds(most_pods=3) became Rounds(most_pods=2)",
        ),
        (Spells, "its args cannot be read again as they are written"),
    ],
)
def test_arguments_survive_a_round_trip(model: type[PluginArgs], words: str) -> None:
    assert breach_of(broken(Plugin, Args=model, post_bind=does_not_wait), "round_trip").startswith(words)
