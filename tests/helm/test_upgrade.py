"""docs/upgrade.md, followed to the letter: from the chart of an early commit to this one, back, and gone."""

import shlex
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import yaml

import devcluster
from devcluster import Cluster, Spec
from devcluster.model.api import AdminApi
from scheduler_operator.models.schema_revision import REVISION
from tests.support.eventually import eventually
from tests.support.reading import get_or_none

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "berth-system"
EARLY = "1f56535a3bcde47b7f6980da2a03fa3551084385"
"""The first commit with a chart. Its operator runs with today's dependencies."""
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PROFILES = "/apis/berth.dev/v1alpha1/schedulerprofiles"
NAMES = ("schedulerprofiles.berth.dev", "pluginconfigs.berth.dev")
PROGRAM = """\
#!/bin/sh
PYTHONPATH={tree}/operator/src:{tree}/scheduler_runtime/src exec {python} -m scheduler_operator "$@"
"""

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def early(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree of the early commit."""
    archive = subprocess.run(["git", "archive", EARLY], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"this clone does not have commit {EARLY}")
    tree = tmp_path_factory.mktemp("early")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(tree, filter="data")
    program = tree / "bin/berth-operator"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(tree=shlex.quote(str(tree)), python=shlex.quote(sys.executable)))
    program.chmod(0o755)
    return tree


@dataclass(frozen=True)
class Installation:
    """A cluster, and the commands of the page."""

    cluster: Cluster
    api: AdminApi

    def run(self, command: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command of the page, in the clone."""
        helm, kubectl = (str(devcluster.binaries(name)[name].parent) for name in ("helm", "kubectl"))
        environment = {**self.cluster.env(), "PATH": f"{helm}:{kubectl}:/usr/bin:/bin"}
        ran = subprocess.run(
            shlex.split(command, comments=True), cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert not check or ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
        return ran

    def get(self, path: str) -> Any:
        return get_or_none(self.api, path)

    def ready(self, profile: str) -> str:
        """The message of Ready when it is true, else empty."""
        status = (self.get(f"{PROFILES}/{profile}") or {}).get("status", {})
        ready: dict[str, Any] = next((c for c in status.get("conditions", []) if c["type"] == "Ready"), {})
        return str(ready["message"]) if ready.get("status") == "True" else ""

    def annotations(self, crd: str) -> dict[str, str]:
        return dict(self.get(f"{CRDS}/{crd}")["metadata"].get("annotations", {}))

    def image(self) -> str:
        """The image of the operator's Deployment."""
        deployment = self.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/berth-operator")
        return str(deployment["spec"]["template"]["spec"]["containers"][0]["image"])

    def policies(self) -> set[str]:
        items = self.api.get("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies")["items"]
        return {item["metadata"]["name"] for item in items}

    def apply(self, name: str) -> None:
        """Apply a profile that is only rendered."""
        manifest = {"apiVersion": "berth.dev/v1alpha1", "kind": "SchedulerProfile", "metadata": {"name": name}}
        text = yaml.safe_dump({**manifest, "spec": {"engine": "ConfigMap"}})
        self.cluster.kubectl("apply", "--server-side", "-f", "-", input=text)


@pytest.fixture(scope="module")
def here(early: Path) -> Iterator[Installation]:
    images = {"berth:early": [str(early / "bin/python")], "berth:0.1.0": [sys.executable]}
    with (
        devcluster.running(Spec(images=images)) as cluster,
        AdminApi(cluster.server, cluster.ca, cluster.token) as api,
    ):
        yield Installation(cluster, api)


@pytest.fixture(scope="module")
def page() -> dict[str, list[list[str]]]:
    """The commands of docs/upgrade.md: for each heading its blocks."""
    found: dict[str, list[list[str]]] = {}
    for section in (ROOT / "docs/upgrade.md").read_text().split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        blocks = [block.partition("```")[0].strip().splitlines() for block in text.split("```sh\n")[1:]]
        found[heading] = blocks
    return found


def test_the_page_fits_on_two_screens() -> None:
    assert len((ROOT / "docs/upgrade.md").read_text().splitlines()) <= 80


def test_from_an_early_chart_to_this_one_and_back(
    here: Installation, early: Path, page: dict[str, list[list[str]]]
) -> None:
    (upgrade, by_kubectl, hand_over), (rollback,), (uninstall,) = (
        page[heading] for heading in ("Upgrade", "Rollback", "Uninstall")
    )

    def follow(commands: list[str]) -> None:
        for command in commands:
            here.run(command)

    # As its README said: the CRDs by kubectl, and then the chart.
    here.run(f"kubectl apply --server-side -f {early}/crds/")
    values = "--set image.repository=berth,image.tag=early,replicas=1,logLevel=3"
    here.run(f"helm install berth {early}/helm/berth --namespace {NAMESPACE} --create-namespace --wait {values}")
    here.apply("kept")
    eventually(lambda: here.ready("kept"), 60)
    uid = here.get(f"{PROFILES}/kept")["metadata"]["uid"]

    # Helm does not go on with older CRDs, nor without the new values.
    refused = here.run(upgrade[0], check=False)
    assert "is older than this chart, and was not made by release berth: apply the files in crds/" in refused.stderr
    follow(by_kubectl)
    refused = here.run(upgrade[0].replace("--reset-then-reuse-values", "--reuse-values"), check=False)
    assert "--reset-then-reuse-values instead of --reuse-values" in refused.stderr
    assert here.image() == "berth:early"

    follow(upgrade)
    assert here.image() == "berth:0.1.0"
    assert "helm.sh/resource-policy" not in here.annotations(NAMES[0])  # they are still kubectl's
    fresh = here.run(f"helm template berth helm/berth --namespace {NAMESPACE}").stdout
    made = [item for item in yaml.safe_load_all(fresh) if item and item["kind"] == "ValidatingAdmissionPolicy"]
    assert here.policies() == {item["metadata"]["name"] for item in made}
    values = here.run(f"helm get values berth --namespace {NAMESPACE}").stdout
    assert yaml.safe_load(values.partition("\n")[2])["logLevel"] == 3
    here.apply("made-after")
    eventually(lambda: here.ready("kept") and here.ready("made-after"), 60)

    follow(hand_over)
    follow(upgrade)
    for name in NAMES:
        assert here.annotations(name)["helm.sh/resource-policy"] == "keep"
        assert here.annotations(name)["berth.dev/schema-revision"] == str(REVISION)

    # Back to the release before, and to the early one, which had no CRDs: the newer ones stay, and serve its operator.
    follow(rollback)
    here.run(f"{rollback[-1]} 1")
    assert here.image() == "berth:early"
    here.apply("made-before")
    eventually(lambda: here.ready("kept") and here.ready("made-before"), 60)
    assert here.annotations(NAMES[0])["berth.dev/schema-revision"] == str(REVISION)

    follow(upgrade)
    eventually(lambda: here.ready("kept") and here.ready("made-before"), 60)
    assert here.get(f"{PROFILES}/kept")["metadata"]["uid"] == uid

    # Gone: first the profiles, or the CRD stays.
    refusal = "exists, and would be deleted with the CRD"
    eventually(lambda: refusal in here.run(f"{uninstall[-1]} --dry-run=server", check=False).stderr, 60)
    follow(uninstall)
    assert [here.get(f"{CRDS}/{name}") for name in NAMES] == [None, None]
    assert here.policies() == set()


def test_without_crds_helm_says_so_before_anything_is_made(here: Installation) -> None:
    command = f"helm install berth helm/berth --namespace {NAMESPACE} --set crds.enabled=false --wait"
    refused = here.run(command, check=False)
    assert refused.returncode != 0
    assert "is missing and crds.enabled is false: apply the files in crds/ of this version first" in refused.stderr
    assert here.policies() == set()


def test_the_chart_alone_is_enough_and_takes_its_crds_along_where_they_are_not_kept(here: Installation) -> None:
    values = "--set image.tag=0.1.0,replicas=1,crds.keep=false"
    here.run(f"helm install berth helm/berth --namespace {NAMESPACE} --wait {values}")
    here.run(f"helm test berth --namespace {NAMESPACE}")
    here.apply("last")
    eventually(lambda: here.ready("last"), 60)
    here.run("kubectl delete schedulerprofiles --all")
    may_go = "kubectl delete crd schedulerprofiles.berth.dev --dry-run=server"
    eventually(lambda: here.run(may_go, check=False).returncode == 0, 60)
    here.run(f"helm uninstall berth --namespace {NAMESPACE} --wait")
    eventually(lambda: [here.get(f"{CRDS}/{name}") for name in NAMES] == [None, None], 60)


def test_without_helm_the_manifests_are_enough(here: Installation) -> None:
    text = (ROOT / "deploy/README.md").read_text()
    (install,), (by_sed, by_kustomize), uninstall = (
        block.partition("```")[0].strip().splitlines() for block in text.split("```sh\n")[1:]
    )
    here.run(install)
    here.apply("plain")
    eventually(lambda: here.ready("plain"), 60)
    for command in (by_sed, by_kustomize):
        here.run(install)
        assert here.image() == "berth:0.1.0"
        here.run(f"bash -c {shlex.quote(command)}")
        assert here.image() == "registry.example.com/berth:0.1.0"
    for command in uninstall:
        here.run(f"bash -c {shlex.quote(command)}")
    assert here.policies() == set()
    assert [here.get(f"{CRDS}/{name}") for name in NAMES] == [None, None]
