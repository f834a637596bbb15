"""Credentials: the API server's address, and tokens that change while the process runs."""

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from scheduler_operator.cluster import credentials
from scheduler_operator.cluster.credentials import REREAD_SECONDS, Credentials, expiry
from scheduler_runtime.kube.credentials import CredentialsError
from tests.scheduler_operator.builders import kubeconfig


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_replaced_token_is_noticed_within_a_minute(tmp_path: Path) -> None:
    clock = Clock()
    result = Credentials(kubeconfig(tmp_path, "http://127.0.0.1:1/"), clock)
    assert result.configuration.host == "http://127.0.0.1:1"
    (tmp_path / "token").write_text("second")
    assert result.token == "first"
    clock.now = REREAD_SECONDS
    assert result.token == "second"


def test_a_refused_token_is_read_again_at_once(tmp_path: Path) -> None:
    result = Credentials(kubeconfig(tmp_path, "http://127.0.0.1:1/"), Clock())
    (tmp_path / "token").write_text("second")
    result.reread_soon()
    assert result.token == "second"


def test_a_token_stays_in_use_while_its_file_is_away(tmp_path: Path) -> None:
    clock = Clock()
    result = Credentials(kubeconfig(tmp_path, "http://127.0.0.1:1/"), clock)
    (tmp_path / "token").unlink()
    clock.now = REREAD_SECONDS
    assert result.token == "first"
    (tmp_path / "token").write_text("second")
    assert result.token == "second"


def test_no_credentials_is_a_sentence_that_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(credentials, "IN_CLUSTER", tmp_path / "absent")
    with pytest.raises(CredentialsError, match="give --kubeconfig"):
        Credentials(str(tmp_path / "no-such-file"))


def jwt(claims: dict[str, Any]) -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'RS256'})}.{part(claims)}.signature"


@pytest.mark.parametrize(
    ("token", "end"),
    [
        pytest.param(lambda: jwt({"exp": 1767225600}), datetime(2026, 1, 1, tzinfo=UTC), id="a-service-accounts"),
        pytest.param(lambda: jwt({"sub": "me"}), None, id="without-an-end"),
        pytest.param(lambda: "opaque", None, id="not-a-jwt"),
        pytest.param(lambda: "a.!.c", None, id="nonsense"),
        pytest.param(lambda: "", None, id="none"),
    ],
)
def test_the_end_of_a_token(token: Callable[[], str], end: datetime | None) -> None:
    assert expiry(token()) == end
