"""Distributions with plugins, as pip would leave them."""

from __future__ import annotations

from pathlib import Path

CODE = """
from scheduler_runtime.api import NodePlugin

class PriceCap(NodePlugin):
    def filter_node(self, pod, node):
        return None
"""


def install(site: Path, distribution: str, code: str = CODE, module: str = "", /, **offered: str) -> None:
    """Put a distribution with a module there, of its name unless another is given, which offers these entry points."""
    name = distribution.replace("-", "_")
    module = module or name
    (site / f"{module}.py").write_text(code)
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    points = "\n".join(f"{name} = {module}:{value}" for name, value in offered.items())
    (metadata / "entry_points.txt").write_text(f"[berth.plugins]\n{points}\n")
