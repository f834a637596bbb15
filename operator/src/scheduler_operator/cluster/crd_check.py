"""Check of the CRDs in the cluster: an older one refuses what this version writes, or drops it."""

import logging
from collections.abc import Iterator, Mapping
from http import HTTPStatus

from scheduler_operator.cluster.api import METADATA_ONLY, ApiConnection, RequestError
from scheduler_operator.models.schema_revision import REVISION
from scheduler_operator.resources import kinds
from scheduler_operator.resources.names import SCHEMA_ANNOTATION

logger = logging.getLogger(__name__)

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
REMEDY = "apply the files in crds/ of this version, or upgrade the chart with crds.enabled=true"


class CrdCheck:
    """What is wrong with our two CRDs, as far as is known."""

    def __init__(self, api: ApiConnection) -> None:
        self.remark = ""
        """A sentence for statuses and ``/readyz``; empty while nothing is wrong."""
        self._api = api
        self._unseen = ""

    async def check(self) -> str:
        """Look at both CRDs, and return the remark. It stays as it is while they cannot be read."""
        try:
            revisions = {kind.definition: await self._revision(kind) for kind in (kinds.PROFILE, kinds.PLUGIN_CONFIG)}
        except RequestError as error:
            # Without an answer everything else of the operator waits, too, and says so.
            if error.status == HTTPStatus.FORBIDDEN and self._unseen != str(error):
                logger.warning("cannot see whether the CRDs are those of this version: %s", error)
                self._unseen = str(error)
            return self.remark
        self.remark = "; ".join(problems(revisions))
        return self.remark

    async def _revision(self, kind: kinds.ResourceKind) -> int | None:
        """Return the revision of a CRD; None if there is no such CRD, 0 if it says nothing of a revision."""
        try:
            crd = await self._api.request("GET", f"{CRDS}/{kind.definition}", accept=METADATA_ONLY)
        except RequestError as error:
            if error.is_missing:
                return None
            raise
        annotation = crd["metadata"].get("annotations", {}).get(SCHEMA_ANNOTATION, "")
        return int(annotation) if annotation.isdecimal() else 0


def problems(revisions: Mapping[str, int | None]) -> Iterator[str]:
    """Yield what is wrong with CRDs of these revisions. A newer one serves this version as well as its own."""
    if absent := [name for name, revision in revisions.items() if revision is None]:
        yield f"CRD {' and '.join(absent)} gone, with all objects of that kind; {REMEDY}"
    older = {name: revision for name, revision in revisions.items() if revision is not None and revision < REVISION}
    if older:
        yield (
            f"CRD {' and '.join(older)} older than this operator (schema revision {min(older.values())}, needed "
            f"{REVISION}), which refuses fields of this version or drops them; {REMEDY}"
        )
