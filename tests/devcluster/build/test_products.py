"""The binaries that can be built: the pinned modules and the data about them agree."""

import re

import pytest

from devcluster import DevclusterError
from devcluster.build import products
from devcluster.build.products import CPU_SECONDS, KUBERNETES, OTHERS, PUBLISHED, product_of, resolve


@pytest.mark.parametrize("version", ["1.36", "1.36.4", "v1.36.4"])
def test_a_version_may_have_a_v_and_a_patch(version: str) -> None:
    assert resolve(version) == "1.36"


@pytest.mark.parametrize("version", ["1.34", "1.36.3", "1.3", "latest", ""])
def test_a_version_that_is_not_pinned_is_refused_with_those_that_are(version: str) -> None:
    with pytest.raises(DevclusterError, match=r"1\.35 \(v1\.35\.\d+\), 1\.36 \(v1\.36\.4\), 1\.37"):
        resolve(version)


def test_an_unknown_binary_is_refused_with_the_possible_ones() -> None:
    with pytest.raises(DevclusterError, match="no binary 'kube-dns': choose from kube-apiserver"):
        product_of("kube-dns", "1.36")


@pytest.mark.parametrize("binary", [*KUBERNETES, *OTHERS])
@pytest.mark.parametrize("minor", products.kubernetes_versions())
def test_every_binary_has_a_pinned_module_that_offers_it(binary: str, minor: str) -> None:
    product = product_of(binary, minor)
    go_mod = (product.directory / "go.mod").read_text()
    package = product.package(binary)
    assert (package if package != "." else f"berth.dev/devcluster/{binary}") in go_mod
    assert product.module == "" or product.version in go_mod
    assert binary in CPU_SECONDS


@pytest.mark.parametrize(("minor", "full"), products.kubernetes_versions().items())
def test_kubernetes_binaries_are_stamped_with_their_version(minor: str, full: str) -> None:
    flags = product_of("kubectl", minor).link_flags()
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        assert f"-X {package}.gitVersion={full} " in flags
        assert f"-X {package}.gitMinor={minor.partition('.')[2]} " in flags
        assert f"-X {package}.buildDate={PUBLISHED[full]}" in flags


def test_helm_renders_for_the_kubernetes_whose_client_it_has() -> None:
    """Without that it takes itself for one of Kubernetes 1.20, and refuses charts that need more."""
    flags = product_of("helm", "1.36").link_flags()
    assert re.search(r"chartutil\.k8sVersionMinor=3\d", flags)
    assert re.search(r"internal/version\.version=v3\.\d+\.\d+", flags)
