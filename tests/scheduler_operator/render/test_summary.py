"""One-line summary of a profile's difference from the default."""

from typing import Any

import pytest

from scheduler_operator.render.outcome import SUMMARY_LENGTH
from tests.scheduler_operator.builders import declaring, profile, rendered

PRICES = declaring("prices", "PriceCap", {"hooks": ["filter", "score"]})


@pytest.mark.parametrize(
    ("plugins", "summary"),
    [
        pytest.param({}, "default", id="nothing-said"),
        pytest.param({"multiPoint": {"disabled": [{"name": "ImageLocality"}]}}, "-ImageLocality", id="one-less"),
        pytest.param({"multiPoint": {"enabled": [{"name": "PriceCap"}]}}, "+PriceCap", id="one-more"),
        pytest.param({"score": {"enabled": [{"name": "PriceCap", "weight": 3}]}}, "+PriceCap=3", id="one-more-weighed"),
        pytest.param({"score": {"enabled": [{"name": "NodeAffinity", "weight": 9}]}}, "NodeAffinity=9", id="weight"),
        pytest.param({"filter": {"disabled": [{"name": "NodeAffinity"}]}}, "-NodeAffinity(filter)", id="less-of-one"),
    ],
)
def test_the_summary_names_what_is_not_the_default(plugins: dict[str, Any], summary: str) -> None:
    scheduler_profile = profile(plugins=plugins, allow="PreFilterWithoutFilter,WeightReset,ScoreWithoutWeight")
    assert rendered(scheduler_profile, PRICES).first.summary == summary


def test_a_long_summary_ends_where_the_status_does() -> None:
    names = [f"Plugin{'x' * 100}{index}" for index in range(20)]
    configs = [declaring(f"c{index}", name, {"hooks": ["filter"]}) for index, name in enumerate(names)]
    scheduler_profile = profile(plugins={"filter": {"enabled": [{"name": name} for name in names]}})
    summary = rendered(scheduler_profile, *configs).first.summary
    assert len(summary) == SUMMARY_LENGTH
    assert summary.endswith("…")
