"""Parts of the chart: its CRDs, and permissions from the catalog: ``python -m scheduler_operator.generate.chart``.

The operator can pass on only what it holds itself, so the chart grants it the sum of what all schedulers may need.
"""

import sys
from pathlib import Path

import yaml

from scheduler_operator.desired.rbac import in_tree_rules, uncovered_rules
from scheduler_operator.generate import crds
from scheduler_runtime.catalog import permissions

DIRECTORY = "helm/berth/generated"


def files() -> dict[str, str]:
    """Return the files by name: CRDs, and rules of ClusterRoles, as YAML."""
    python = in_tree_rules()
    return {
        **{f"crds/{name}": text for name, text in crds.texts().items()},
        "catalog-rules.yaml": yaml.safe_dump(python, sort_keys=False),
        # Beyond the others, which the operator has in any case.
        "kube-scheduler-rules.yaml": yaml.safe_dump(
            uncovered_rules(permissions.all_kube_scheduler_rules(), python), sort_keys=False
        ),
    }


def main(root: str = ".") -> None:
    """Write the files into the working tree at ``root``."""
    for name, text in files().items():
        path = Path(root, DIRECTORY, name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
