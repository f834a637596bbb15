"""Binaries: the ones the user gives, the ones built before, and the rest built now.

``binaries`` asks, in this order, the directories in ``DEVCLUSTER_BIN`` and ``KUBEBUILDER_ASSETS``,
the cache, and Go. One build runs at a time in one cache: it uses every core anyway.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devcluster.build import cache, products, toolchain
from devcluster.build.cache import Shelf
from devcluster.build.products import Product
from devcluster.build.progress import Progress, silent
from devcluster.build.workshop import Workshop, parallel, tidy
from devcluster.model.spec import DEFAULT_KUBERNETES
from devcluster.system.errors import DevclusterError

USER_DIRECTORIES = ("DEVCLUSTER_BIN", "KUBEBUILDER_ASSETS")  # variables that hold directories of binaries


@contextmanager
def _explaining() -> Iterator[None]:
    """Turn an OSError about the cache's files into a DevclusterError."""
    try:
        yield
    except OSError as error:
        raise DevclusterError(
            f"the binaries in {cache.root()} cannot be used ({error}): put that right, "
            "or set DEVCLUSTER_CACHE to another directory"
        ) from error


@_explaining()
def binaries(*names: str, kubernetes: str = DEFAULT_KUBERNETES, progress: Progress = silent) -> dict[str, Path]:
    """The path of each binary in ``names``, building those that are not here yet.

    Raises MissingBinariesError where one can be neither found nor built for want of network or Go,
    and DevclusterError for everything else that the user has to put right.
    """
    minor = products.resolve(kubernetes)
    wanting = missing(*names, kubernetes=kubernetes)
    if wanting:
        waiting = f"Waiting for another build in {cache.root()} to end"
        with cache.exclusive(cache.root() / "build.lock", waiting, progress) as lock:
            # Asked again under the lock: the other build may have made them.
            _build(missing(*wanting, kubernetes=kubernetes), minor, lock, progress)
    return {name: path for name in names if (path := _find(name, minor)) is not None}


@_explaining()
def missing(*names: str, kubernetes: str = DEFAULT_KUBERNETES) -> tuple[str, ...]:
    """Those of ``names`` that ``binaries`` would have to build."""
    minor = products.resolve(kubernetes)
    return tuple(name for name in names if _find(name, minor) is None)


def build_seconds(*names: str, kubernetes: str = DEFAULT_KUBERNETES) -> float:
    """Roughly how long building those of ``names`` that are missing would take on this machine."""
    wanting = missing(*names, kubernetes=kubernetes)
    return sum(_seconds(*group) for group in _by_product(wanting, products.resolve(kubernetes)))


def shelf(product: Product) -> Shelf:
    """The shelf for the binaries of ``product`` that the Go to use now builds."""
    return Shelf(cache.root() / "bin" / f"{_recipe(product)}-go{toolchain.choose(product.go).version}")


def _recipe(product: Product) -> str:
    """A name for the sources of ``product`` and the way they are built, whichever Go does it."""
    recipe = hashlib.sha256()
    for path in sorted(product.directory.iterdir()):
        recipe.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
    recipe.update(
        "\0".join([*toolchain.FLAGS, *toolchain.BUILD_FLAGS, *product.build_flags, product.link_flags()]).encode()
    )
    return f"{product.title.replace(' ', '-')}-{recipe.hexdigest()[:12]}"


def _find(name: str, minor: str) -> Path | None:
    product = products.product_of(name, minor)
    shelves = [shelf(product)]
    if toolchain.choose(product.go).packaged:  # where there is no Go, the build of any Go in the same way will do
        shelves += map(Shelf, sorted((cache.root() / "bin").glob(f"{_recipe(product)}-go*")))
    return _find_in_user_directories(name, minor) or next(filter(None, (place.find(name) for place in shelves)), None)


def _find_in_user_directories(name: str, minor: str) -> Path | None:
    """The user's own binary called ``name``. A Kubernetes binary of another minor version is passed over."""
    for variable in USER_DIRECTORIES:
        for directory in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            path = Path(directory).absolute() / name
            if not path.is_file():
                continue
            if name not in products.KUBERNETES or _minor(path, variable, path.stat().st_mtime_ns) == minor:
                return path
    return None


@functools.cache
def _minor(path: Path, variable: str, _changed: int) -> str:
    """The minor version that a Kubernetes binary reports."""
    arguments = {"kubectl": ["version", "--client"], "kubeadm": ["version", "-o", "short"]}.get(
        path.name, ["--version"]
    )
    try:
        answer = subprocess.run([path, *arguments], capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        raise DevclusterError(f"{path}, given by {variable}, does not run: replace it or unset {variable}") from error
    match = re.search(r"v(\d+\.\d+)\.\d+", answer.stdout)
    if match is None:
        raise DevclusterError(f"{path}, given by {variable}, does not tell its version: replace it or unset {variable}")
    return match[1]


def _build(names: Sequence[str], minor: str, lock: int, progress: Progress) -> None:
    groups = _by_product(names, minor)
    for number, (product, group) in enumerate(groups):
        later = sum(_seconds(*other) for other in groups[number + 1 :])

        def with_later(what: str, seconds: float | None, later: float = later) -> None:
            progress(what, None if seconds is None else seconds + later)

        _build_product(product, group, lock, with_later)
    tidy(_workplace())


def _build_product(product: Product, names: Sequence[str], lock: int, progress: Progress) -> None:
    place = shelf(product)
    for name in filter(place.is_damaged, names):
        progress(f"{place.directory / name} is damaged and will be built again", None)
    go = toolchain.choose(product.go)
    if go.go is None:
        progress(f"Installing Go {go.version}: none on PATH is new enough", None)
    workshop = Workshop(toolchain.install(go), _workplace(), lock)
    out = _workplace() / "out"
    shutil.rmtree(out, ignore_errors=True)
    workshop.build(product, names, out, progress)
    for name in names:
        place.put(name, out / name)


def _by_product(names: Sequence[str], minor: str) -> list[tuple[Product, list[str]]]:
    """The binaries of each product; Kubernetes first, because what it compiles the others find ready."""
    groups: dict[Product, list[str]] = {}
    for name in sorted(names, key=lambda name: name not in products.KUBERNETES):
        groups.setdefault(products.product_of(name, minor), []).append(name)
    return list(groups.items())


def _seconds(product: Product, names: Sequence[str]) -> float:
    return product.cpu_seconds(names) / parallel()


def _workplace() -> Path:
    return cache.root() / "go"
