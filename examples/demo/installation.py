"""The installation that a user does by hand, in the same order: the chart, a profile, pods that name it."""

import sys
from pathlib import Path

import devcluster
from devcluster.build.progress import progress_on
from examples.demo.kubectl import Kubectl

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "examples/demo"
NAMESPACE = "berth-system"


def install_operator(kubectl: Kubectl, image: str, *values: str) -> None:
    """Install the chart with its CRDs; ``values`` are further ``name=value`` pairs for it."""
    repository, _, tag = image.rpartition(":")
    settings = ",".join([f"image.repository={repository}", f"image.tag={tag}", *values])
    chart = ("upgrade", "--install", "berth", ROOT / "helm/berth", "--namespace", NAMESPACE, "--create-namespace")
    kubectl.program(helm(), *chart, "--set", settings)
    kubectl("wait", "--for=condition=Established", "--timeout=30s", "--filename", ROOT / "crds")


def apply_profile_and_pods(kubectl: Kubectl, pod_image: str) -> None:
    """Apply the demonstration's own two files."""
    kubectl("apply", "--filename", HERE / "profile.yaml")
    pods = (HERE / "pods.yaml").read_text().replace("devcluster/pause", pod_image)
    kubectl("apply", "--filename=-", text=pods)


def existing_objects(kubectl: Kubectl) -> list[str]:
    """Return what is in the cluster already that the demonstration would create, and then remove."""
    own = (
        ("crd", "schedulerprofiles.berth.dev"),
        ("namespace", NAMESPACE),
        ("deployment", "packed", "--namespace=default"),
    )
    names = [kubectl("get", *resource, "--ignore-not-found", "--output=name").strip() for resource in own]
    return [name for name in names if name]


def remove(kubectl: Kubectl) -> None:
    """Remove everything the demonstration installed from a cluster that stays.

    The CRDs go last: garbage collection deletes what the operator made for a profile. It may take most of a minute to
    learn of a new kind, and never deletes those objects if the kind is deleted before.
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
    """Return the path of helm, which is built when it is needed for the first time."""
    return devcluster.binaries("helm", progress=progress_on(sys.stderr))["helm"]
