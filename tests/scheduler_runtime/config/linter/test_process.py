"""Settings of the whole process, and extenders."""

from __future__ import annotations

import pytest

from tests.support.linting import extender, lint, places

FILTERS = "filterVerb: f, ignorable: true"
PROCESS = {
    "shared-lease": ("profiles: [{schedulerName: b}]", ["SharedLeaseName leaderElection.resourceName"]),
    "the-default-one": ("profiles: [{schedulerName: b}, {schedulerName: default-scheduler}]", []),
    "no-election": ("leaderElection: {leaderElect: false}\nprofiles: [{schedulerName: b}]", []),
    "another-namespace": ("leaderElection: {resourceNamespace: b}\nprofiles: [{schedulerName: b}]", []),
    "deadline": (
        "leaderElection: {renewDeadline: 6s, retryPeriod: 5s}",
        ["RenewDeadlineTooShort leaderElection.renewDeadline"],
    ),
    "deadline-just-long-enough": ("leaderElection: {renewDeadline: 6001ms, retryPeriod: 5s}", []),
    "deadline-unused": ("leaderElection: {leaderElect: false, renewDeadline: 1s, retryPeriod: 5s}", []),
    "lease-of-a-century": (
        "leaderElection: {leaseDuration: 876000h}",
        ["LeaseDurationOutOfRange leaderElection.leaseDuration"],
    ),
    "lease-of-less-than-a-second": (
        "leaderElection: {leaseDuration: 999ms, renewDeadline: 900ms, retryPeriod: 100ms}",
        ["LeaseDurationOutOfRange leaderElection.leaseDuration"],
    ),
    "longest-lease": ("leaderElection: {leaseDuration: 2147483647s}", []),
    "lease-unused": ("leaderElection: {leaderElect: false, leaseDuration: 876000h}", []),
    "qps": ("clientConnection: {qps: 49.5}", ["TinyQPS clientConnection.qps"]),
    "qps-unlimited": ("clientConnection: {qps: -1, burst: 0}", []),
    "qps-zero": ("clientConnection: {qps: 0}", ["ZeroMeansDefault clientConnection.qps"]),
    "burst-zero": ("clientConnection: {burst: 0}", ["ZeroMeansDefault clientConnection.burst"]),
    "media-type": ("clientConnection: {contentType: text/json}", ["UnknownContentType clientConnection.contentType"]),
    "media-type-with-parameter": ("clientConnection: {contentType: application/json; charset=utf-8}", []),
    "lock": (
        "leaderElection: {leaderElect: false, resourceLock: endpoints}",
        ["DeprecatedField leaderElection.resourceLock"],
    ),
    "few-nodes": ("percentageOfNodesToScore: 9", ["PercentageTooLow percentageOfNodesToScore"]),
    "enough-nodes": ("percentageOfNodesToScore: 10", []),
    "few-nodes-of-a-profile": (
        "profiles: [{percentageOfNodesToScore: 1}]",
        ["PercentageTooLow percentageOfNodesToScore"],
    ),
    "few-nodes-of-nobody": (
        "percentageOfNodesToScore: 1\nprofiles: [{percentageOfNodesToScore: 40}]",
        ["ConfiguredTwice percentageOfNodesToScore"],
    ),
}
EXTENDERS = {
    "no-ca": (
        f"urlPrefix: 'https://a', enableHTTPS: true, {FILTERS}",
        ["ExtenderUnverifiedTLS extenders[0].enableHTTPS"],
    ),
    "insecure": (
        f"urlPrefix: 'https://a', tlsConfig: {{insecure: true}}, {FILTERS}",
        ["ExtenderUnverifiedTLS extenders[0].tlsConfig.insecure"],
    ),
    "ca": (f"urlPrefix: 'https://a', enableHTTPS: true, tlsConfig: {{caFile: /etc/ca.crt}}, {FILTERS}", []),
    "password": (f"urlPrefix: 'https://a:b@c', {FILTERS}", ["ExtenderPasswordInURL extenders[0].urlPrefix"]),
    "name-alone": (f"urlPrefix: 'http://token@c/path@x', {FILTERS}", ["ExtenderPasswordInURL extenders[0].urlPrefix"]),
    "at-in-the-path": (f"urlPrefix: 'http://c/path@x', {FILTERS}", []),
    "key-without-certificate": (
        f"urlPrefix: 'https://a', tlsConfig: {{keyFile: /etc/a.key}}, {FILTERS}",
        ["ExtenderHalfKeyPair extenders[0].tlsConfig"],
    ),
    "key-pair": (f"urlPrefix: 'https://a', tlsConfig: {{keyFile: /etc/a.key, certFile: /etc/a.crt}}, {FILTERS}", []),
    "https-by-address": (f"urlPrefix: 'https://a', {FILTERS}", []),
    "http-after-all": (
        f"urlPrefix: 'http://a', enableHTTPS: true, tlsConfig: {{caFile: /etc/ca.crt}}, {FILTERS}",
        ["ExtenderPlainHTTP extenders[0].urlPrefix"],
    ),
    "no-address": (f"urlPrefix: '', {FILTERS}", ["ExtenderBadURL extenders[0].urlPrefix"]),
    "broken-address": (f"urlPrefix: 'http://[a', {FILTERS}", ["ExtenderBadURL extenders[0].urlPrefix"]),
    "no-verb": ("urlPrefix: 'http://a'", ["ExtenderWithoutVerb extenders[0]"]),
    "no-timeout": (
        f"urlPrefix: 'http://a', httpTimeout: -5s, {FILTERS}",
        ["ExtenderNoTimeout extenders[0].httpTimeout"],
    ),
    "not-ignorable": ("urlPrefix: 'http://a', filterVerb: f", ["ExtenderNotIgnorable extenders[0].ignorable"]),
    "only-scoring": ("urlPrefix: 'http://a', prioritizeVerb: p, weight: 1", []),
    "only-its-resource": ("urlPrefix: 'http://a', filterVerb: f, managedResources: [{name: example.com/a}]", []),
    "itself": (
        "urlPrefix: 'http://a.b.svc.cluster.local/x', bindVerb: b",
        ["ExtenderSchedulesItself extenders[0].ignorable"],
    ),
    "beside": ("urlPrefix: 'http://127.0.0.1:99', bindVerb: b", ["ExtenderNotIgnorable extenders[0].ignorable"]),
}


@pytest.mark.parametrize(("text", "expected"), PROCESS.values(), ids=PROCESS)
def test_process(text: str, expected: list[str]) -> None:
    assert places(text) == expected


@pytest.mark.parametrize(("text", "expected"), EXTENDERS.values(), ids=EXTENDERS)
def test_extenders(text: str, expected: list[str]) -> None:
    assert places(extender(text)) == expected


def test_an_extender_of_a_second_scheduler_is_placed_by_the_first() -> None:
    reported = places(extender("urlPrefix: 'http://a.b.svc', bindVerb: b", name="second"))
    assert reported == ["ExtenderNotIgnorable extenders[0].ignorable"]


def test_a_low_percentage_says_how_many_nodes_that_are() -> None:
    finding = lint("percentageOfNodesToScore: 8")[0]
    assert finding.message == "at 8 percent the search ends after 160 of 2000 nodes; left out it would be 680"
