"""What schedulers say on /metrics, and whether it can be true."""

from bench.soak.metrics.checks import FAMILIES, doubts
from bench.soak.metrics.expected import Truth
from bench.soak.metrics.resources import doubts_about_resources
from bench.soak.metrics.scrape import Scrape

__all__ = ["FAMILIES", "Scrape", "Truth", "doubts", "doubts_about_resources"]
