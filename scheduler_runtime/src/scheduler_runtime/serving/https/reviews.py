"""What the API server says about those who ask: TokenReview and SubjectAccessReview."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

from scheduler_runtime.kube.blocking_client import RequestFailedError, request
from scheduler_runtime.kube.credentials import Credentials, CredentialsError
from scheduler_runtime.kube.log_once import LogOnce
from scheduler_runtime.serving.https.access import Caller, ReviewError

logger = logging.getLogger(__name__)

AUTHENTICATED = "system:authenticated"


class Reviews:
    """Asks the API server, each time anew."""

    def __init__(
        self, authentication: Callable[[], Credentials], authorization: Callable[[], Credentials], user_agent: str
    ) -> None:
        """The credentials are loaded when they are first needed; loading may raise CredentialsError."""
        self._authentication = _Once(authentication)
        self._authorization = _Once(authorization)
        self._user_agent = user_agent
        self._trouble = LogOnce(logger)

    def caller(self, token: str) -> Caller | None:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        said = self._ask(self._authentication, "/apis/authentication.k8s.io/v1/tokenreviews", review)
        if not said.get("authenticated"):
            return None
        user = said.get("user") or {}
        groups = [str(each) for each in user.get("groups") or ()]
        if AUTHENTICATED not in groups:
            groups.append(AUTHENTICATED)
        return Caller(
            str(user.get("username", "")), tuple(groups), str(user.get("uid", "")), dict(user.get("extra") or {})
        )

    def allows(self, caller: Caller, verb: str, path: str) -> tuple[bool, str]:
        spec = {
            "user": caller.name,
            "groups": list(caller.groups),
            "uid": caller.uid,
            "extra": dict(caller.extra),
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        said = self._ask(self._authorization, "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
        return bool(said.get("allowed")), str(said.get("reason", ""))

    def _ask(self, credentials: _Once, path: str, review: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = json.loads(request(credentials.get(), "POST", path, review, user_agent=self._user_agent))
            status = dict(answer["status"])
        except (RequestFailedError, CredentialsError) as error:
            self._trouble.failing(f"who asks for the endpoints cannot be found out by {review['kind']}", str(error))
            raise ReviewError(f"{review['kind']} failed") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ReviewError(f"the answer to a {review['kind']} is none") from error
        self._trouble.recovered()
        return status


class _Once:
    """Credentials that are loaded when they are first needed."""

    def __init__(self, load: Callable[[], Credentials]) -> None:
        self._load = load
        self._loaded: Credentials | None = None

    def get(self) -> Credentials:
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded
