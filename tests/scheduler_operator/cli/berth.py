"""Running the command in this process, on bytes instead of a terminal."""

import io
from dataclasses import dataclass

from scheduler_operator.cli.console import Console
from scheduler_operator.cli.program import run

PROFILE = """apiVersion: berth.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: packed}
spec:
  plugins:
    score:
      disabled: [{name: NodeResourcesBalancedAllocation}]
      enabled: [{name: NodeResourcesFit, weight: 5}]
  pluginConfig: [{name: NodeResourcesFit, ref: most}]
---
apiVersion: berth.dev/v1alpha1
kind: PluginConfig
metadata: {name: most}
spec: {plugin: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}
"""

BARE = """---
apiVersion: berth.dev/v1alpha1
kind: SchedulerProfile
metadata: {name: %s}
spec: {%s}
"""

DOCUMENT = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {resourceName: spread, resourceNamespace: batch}
profiles:
- schedulerName: spread
  plugins:
    score: {enabled: [{name: PodTopologySpread, weight: 9}]}
"""

FORGETFUL = DOCUMENT.replace(", weight: 9", "")
"""A document whose author forgot that naming a plugin resets its weight."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended, and what it wrote."""

    status: int
    stdout: str
    stderr: str


def berth(*arguments: str, stdin: str | bytes = b"", colour: bool = False, debug: bool = False) -> Ran:
    """Run ``berth`` with ``arguments``."""
    inputs = stdin.encode() if isinstance(stdin, str) else stdin
    console = Console(io.BytesIO(inputs), io.BytesIO(), io.BytesIO(), colour=colour, debug=debug)
    status = run(arguments, console)
    return Ran(int(status), _output(console.stdout), _output(console.stderr))


def _output(stream: object) -> str:
    assert isinstance(stream, io.BytesIO)
    return stream.getvalue().decode()
