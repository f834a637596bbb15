"""The metrics of schedulers, and the rules that show wrong ones."""

from bench.soak.metrics.checks import FAMILIES, doubts, doubts_about_resources
from bench.soak.metrics.expected import Truth
from bench.soak.metrics.scrape import Scrape

__all__ = ["FAMILIES", "Scrape", "Truth", "doubts", "doubts_about_resources"]
