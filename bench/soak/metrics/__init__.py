"""What schedulers say on /metrics, and whether it can be true."""

from .judging import FAMILIES, doubts
from .resources import doubts_about_resources
from .scrape import Scrape
from .truth import Truth

__all__ = ["FAMILIES", "Scrape", "Truth", "doubts", "doubts_about_resources"]
