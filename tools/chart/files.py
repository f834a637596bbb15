"""Files made from the chart: pages about its values, golden renderings, and manifests for plain kubectl."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import devcluster
from tools.chart.values import described_values, schema_text, with_table

NAMESPACE = "berth-system"
NAMESPACE_MANIFEST = f"""# Written by `make manifests` from the chart with its default values.
# For another image see deploy/README.md.
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted
"""
_OF_HELM = re.compile(
    r"^(?:# Source: .*| +app\.kubernetes\.io/managed-by: Helm| +helm\.sh/resource-policy: keep)\n", re.M
)


class RenderingError(Exception):
    """Helm does not render the chart."""


def generated_files(root: Path) -> dict[Path, str]:
    """Return the text of each file. Raises UndescribedError and RenderingError."""
    chart, golden = root / "helm/berth", root / "tests/helm/golden"
    # By the comments of values.yaml, also before these are in the schema.
    files = value_pages(chart)
    for values in sorted(golden.glob("*.values.yaml")):
        # CRDs are long, and compared with crds/ by another test.
        rendering = render(chart, "--values", str(values), "--set", "crds.enabled=false")
        files[golden / values.name.replace(".values.", ".")] = rendering
    manifests = _OF_HELM.sub("", render(chart, "--skip-tests"))
    files[root / "deploy/base/install.yaml"] = NAMESPACE_MANIFEST + manifests
    return files


def value_pages(chart: Path) -> dict[Path, str]:
    """Return the schema with its descriptions, and the README with its table. Raises UndescribedError."""
    values, schema, page = (chart / name for name in ("values.yaml", "values.schema.json", "README.md"))
    described = described_values(values.read_text(), json.loads(schema.read_text()))
    return {
        schema: schema_text(values.read_text(), schema.read_text()),
        page: with_table(page.read_text(), described),
    }


def render(chart: Path, *arguments: str) -> str:
    """Return what Helm makes of the chart. Raises RenderingError."""
    helm = str(devcluster.binaries("helm")["helm"])
    command = [helm, "template", "berth", str(chart), "--namespace", NAMESPACE, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RenderingError(run.stderr.strip())
    return run.stdout
