"""Write the chart's dashboards: ``python -m tools.dashboards``."""

from __future__ import annotations

from pathlib import Path

from tools.dashboards.pages import ALL

DIRECTORY = Path(__file__).resolve().parents[2] / "helm/berth/monitoring"


def main() -> None:
    """Write every dashboard into ``DIRECTORY``."""
    for name, dashboard in ALL.items():
        (DIRECTORY / name).write_text(dashboard.to_json())


if __name__ == "__main__":
    main()
