"""The binaries that can be built: the Go module of each, its pinned version, and the cost of building.

The modules and their versions are pinned by the go.mod and go.sum in ``devcluster/go/<product>``;
a version stands there and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from devcluster.system.errors import DevclusterError

GO = Path(__file__).parent.parent / "go"

KUBERNETES_MODULE = "k8s.io/kubernetes"
KUBERNETES = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "kubelet",
    "kubeadm",
    "kube-proxy",
)
# Binary -> (module, package), for the binaries that are the same whatever the Kubernetes version.
OTHERS = {
    "etcd": ("go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3"),
    "kwok": ("sigs.k8s.io/kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    "kind": ("sigs.k8s.io/kind", "sigs.k8s.io/kind"),
    "helm": ("helm.sh/helm/v3", "helm.sh/helm/v3/cmd/helm"),
    "coredns": ("github.com/coredns/coredns", "."),
    "pause": ("", "."),
    "prometheus": ("github.com/prometheus/prometheus", "github.com/prometheus/prometheus/cmd/prometheus"),
    "promtool": ("github.com/prometheus/prometheus", "github.com/prometheus/prometheus/cmd/promtool"),
}
# Binaries that come from the product of another one.
PRODUCTS = {"promtool": "prometheus"}
# Parts that a product leaves out: Prometheus finds its targets in files here, not in the services of thirty clouds.
TAGS = {"prometheus": "remove_all_sd"}

# When each module version was published. Stamped into its binaries, so it must not depend on the day of the build.
PUBLISHED = {
    "v1.35.4": "2026-04-15T18:01:22Z",
    "v1.36.4": "2026-08-20T11:51:43Z",
    "v1.37.1": "2026-09-23T17:06:22Z",
}

# CPU seconds, rough, for the time left: what the binaries of Kubernetes have in common, and each one's own.
# The others are built after those of Kubernetes and find much of their code compiled already.
SHARED_CPU_SECONDS = 300.0
CPU_SECONDS = {
    "kube-apiserver": 95.0,
    "kube-controller-manager": 90.0,
    "kube-scheduler": 15.0,
    "kubectl": 40.0,
    "kubelet": 85.0,
    "kubeadm": 30.0,
    "kube-proxy": 15.0,
    "etcd": 50.0,
    "kwok": 105.0,
    "kind": 40.0,
    "helm": 175.0,
    "coredns": 250.0,
    "pause": 15.0,
    "prometheus": 300.0,
    "promtool": 60.0,
}


@dataclass(frozen=True)
class Product:
    """One pinned Go module and the binaries made from it."""

    name: str  # its directory below go/
    module: str  # empty: the sources are in the directory itself and need no other module

    @property
    def directory(self) -> Path:
        return GO / self.name

    @cached_property
    def version(self) -> str:
        return _line(self.directory, rf"require {re.escape(self.module)} (v\S+)") if self.module else ""

    @cached_property
    def go(self) -> str:
        """The oldest Go that builds it, as its go.mod says."""
        return _line(self.directory, r"go (\S+)")

    @property
    def title(self) -> str:
        """The name for people: ``kubernetes v1.36.4``."""
        return f"{self.name.partition('-')[0]} {self.version}".rstrip()

    def package(self, binary: str) -> str:
        return f"{self.module}/cmd/{binary}" if binary in KUBERNETES else OTHERS[binary][1]

    def link_flags(self) -> str:
        """Linker flags: stripped, and stamped so that ``kubectl version`` reports the real version.

        Helm is stamped with the Kubernetes whose client it has: charts without a cluster are rendered for that one.
        """
        if self.name == "helm":
            kubernetes_minor = _line(self.directory, r"\tk8s\.io/client-go v0\.(\d+)\.\d+.*")
            flags = ["-s -w", f"-X {self.module}/internal/version.version={self.version}"]
            for package in (f"{self.module}/pkg/lint/rules", f"{self.module}/pkg/chartutil"):
                flags += [f"-X {package}.k8sVersionMajor=1", f"-X {package}.k8sVersionMinor={kubernetes_minor}"]
            return " ".join(flags)
        if self.module != KUBERNETES_MODULE:
            return "-s -w"
        major, minor, _ = self.version.removeprefix("v").split(".")
        stamps = {
            "gitVersion": self.version,
            "gitMajor": major,
            "gitMinor": minor,
            "gitTreeState": "clean",
            "gitCommit": "",
            "buildDate": PUBLISHED[self.version],
        }
        packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
        return " ".join(["-s -w", *(f"-X {p}.{key}={value}" for p in packages for key, value in stamps.items())])

    @property
    def build_flags(self) -> tuple[str, ...]:
        """Flags that this product is built with, beside those of all."""
        return ("-tags", TAGS[self.name]) if self.name in TAGS else ()

    @property
    def gigabytes(self) -> float:
        """The room that building it takes, for a while."""
        return 5.0 if self.module == KUBERNETES_MODULE else 2.0

    def cpu_seconds(self, binaries: Iterable[str]) -> float:
        shared = SHARED_CPU_SECONDS if self.module == KUBERNETES_MODULE else 0.0
        return shared + sum(CPU_SECONDS[binary] for binary in binaries)


def _line(directory: Path, pattern: str) -> str:
    match = re.search(f"^{pattern}$", (directory / "go.mod").read_text(), re.MULTILINE)
    if match is None:
        raise DevclusterError(f"{directory / 'go.mod'} has no line like {pattern!r}: reinstall berth-devcluster")
    return match[1]


def kubernetes(minor: str) -> Product:
    return Product(f"kubernetes-{minor}", KUBERNETES_MODULE)


def kubernetes_versions() -> dict[str, str]:
    """Minor version -> the full version that is pinned for it, oldest first."""
    minors = [path.name.removeprefix("kubernetes-") for path in GO.glob("kubernetes-*")]
    return {minor: kubernetes(minor).version for minor in sorted(minors, key=lambda m: int(m.partition(".")[2]))}


def resolve(version: str) -> str:
    """The minor version of ``1.36``, ``1.36.4`` or ``v1.36.4``. Raises DevclusterError for any other version."""
    versions = kubernetes_versions()
    for minor, full in versions.items():
        if version.removeprefix("v") in (minor, full.removeprefix("v")):
            return minor
    choices = ", ".join(f"{minor} ({full})" for minor, full in versions.items())
    raise DevclusterError(f"Kubernetes {version} is not one that can be built here: choose one of {choices}")


def product_of(binary: str, minor: str) -> Product:
    """The product that ``binary`` is built from. Raises DevclusterError for an unknown binary."""
    if binary in KUBERNETES:
        return kubernetes(minor)
    if binary in OTHERS:
        return Product(PRODUCTS.get(binary, binary), OTHERS[binary][0])
    raise DevclusterError(f"there is no binary {binary!r}: choose from {', '.join((*KUBERNETES, *OTHERS))}")
