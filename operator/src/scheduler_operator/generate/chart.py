"""Chart permissions generated from the catalog: ``python -m scheduler_operator.generate.chart`` writes the file.

The operator can pass on only what it holds itself, so the chart grants it the sum of what all plugins declare.
"""

import sys
from pathlib import Path

import yaml

from scheduler_operator.desired.rbac import cluster_wide
from scheduler_runtime import catalog

FILE = "helm/berth/generated/catalog-rules.yaml"


def catalog_rules() -> str:
    """The rules of ``berth-catalog-permissions``, as YAML."""
    declared = [rule for plugin in catalog.in_tree().values() for rule in plugin.rules_for()]
    return yaml.safe_dump(cluster_wide([*catalog.BASE_RULES, *declared]), sort_keys=False)


def main(root: str = ".") -> None:
    """Write the file into the working tree at ``root``."""
    Path(root, FILE).write_text(catalog_rules(), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
