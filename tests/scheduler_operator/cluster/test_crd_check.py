"""The CRDs in the cluster beside those that this operator needs."""

from typing import Any, cast

import pytest

from scheduler_operator.cluster.api import METADATA_ONLY, ApiConnection, RequestError
from scheduler_operator.cluster.crd_check import CRDS, CrdCheck
from scheduler_operator.models.schema_revision import REVISION
from scheduler_operator.resources.names import SCHEMA_ANNOTATION

PROFILES, CONFIGS = "schedulerprofiles.berth.dev", "pluginconfigs.berth.dev"
REMEDY = "apply the files in crds/ of this version, or upgrade the chart with crds.enabled=true"


class Server:
    """It has CRDs of these revisions, or refuses to show them."""

    def __init__(self, **revisions: str | None) -> None:
        self.revisions = {PROFILES: str(REVISION), CONFIGS: str(REVISION), **revisions}
        self.refusal: tuple[int, str] | None = None

    async def request(self, method: str, path: str, *, accept: str) -> Any:
        assert method == "GET"
        assert accept == METADATA_ONLY
        if self.refusal:
            raise RequestError(f"GET {path}", *self.refusal, "no")
        revision = self.revisions[path.removeprefix(f"{CRDS}/")]
        if revision is None:
            raise RequestError(f"GET {path}", 404, "NotFound", "there is none")
        return {"metadata": {"annotations": {SCHEMA_ANNOTATION: revision}} if revision else {}}


async def remark(server: Server) -> str:
    return await CrdCheck(cast("ApiConnection", server)).check()


OLDER = (
    f"older than this operator (schema revision 0, needed {REVISION}), which refuses fields of this version or drops"
)


@pytest.mark.parametrize(
    ("revisions", "expected"),
    [
        pytest.param({}, "", id="of-this-version"),
        pytest.param({PROFILES: str(REVISION + 1)}, "", id="newer"),
        pytest.param({PROFILES: "0"}, f"CRD {PROFILES} {OLDER} them; {REMEDY}", id="older"),
        pytest.param(
            {PROFILES: "", CONFIGS: "x"}, f"CRD {PROFILES} and {CONFIGS} {OLDER} them; {REMEDY}", id="unmarked"
        ),
        pytest.param({CONFIGS: None}, f"CRD {CONFIGS} gone, with all objects of that kind; {REMEDY}", id="gone"),
    ],
)
async def test_what_is_wrong_with_the_crds_is_said_with_what_to_do(
    revisions: dict[str, str | None], expected: str
) -> None:
    assert await remark(Server(**revisions)) == expected


async def test_what_was_known_of_the_crds_stays_while_there_is_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    server = Server(**{PROFILES: "0"})
    check = CrdCheck(cast("ApiConnection", server))
    known = await check.check()
    server.refusal = 0, ""
    assert await check.check() == known != ""
    assert caplog.messages == []


async def test_an_operator_that_may_not_see_the_crds_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    server.refusal = 403, "Forbidden"
    check = CrdCheck(cast("ApiConnection", server))
    assert [await check.check() for _ in range(3)] == ["", "", ""]
    (message,) = caplog.messages
    assert message.startswith("cannot see whether the CRDs are those of this version: ")
