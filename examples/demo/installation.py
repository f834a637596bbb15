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


def in_the_way(kubectl: Kubectl) -> list[str]:
    """What is in the cluster already that the demonstration would make, and then remove."""
    own = (
        ("crd", "schedulerprofiles.berth.dev"),
        ("namespace", NAMESPACE),
        ("deployment", "packed", "--namespace=default"),
    )
    found = [kubectl("get", *each, "--ignore-not-found", "--output=name").strip() for each in own]
    return [name for name in found if name]


def remove(kubectl: Kubectl) -> None:
    """Take everything the demonstration installed out of a cluster that stays.

    The CRDs go last: what was made for a profile follows it by garbage collection, which may need
    most of a minute to hear of a new kind, and never looks again when the kind is gone before.
    """
    for file in ("pods.yaml", "profile.yaml"):
        kubectl("delete", "--ignore-not-found", "--filename", HERE / file)
    ours = "--selector=berth.dev/profile=bin-packing"
    kubectl("wait", "--for=delete", "clusterroles,clusterrolebindings", ours, "--timeout=90s")
    kubectl("wait", "--for=delete", "deployments,configmaps", ours, f"--namespace={NAMESPACE}", "--timeout=90s")
    kubectl.program(helm(), "uninstall", "berth", "--namespace", NAMESPACE, "--ignore-not-found", "--wait")
    kubectl("delete", "--ignore-not-found", "--filename", ROOT / "crds")
    kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found")


def helm() -> Path:
    """The helm beside this Python."""
    return Path(sys.executable).parent / "helm"
