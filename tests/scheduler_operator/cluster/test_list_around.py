"""Listing a kind of which the API server cannot read some objects: all others are taken in, whatever the names."""

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

import pytest

from scheduler_operator.cluster.api import ApiConnection, RequestError
from scheduler_operator.cluster.objects import MAX_DEPTH_EXCEEDED, ClusterObjects
from scheduler_operator.cluster.user_objects import StoredObject, UserObjects
from scheduler_operator.resources import kinds

KIND = kinds.PLUGIN_CONFIG


def raw(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": f"uid of {name}", "generation": 1, "resourceVersion": "7"}
    return {"apiVersion": KIND.api_version, "kind": KIND.name, "metadata": metadata, "spec": spec}


class Server:
    """It answers lists as an API server does that has stored objects which it cannot read."""

    def __init__(self, readable: Iterable[str], unreadable: Iterable[str]) -> None:
        self.readable = {*readable}
        self.unreadable = {*unreadable}
        self.requests = 0

    async def request(self, method: str, path: str, *, query: Mapping[str, str]) -> Any:
        assert method == "GET"
        self.requests += 1
        assert self.requests < 5000, "lists for ever"
        token = query.get("continue", "")
        start = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))["start"] if token else ""
        names = sorted(name for name in self.readable | self.unreadable if name >= start)
        return {"items": self.read(names[: int(query["limit"])])}

    def read(self, names: list[str]) -> list[Any]:
        if self.unreadable & {*names}:
            raise RequestError("GET", 500, "InternalError", MAX_DEPTH_EXCEEDED)
        return [raw(name) for name in names]


async def list_around(server: Server, known: Iterable[str] = ()) -> UserObjects:
    users = UserObjects()
    users.put_page(KIND, [StoredObject.from_object(raw(name, plugin="Known")) for name in known], True, True)
    await ClusterObjects(cast("ApiConnection", server), "ns", users).list_around(KIND)
    return users


@pytest.mark.parametrize(
    ("readable", "unreadable"),
    [
        pytest.param("alpha zed", "b", id="between"),
        pytest.param("aa ac", "ab", id="one-character-apart"),
        pytest.param("m1 m3", "m2", id="digits"),
        pytest.param("b", "a c", id="around-one"),
        pytest.param("a b", "c", id="the-last"),
        pytest.param("b c", "a", id="the-first"),
        pytest.param("", "only", id="the-only-one"),
        pytest.param("a-shared z-late", "m-poison.2", id="dashes-and-dots"),
        pytest.param("a aaa", "aa", id="prefixes"),
        pytest.param("a c", "a0 c-1.x", id="two-behind-their-prefixes"),
        pytest.param("a" * 252, "a" * 253, id="as-long-as-names-get"),
        pytest.param(" ".join(f"n{number:03}" for number in range(120) if number != 60), "n060", id="several-pages"),
    ],
)
async def test_all_that_can_be_read_is_taken_in_and_the_rest_is_named(readable: str, unreadable: str) -> None:
    users = await list_around(Server(readable.split(), unreadable.split()))
    assert users.unlistable == {KIND: unreadable.split()}
    assert {*users.plugin_configs} == {*readable.split(), *unreadable.split()}
    assert all(users.plugin_configs[name].relations.uid for name in readable.split())
    assert all("cannot read it back" in users.plugin_configs[name].relations.unreadable for name in unreadable.split())


async def test_of_a_row_that_cannot_be_read_the_last_is_named_and_nothing_behind_it_is_lost() -> None:
    users = await list_around(Server(["a", "f"], ["b", "c", "d"]))
    assert users.unlistable == {KIND: ["d"]}
    assert {*users.plugin_configs} == {"a", "d", "f"}


async def test_what_was_known_stays_of_what_cannot_be_read_any_more() -> None:
    server = Server(["a", "f"], ["b", "c", "d"])
    users = await list_around(server, known=["b", "c", "gone"])
    assert users.unlistable == {KIND: ["d"]}
    assert {*users.plugin_configs} == {"a", "b", "c", "d", "f"}
    assert (users.plugin_configs["b"].plugin, users.plugin_configs["d"].plugin) == ("Known", None)


async def test_what_was_known_is_read_by_itself_where_no_page_reaches_it() -> None:
    # No page of one object that begins with one character more, or with another one, begins behind ma and before mab.
    users = await list_around(Server(["mab"], ["ma", "n"]), known=["mab", "maa"])
    assert {*users.plugin_configs} == {"mab", "n"}
    assert users.plugin_configs["mab"].plugin is None


async def test_a_name_that_was_sought_is_not_sought_again_at_once() -> None:
    server, users = Server(["a", "c"], ["b-long-name"]), UserObjects()
    cluster = ClusterObjects(cast("ApiConnection", server), "ns", users)
    await cluster.list_around(KIND)
    before = server.requests
    await cluster.list_around(KIND)
    assert server.requests - before < 15
    server.unreadable = {"b", "d"}
    await cluster.list_around(KIND)
    assert users.unlistable == {KIND: ["b", "d"]}


async def test_a_list_that_works_again_names_nothing() -> None:
    server = Server(["a"], ["b"])
    users = await list_around(server)
    users.put_page(KIND, [StoredObject.from_object(raw("a"))], is_first=True, is_last=True)
    assert users.unlistable == {}
    assert {*users.plugin_configs} == {"a"}
