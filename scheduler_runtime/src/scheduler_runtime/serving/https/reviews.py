"""TokenReview and SubjectAccessReview requests to the API server, which identify callers and check their rights."""

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


class ApiServerReviews:
    """Sends one request for each review; nothing is cached here."""

    def __init__(
        self, authentication: Callable[[], Credentials], authorization: Callable[[], Credentials], user_agent: str
    ) -> None:
        """Both load credentials; each is called before the first request that needs it, may raise CredentialsError."""
        self._load = {"TokenReview": authentication, "SubjectAccessReview": authorization}
        self._credentials: dict[str, Credentials] = {}
        self._user_agent = user_agent
        self._trouble = LogOnce(logger)

    def caller(self, token: str) -> Caller | None:
        """Return the owner of ``token``, None if nobody's. Raises ReviewError."""
        status = self._review("authentication.k8s.io/v1", "TokenReview", {"token": token})
        if not status.get("authenticated"):
            return None
        user = status.get("user") or {}
        groups = [str(group) for group in user.get("groups") or ()]
        # Authenticators may leave the group out; apiserver adds it, too (NewAuthenticatedGroupAdder).
        if AUTHENTICATED not in groups:
            groups.append(AUTHENTICATED)
        return Caller(
            str(user.get("username", "")), tuple(groups), str(user.get("uid", "")), dict(user.get("extra") or {})
        )

    def allows(self, caller: Caller, verb: str, path: str) -> tuple[bool, str]:
        """Return whether ``caller`` may, and the reason if the API server gives one. Raises ReviewError."""
        spec = {
            "user": caller.name,
            "groups": list(caller.groups),
            "uid": caller.uid,
            "extra": dict(caller.extra),
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        status = self._review("authorization.k8s.io/v1", "SubjectAccessReview", spec)
        return bool(status.get("allowed")), str(status.get("reason", ""))

    def _review(self, api_version: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        """Send a review and return its status. Raises ReviewError."""
        path = f"/apis/{api_version}/{kind.lower()}s"
        review = {"apiVersion": api_version, "kind": kind, "spec": spec}
        try:
            if kind not in self._credentials:
                self._credentials[kind] = self._load[kind]()
            payload = request(self._credentials[kind], "POST", path, review, user_agent=self._user_agent)
            status = dict(json.loads(payload)["status"])
        except (RequestFailedError, CredentialsError) as error:
            self._trouble.failing(f"callers of the endpoints cannot be identified by {kind}", str(error))
            raise ReviewError(f"{kind} failed") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ReviewError(f"the response to a {kind} is malformed") from error
        self._trouble.recovered()
        return status
