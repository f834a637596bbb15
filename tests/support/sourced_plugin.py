"""A plugin whose code is in a ConfigMap."""

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from examples.demo.installation import NAMESPACE

Object = dict[str, Any]

CODE = '''
from scheduler_runtime.api import Action, ClusterEvent, NodePlugin


class NotHere(NodePlugin):
    """Keeps every pod off every node whose name ends in a digit above 4."""

    events = (ClusterEvent("Node", Action.ADD),)

    def filter_node(self, pod, node):
        return "node is one of the upper half" if node.name[-1] in "56789" else None
'''


def own_plugin(directory: Path, code: str = CODE) -> tuple[Object, Object]:
    """The plugin's code in a ConfigMap, and the PluginConfig that the command line makes of it."""
    file = directory / "not_here.py"
    file.write_text(code)
    berth = Path(sys.executable).parent / "berth"
    declared = subprocess.run([berth, "plugins", "--declare", file], capture_output=True, text=True, check=True)
    config = yaml.safe_load(declared.stdout)
    digest = hashlib.sha256(code.encode()).hexdigest()
    config["spec"]["source"] = {"configMap": {"name": "not-here", "key": file.name, "sha256": digest}}
    metadata = {"name": "not-here", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {file.name: code}}, config
