"""Pages that come in the form in which they are asked for."""

from __future__ import annotations

import json

import pytest
import yaml

from scheduler_runtime.component.https import ALPHA, BETA, Endpoints, ProcessInfo, ZPage, flagz, serve, statusz
from scheduler_runtime.component.https.zpages import AS_JSON, AS_YAML, PLAIN, Representation, negotiate
from tests.support.pages import get_page

INFO = ProcessInfo("0.9", {"v": "2", "leader-elect": "true"}, started=1_700_000_000)
BOTH = (BETA, ALPHA)
FLAGZ = "g=config.k8s.io;as=Flagz"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("", PLAIN, id="nothing-is-text"),
        pytest.param("*/*", PLAIN, id="anything-is-text"),
        pytest.param("text/*;q=0.5", PLAIN, id="any-text"),
        pytest.param(f"application/json;v=v1beta1;{FLAGZ}", Representation(AS_JSON, BETA), id="json"),
        pytest.param(f"application/*;v=v1beta1;{FLAGZ}", Representation(AS_JSON, BETA), id="any-application-is-json"),
        pytest.param(
            f'application/yaml; v="v1alpha1"; {FLAGZ}', Representation(AS_YAML, ALPHA), id="yaml-with-spaces-and-quotes"
        ),
        pytest.param(
            f"text/plain;q=0.2,application/json;v=v1beta1;{FLAGZ};q=0.9", Representation(AS_JSON, BETA), id="by-quality"
        ),
        pytest.param(
            f"*/*,application/yaml;v=v1beta1;{FLAGZ}", Representation(AS_YAML, BETA), id="the-exact-before-the-range"
        ),
        pytest.param(f"application/json;v=v2;{FLAGZ},*/*", PLAIN, id="an-unknown-version-is-passed-over"),
        pytest.param("application/json;v=v1beta1;g=config.k8s.io;as=Statusz", None, id="another-kind"),
        pytest.param("application/json", None, id="json-of-no-kind"),
        pytest.param("application/xml,;,x", None, id="what-is-not-there-or-makes-no-sense"),
        pytest.param("text/plain;q=0", None, id="refused-by-who-asks"),
        pytest.param("text/plain;q=much", PLAIN, id="a-quality-that-is-none"),
    ],
)
def test_the_preferred_representation(header: str, expected: Representation | None) -> None:
    assert negotiate(header, "Flagz", BOTH) == expected


def test_flags_come_as_text_as_json_and_as_yaml() -> None:
    page = flagz(INFO, BOTH)
    assert page.respond("").body.endswith("\n\nleader-elect: true\nv: 2\n")
    content = {"kind": "Flagz", "apiVersion": "config.k8s.io/v1beta1", "metadata": {"name": "kube-scheduler"}}
    content["flags"] = {"v": "2", "leader-elect": "true"}
    assert json.loads(page.respond(f"application/json;v=v1beta1;{FLAGZ}").body) == content
    assert yaml.safe_load(page.respond(f"application/yaml;v=v1beta1;{FLAGZ}").body) == content


def test_statusz_has_the_start_and_the_other_paths() -> None:
    page = statusz(INFO, "1.36", ["/metrics/slis", "/metrics", "/livez"], BOTH)
    status = json.loads(page.respond("application/json;g=config.k8s.io;v=v1beta1;as=Statusz").body)
    assert status.pop("uptimeSeconds") > 0
    assert (status["startTime"], status["paths"]) == ("2023-11-14T22:13:20Z", ["/livez", "/metrics"])
    assert (status["binaryVersion"], status["emulationVersion"]) == ("0.9", "1.36")
    assert "Started: Tue Nov 14 22:13:20 UTC 2023\nUp: " in page.respond("").body


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        pytest.param(
            flagz(INFO, BOTH), '299 - "v1alpha1 of /flagz is deprecated; ask for v1beta1"', id="there-is-a-newer"
        ),
        pytest.param(flagz(INFO, (ALPHA,)), "", id="it-is-the-only-one"),
    ],
)
def test_who_asks_for_an_old_version_is_warned_where_there_is_a_newer(page: ZPage, expected: str) -> None:
    assert page.respond(f"application/json;v=v1alpha1;{FLAGZ}").headers.get("Warning", "") == expected


def test_over_http_the_headers_count() -> None:
    endpoints = Endpoints(negotiated=lambda: {"/flagz": flagz(INFO, BOTH)})
    with serve(endpoints, "127.0.0.1", 0) as port:
        page = get_page(port, "/flagz", {"Accept": f"application/json;v=v1alpha1;{FLAGZ}"}, scheme="http")
        assert (page.status, page.warning) == (200, '299 - "v1alpha1 of /flagz is deprecated; ask for v1beta1"')
        page = get_page(port, "/flagz", {"Accept": "application/xml"}, scheme="http")
        assert (page.status, page.warning) == (406, "")
        message = "only the following media types are accepted: application/json, application/yaml, text/plain"
        assert json.loads(page.body)["message"] == message
    assert "/flagz" in endpoints.respond("/none").body
