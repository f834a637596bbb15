"""README, followed to the letter: a clean copy of the tree, an empty home directory."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from devcluster.build import cache

ROOT = Path(__file__).resolve().parents[2]
NOT_A_USERS = ("PYTHON", "PYTEST", "VIRTUAL_ENV", "XDG_", "MAKE", "MFLAGS")
"""Variables that this test run has, and whoever reads README has not."""


def clean_copy(destination: Path) -> Path:
    """What a clone of the present tree would hold: tracked files, with today's changes."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).exists():
            (destination / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, destination / name)
    return destination


@pytest.mark.cluster
@pytest.mark.timeout(600)
def test_make_demo_binds_pods_with_the_profiles_own_scheduler(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    tree = clean_copy(tmp_path / "berth")
    caches = {"PIP_CACHE_DIR": Path.home() / ".cache/pip", "UV_CACHE_DIR": Path.home() / ".cache/uv"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_A_USERS)}
    environment = {name: str(path) for name, path in caches.items()} | inherited
    environment |= {"HOME": str(home), "DEVCLUSTER_CACHE": str(cache.root())}

    ran = subprocess.run(
        ["make", "demo", "ONCE=1"], cwd=tree, env=environment, capture_output=True, text=True, timeout=540, check=False
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "6 pods bound by bin-packing" in ran.stdout
    assert "runs as ServiceAccount berth-bin-packing" in " ".join(ran.stdout.split())
    assert (tree / ".venv/bin/berth").exists()
    assert (tree / ".venv/bin/devcluster").exists()
    # pip asks a rustc on PATH for its version, and some of these keep a note of having been asked.
    assert not [path for path in home.rglob("*") if path.is_file() and ".rustup" not in path.parts]


@pytest.mark.cluster
def test_what_readme_says_of_a_cluster_that_stays_is_enough_to_use_berth_by_hand(tmp_path: Path) -> None:
    blocks = (ROOT / "README.md").read_text().split("```sh\n")
    by_hand = next(block for block in blocks if "devcluster up --image" in block).partition("```")[0]
    bound = "kubectl wait --for=condition=Available deployment/packed --timeout=60s"
    bin_directory = Path(sys.executable).parent
    if bin_directory != ROOT / ".venv/bin":
        by_hand = by_hand.replace(".venv/bin", str(bin_directory))
    script = f"set -e\ntrap '{bin_directory}/devcluster down' EXIT\n{by_hand}\n{bound}\nkubectl get sp bin-packing"
    environment = {**os.environ, "DEVCLUSTER_STATE": str(tmp_path / "state")}

    ran = subprocess.run(["bash", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Cluster default is gone." in ran.stdout
