"""Pages that come in the form in which they are asked for."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping

import pytest
import yaml

from scheduler_runtime.serving.https import ALPHA, BETA, About, Endpoints, ZPage, flagz, serving, statusz
from scheduler_runtime.serving.https.content_negotiation import AS_JSON, AS_YAML, PLAIN, Form, accepted

ABOUT = About("0.9", {"v": "2", "leader-elect": "true"}, started=1_700_000_000)
BOTH = (BETA, ALPHA)
FLAGZ = "g=config.k8s.io;as=Flagz"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("", PLAIN, id="nothing-is-text"),
        pytest.param("*/*", PLAIN, id="anything-is-text"),
        pytest.param("text/*;q=0.5", PLAIN, id="any-text"),
        pytest.param(f"application/json;v=v1beta1;{FLAGZ}", Form(AS_JSON, BETA), id="json"),
        pytest.param(f"application/*;v=v1beta1;{FLAGZ}", Form(AS_JSON, BETA), id="any-application-is-json"),
        pytest.param(
            f'application/yaml; v="v1alpha1"; {FLAGZ}', Form(AS_YAML, ALPHA), id="yaml-with-spaces-and-quotes"
        ),
        pytest.param(
            f"text/plain;q=0.2,application/json;v=v1beta1;{FLAGZ};q=0.9", Form(AS_JSON, BETA), id="by-quality"
        ),
        pytest.param(f"*/*,application/yaml;v=v1beta1;{FLAGZ}", Form(AS_YAML, BETA), id="the-exact-before-the-range"),
        pytest.param(f"application/json;v=v2;{FLAGZ},*/*", PLAIN, id="an-unknown-version-is-passed-over"),
        pytest.param("application/json;v=v1beta1;g=config.k8s.io;as=Statusz", None, id="another-kind"),
        pytest.param("application/json", None, id="json-of-no-kind"),
        pytest.param("application/xml,;,x", None, id="what-is-not-there-or-makes-no-sense"),
        pytest.param("text/plain;q=0", None, id="refused-by-who-asks"),
        pytest.param("text/plain;q=much", PLAIN, id="a-quality-that-is-none"),
    ],
)
def test_the_form_that_is_liked_best_is_chosen(header: str, expected: Form | None) -> None:
    assert accepted(header, "Flagz", BOTH) == expected


def test_flags_come_as_text_as_json_and_as_yaml() -> None:
    page = flagz(ABOUT, BOTH)
    assert page.answer("").body.endswith("\n\nleader-elect: true\nv: 2\n")
    made = {"kind": "Flagz", "apiVersion": "config.k8s.io/v1beta1", "metadata": {"name": "kube-scheduler"}}
    made["flags"] = {"v": "2", "leader-elect": "true"}
    assert json.loads(page.answer(f"application/json;v=v1beta1;{FLAGZ}").body) == made
    assert yaml.safe_load(page.answer(f"application/yaml;v=v1beta1;{FLAGZ}").body) == made


def test_what_runs_is_told_with_its_start_and_where_to_look() -> None:
    page = statusz(ABOUT, "1.36", ["/metrics/slis", "/metrics", "/livez"], BOTH)
    said = json.loads(page.answer("application/json;g=config.k8s.io;v=v1beta1;as=Statusz").body)
    assert said.pop("uptimeSeconds") > 0
    assert (said["startTime"], said["paths"]) == ("2023-11-14T22:13:20Z", ["/livez", "/metrics"])
    assert (said["binaryVersion"], said["emulationVersion"]) == ("0.9", "1.36")
    assert "Started: Tue Nov 14 22:13:20 UTC 2023\nUp: " in page.answer("").body


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        pytest.param(
            flagz(ABOUT, BOTH), '299 - "v1alpha1 of /flagz is deprecated; ask for v1beta1"', id="there-is-a-newer"
        ),
        pytest.param(flagz(ABOUT, (ALPHA,)), "", id="it-is-the-only-one"),
    ],
)
def test_who_asks_for_an_old_version_is_warned_where_there_is_a_newer(page: ZPage, expected: str) -> None:
    assert page.answer(f"application/json;v=v1alpha1;{FLAGZ}").warning == expected


def answered(port: int, headers: Mapping[str, str]) -> tuple[int, str | None, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/flagz", headers=dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.getheader("Warning"), answer.read().decode()
    finally:
        connection.close()


def test_over_http_the_headers_count() -> None:
    endpoints = Endpoints(negotiated=lambda: {"/flagz": flagz(ABOUT, BOTH)})
    with serving(endpoints, "127.0.0.1", 0) as port:
        status, warning, _ = answered(port, {"Accept": f"application/json;v=v1alpha1;{FLAGZ}"})
        assert (status, warning) == (200, '299 - "v1alpha1 of /flagz is deprecated; ask for v1beta1"')
        status, warning, body = answered(port, {"Accept": "application/xml"})
        assert (status, warning) == (406, None)
        told = "only the following media types are accepted: application/json, application/yaml, text/plain"
        assert json.loads(body)["message"] == told
    assert "/flagz" in endpoints.answer("/none").body
