"""What a user installs by hand, in the same order: the kinds, the chart, a profile, pods that name it."""

import sys
from pathlib import Path

from examples.demo.kubectl import Kubectl

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "examples/demo"
NAMESPACE = "berth-system"


def install_operator(kubectl: Kubectl, image: str, *values: str) -> None:
    """Apply the CRDs and install the chart; ``values`` are further ``name=value`` pairs for it."""
    repository, _, tag = image.rpartition(":")
    kubectl("apply", "--server-side", "--filename", ROOT / "crds")
    kubectl("wait", "--for=condition=Established", "--timeout=30s", "--filename", ROOT / "crds")
    chosen = ",".join([f"image.repository={repository}", f"image.tag={tag}", *values])
    chart = ("upgrade", "--install", "berth", ROOT / "helm/berth", "--namespace", NAMESPACE, "--create-namespace")
    kubectl.program(helm(), *chart, "--set", chosen)


def apply_profile_and_pods(kubectl: Kubectl, pod_image: str) -> None:
    """Apply the demonstration's own two files."""
    kubectl("apply", "--filename", HERE / "profile.yaml")
    pods = (HERE / "pods.yaml").read_text().replace("devcluster/pause", pod_image)
    kubectl("apply", "--filename=-", text=pods)


def remove(kubectl: Kubectl) -> None:
    """Take everything the demonstration installed out of a cluster that stays."""
    for file in ("pods.yaml", "profile.yaml"):
        kubectl("delete", "--ignore-not-found", "--wait", "--filename", HERE / file)
    kubectl.program(helm(), "uninstall", "berth", "--namespace", NAMESPACE, "--ignore-not-found", "--wait")
    kubectl("delete", "--ignore-not-found", "--filename", ROOT / "crds")
    kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")


def helm() -> Path:
    """The helm beside this Python."""
    return Path(sys.executable).parent / "helm"
