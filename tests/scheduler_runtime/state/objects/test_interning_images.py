"""Nodes share the images that they have, and nothing else of them."""

from __future__ import annotations

from typing import Any

import msgspec

from scheduler_runtime.kube.watch.kinds import decode_event
from scheduler_runtime.state.objects import ContainerImage, Node, decode_node, decode_node_list
from scheduler_runtime.state.objects.interning import MIN_IMAGE_CLEANUP, SharedImages


def raw(name: str, *images: int, size: int = 1) -> dict[str, Any]:
    reported = [{"names": [f"app-{number}"], "sizeBytes": size} for number in images]
    return {"metadata": {"name": name}, "status": {"images": reported}}


def read(name: str, *images: int, size: int = 1) -> Node:
    return decode_node(msgspec.json.encode(raw(name, *images, size=size)))


def test_nodes_share_the_images_that_both_have() -> None:
    one, other = read("a", 1, 2), read("b", 2, 3)
    assert one.status.images[1] is other.status.images[0]
    assert [image.names for image in other.status.images] == [("app-2",), ("app-3",)]


def test_an_image_of_another_size_is_another() -> None:
    one, other = read("a", 1), read("b", 1, size=2)
    assert [node.status.images[0].size_bytes for node in (one, other)] == [1, 2]


def test_the_nodes_of_lists_and_watches_share_as_well() -> None:
    page = decode_node_list(msgspec.json.encode({"items": [raw("a", 1), raw("b", 1)]}))
    event = decode_event(msgspec.json.encode({"type": "ADDED", "object": raw("c", 1)}))
    images = [node.status.images[0] for node in (*page.items, decode_node(event.object))]
    assert all(image is images[0] for image in images)


def test_a_node_without_images_has_none() -> None:
    assert read("a").status.images == decode_node(b'{"metadata": {"name": "b"}}').status.images == ()


def test_images_that_no_node_has_any_more_are_forgotten() -> None:
    images = SharedImages()

    def node(number: int) -> Node:
        return images.share(msgspec.convert(raw("n", number), Node))

    stays = [node(number) for number in range(4 * MIN_IMAGE_CLEANUP)]
    for number in range(4 * MIN_IMAGE_CLEANUP, 20 * MIN_IMAGE_CLEANUP):
        node(number)
    assert 4 * MIN_IMAGE_CLEANUP < len(images) <= 5 * MIN_IMAGE_CLEANUP
    assert all(node(number).status.images[0] is one.status.images[0] for number, one in enumerate(stays))
    assert node(-1).status.images == (ContainerImage(("app--1",), 1),)


def test_images_with_long_names_are_forgotten_sooner() -> None:
    images = SharedImages()
    for number in range(30):
        image = {"names": [f"{number}{'x' * 1_000_000}"], "sizeBytes": 1}
        images.share(msgspec.convert({"metadata": {"name": "n"}, "status": {"images": [image]}}, Node))
    assert len(images) <= 2
