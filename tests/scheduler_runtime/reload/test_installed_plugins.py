"""Plugins of installed distributions: which are loaded, and the problems of those that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler_runtime import config
from scheduler_runtime.app.main import main
from scheduler_runtime.config import Problems
from scheduler_runtime.reload.installed_plugins import explain_missing, load_installed
from tests.support.distributions import CODE, install

HEADER = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def document_text(profile: dict[str, Any]) -> str:
    return yaml.safe_dump({**HEADER, "profiles": [{"schedulerName": "cheap", **profile}]})


def enabling(*names: str) -> dict[str, Any]:
    return {"plugins": {"filter": {"enabled": [{"name": name} for name in names]}}}


def load(profile: dict[str, Any]) -> Any:
    document = config.load(document_text(profile))
    assert not isinstance(document, Problems), str(document)
    return load_installed(document)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param(enabling("PriceCap"), id="at-its-point"),
        pytest.param({"plugins": {"multiPoint": {"enabled": [{"name": "PriceCap"}]}}}, id="at-multi-point"),
        pytest.param({"pluginConfig": [{"name": "PriceCap", "args": {}}]}, id="by-its-arguments"),
    ],
)
def test_a_plugin_that_the_document_names_is_loaded(site: Path, profile: dict[str, Any]) -> None:
    install(site, "named-caps", PriceCap="PriceCap")
    assert [kind.__name__ for kind in load(profile).values()] == ["PriceCap"]


def test_what_the_document_does_not_name_is_not_imported(site: Path) -> None:
    install(site, "unused-caps", "raise SystemExit('it was imported')", PriceCap="PriceCap")
    assert load(enabling("NodeName")) == {}


@pytest.mark.parametrize(
    ("distribution", "code", "name", "value", "message"),
    [
        pytest.param(
            "lacking-caps",
            "import prices_of_nobody",
            "PriceCap",
            "PriceCap",
            "lacking_caps:PriceCap of lacking-caps 1.0 cannot be imported: "
            "ModuleNotFoundError: No module named 'prices_of_nobody'",
            id="import-error",
        ),
        pytest.param(
            "flawed-caps",
            f"{CODE}    events = ('Node',)",
            "PriceCap",
            "PriceCap",
            "flawed_caps:PriceCap of flawed-caps 1.0: events[0] is 'Node', not a ClusterEvent; write ClusterEvent(…)",
            id="flawed",
        ),
        pytest.param(
            "ending-caps",
            "raise SystemExit(3)",
            "PriceCap",
            "PriceCap",
            "ending_caps:PriceCap of ending-caps 1.0 cannot be imported: SystemExit: 3",
            id="exit",
        ),
        pytest.param(
            "function-caps",
            "def PriceCap(): ...",
            "PriceCap",
            "PriceCap",
            "expected a class of a scheduler_runtime.api.Plugin",
            id="no-class",
        ),
        pytest.param(
            "renamed-caps",
            CODE,
            "CostCap",
            "PriceCap",
            "renamed_caps:PriceCap of renamed-caps 1.0 calls itself PriceCap; let the entry point and the class have "
            "the same name",
            id="another-name",
        ),
        pytest.param(
            "in-tree-caps",
            CODE,
            "NodeName",
            "PriceCap",
            "in_tree_caps:PriceCap of in-tree-caps 1.0 offers it, but Kubernetes has a plugin of that name",
            id="a-name-of-ours",
        ),
        pytest.param(
            "upstream-caps",
            CODE,
            "VolumeZone",
            "PriceCap",
            "Kubernetes has a plugin of that name; give yours another",
            id="a-name-of-kubernetes",
        ),
    ],
)
def test_what_cannot_be_used_is_a_problem(
    site: Path, distribution: str, code: str, name: str, value: str, message: str
) -> None:
    install(site, distribution, code, **{name: value})
    (problem,) = load(enabling(name))
    assert problem.path == f"plugin {name}"
    assert message in problem.message


def test_two_distributions_cannot_offer_the_same_name(site: Path) -> None:
    install(site, "one-cap", PriceCap="PriceCap")
    install(site, "two-cap", PriceCap="PriceCap")
    assert str(load(enabling("PriceCap"))) == (
        "plugin PriceCap: one_cap:PriceCap of one-cap 1.0 and two_cap:PriceCap of two-cap 1.0 offer it; "
        "uninstall all but one of them"
    )


def test_a_scheduler_that_cannot_load_a_plugin_ends_with_a_sentence(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(site, "broken-caps", "import prices_of_nobody", PriceCap="PriceCap")
    document = site / "config.yaml"
    document.write_text(document_text(enabling("PriceCap")))
    assert main(["--config", str(document)]) == 1
    assert capsys.readouterr().err.startswith(f"{document}: plugin PriceCap: broken_caps:PriceCap of broken-caps 1.0")


@pytest.mark.parametrize(
    ("spelling", "words"),
    [
        ("namedcap", "; did you mean NamedCap?"),
        ("NamedCap2", "; did you mean NamedCap?"),
        ("Coscheduling", "; install its package"),
    ],
)
def test_a_plugin_that_is_not_installed_is_a_problem_that_names_those_that_are(
    site: Path, spelling: str, words: str
) -> None:
    install(site, "named-caps", NamedCap="PriceCap")
    document = config.load(document_text(enabling(spelling)))
    assert not isinstance(document, Problems)
    sentence = explain_missing(document, ())[spelling]
    assert sentence.startswith(f"{spelling} is neither a plugin of Kubernetes nor installed{words} ")
    assert "named_caps:PriceCap of named-caps 1.0" in sentence


def test_a_misspelt_plugin_of_kubernetes_is_left_to_who_knows_its_place() -> None:
    document = config.load(document_text(enabling("NodeAfinity")))
    assert not isinstance(document, Problems)
    assert not explain_missing(document, ())


def test_a_plugin_that_comes_from_elsewhere_need_not_be_installed() -> None:
    document = config.load(document_text(enabling("Coscheduling")))
    assert not isinstance(document, Problems)
    assert not explain_missing(document, {"Coscheduling"})
