"""Tokens of a pod's own ServiceAccount, bound to the pod, and the kubeconfig that uses one."""

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path

from devcluster.node.api import ApiError, NodeApi, Object
from devcluster.node.clock import Backoff
from devcluster.node.objects import NotReadYet
from devcluster.node.volumes import TokenKind, sources, token_kind

logger = logging.getLogger(__name__)


class Tokens:
    """The current tokens of one pod."""

    def __init__(self, api: NodeApi, pod: Object, refresh_at: float) -> None:
        self._api = api
        self._pod = pod
        self._refresh_at = refresh_at
        every = [part for volume in pod["spec"].get("volumes", []) for part in sources(volume)]
        self._kinds = {token_kind(source) for kind, source in every if kind == "serviceAccountToken"}
        self._values: dict[TokenKind, str] = {}

    def get(self, kind: TokenKind) -> str:
        """The current token. Raises NotReadYet before the first one was issued."""
        if kind not in self._values:
            raise NotReadYet("the ServiceAccount token has not been issued yet")
        return self._values[kind]

    async def keep_fresh(self, changed: Callable[[], None], trouble: Callable[[str], None]) -> None:
        """Request the tokens, and new ones when most of their life is over; call ``changed`` each time."""
        async with asyncio.TaskGroup() as group:
            for kind in self._kinds:
                group.create_task(self._keep_one_fresh(kind, changed, trouble))

    async def _keep_one_fresh(
        self, kind: TokenKind, changed: Callable[[], None], trouble: Callable[[str], None]
    ) -> None:
        metadata, account = self._pod["metadata"], self._pod["spec"]["serviceAccountName"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "audiences": [kind.audience] if kind.audience else [],
                "expirationSeconds": kind.seconds,
                "boundObjectRef": bound,  # the token is void as soon as the pod is deleted
            },
        }
        path = f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token"
        backoff = Backoff(0.2, 10)
        while True:
            try:
                answer = await self._api.post(path, request)
            except ApiError as error:
                trouble(f"no token for the pod's ServiceAccount: {error}")
                await asyncio.sleep(max(backoff.next(), error.retry_after))
                continue
            self._values[kind] = answer["status"]["token"]
            backoff.reset()
            changed()
            await asyncio.sleep(float(answer["spec"]["expirationSeconds"]) * self._refresh_at)


def kubeconfig(server: str, ca_file: Path, token_file: Path, namespace: str) -> str:
    """A kubeconfig that reads its token from ``token_file`` each time, so that it outlives every single token."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "pod",
            "clusters": [{"name": "pod", "cluster": {"server": server, "certificate-authority": str(ca_file)}}],
            "users": [{"name": "pod", "user": {"tokenFile": str(token_file)}}],
            "contexts": [{"name": "pod", "context": {"cluster": "pod", "user": "pod", "namespace": namespace}}],
        },
        indent=2,
    )
