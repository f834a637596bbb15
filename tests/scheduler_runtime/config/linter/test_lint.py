"""What holds of every finding, whichever its code."""

from __future__ import annotations

import pytest

from scheduler_runtime import catalog, config
from scheduler_runtime.catalog import Target

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
VERSIONS = ("1.35", "1.36", "1.37")


def lint(text: str, version: str = "1.36", engine: config.Engine = "KubeScheduler") -> tuple[config.Finding, ...]:
    document = config.load(HEADER + text)
    assert isinstance(document, config.Document), document
    return config.lint(document, Target.parse(version), engine=engine)


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_said_of_the_default_document(version: str) -> None:
    assert lint("", version) == ()


def test_findings_come_in_the_order_of_the_document() -> None:
    text = """
clientConnection: {qps: 5}
profiles:
- schedulerName: a
- schedulerName: b
  pluginConfig: [{name: GangScheduling}]
  plugins: {multiPoint: {enabled: [{name: NodeAffinity}]}, score: {enabled: [{name: TaintToleration}]}}
"""
    assert [(finding.path, finding.code) for finding in lint(text) if finding.code != "SharedLeaseName"] == [
        ("clientConnection.qps", "TinyQPS"),
        ("profiles[1].plugins.score.enabled[0]", "WeightReset"),
        ("profiles[1].plugins.multiPoint.enabled[0]", "WeightReset"),
        ("profiles[1].pluginConfig[0]", "DisabledButConfigured"),
    ]


def test_an_allowed_code_is_kept_apart() -> None:
    findings = lint("clientConnection: {qps: 5}\nprofiles: [{plugins: {score: {enabled: [{name: NodeAffinity}]}}}]")
    kept, allowed = config.allowed(findings, {"TinyQPS"})
    assert [finding.code for finding in kept] == ["WeightReset"]
    assert [finding.code for finding in allowed] == ["TinyQPS"]


def test_a_profile_that_is_refused_is_judged_by_what_is_written() -> None:
    text = "profiles: [{plugins: {score: {enabled: [{name: NodeAffinity}, {name: NoSuchPlugin}]}}}]"
    assert [finding.code for finding in lint(text)] == ["WeightReset"]


def test_every_code_says_what_it_is_and_what_to_do() -> None:
    for name, code in config.CODES.items():
        assert name == code.name
        assert code.sentence.endswith(".")
        assert code.help.endswith(".")
        assert not code.since or code.since >= catalog.OLDEST
