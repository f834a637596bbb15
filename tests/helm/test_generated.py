"""Golden renderings of the chart, and manifests for kubectl and kustomize: in step with it."""

import difflib
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import devcluster
from tools.chart.__main__ import main
from tools.chart.files import generated_files, render

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm/berth"

pytestmark = pytest.mark.cluster


def test_what_is_made_from_the_chart_is_in_step_with_it() -> None:
    for path, expected in generated_files(ROOT).items():
        name = str(path.relative_to(ROOT))
        present = path.read_text() if path.exists() else ""
        difference = difflib.unified_diff(
            present.splitlines(), expected.splitlines(), name, "from the chart", lineterm="", n=2
        )
        assert present == expected, "run: make manifests\n" + "\n".join(difference)


def test_what_differs_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rendering.yaml"
    monkeypatch.setattr("tools.chart.__main__.ROOT", tmp_path)
    monkeypatch.setattr("tools.chart.__main__.generated_files", lambda _: {file: "a: 1\n"})
    assert main(["--check"]) == 1
    assert capsys.readouterr().out == "rendering.yaml differs: run make manifests\n"
    assert not file.exists()
    assert main([]) == 0
    assert main(["--check"]) == 0


def test_nothing_for_plain_kubectl_says_that_it_is_helms() -> None:
    assert "helm" not in (ROOT / "deploy/base/install.yaml").read_text().lower()


def objects(text: str) -> dict[tuple[str, str, str], Any]:
    """The objects by kind, name and namespace, without what is Helm's."""
    found = {}
    for item in filter(None, yaml.safe_load_all(text)):
        metadata = item["metadata"]
        metadata.get("labels", {}).pop("app.kubernetes.io/managed-by", None)
        metadata.get("annotations", {}).pop("helm.sh/resource-policy", None)
        found[item["kind"], metadata["name"], metadata.get("namespace", "")] = item
    return found


def test_an_image_that_kustomize_sets_is_everywhere_where_helm_would_set_it() -> None:
    kubectl = devcluster.binaries("kubectl")["kubectl"]
    built = subprocess.run(
        [kubectl, "kustomize", ROOT / "deploy/kustomize"], capture_output=True, text=True, check=True
    )
    by_kustomize = objects(built.stdout)
    namespace = by_kustomize.pop(("Namespace", "berth-system", ""))
    assert namespace["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "restricted"}
    by_helm = objects(render(CHART, "--skip-tests", "--set", "image.registry=registry.example.com"))
    assert by_kustomize == by_helm


def test_the_places_of_the_image_are_as_many_as_the_page_says() -> None:
    manifests = (ROOT / "deploy/base/install.yaml").read_text()
    page = (ROOT / "deploy/README.md").read_text()
    assert manifests.count("berth:0.1.0") == 5
    assert "which stands in five places" in page
    assert r"s|berth:0\.1\.0|" in page
