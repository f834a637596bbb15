"""In which form somebody wants a page, as Kubernetes reads the header Accept.

text/plain                                                    what people read
application/json;g=config.k8s.io;v=v1beta1;as=Statusz         what programs read: an object of this kind, or as YAML
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

GROUP = "config.k8s.io"
TEXT_PLAIN, AS_JSON, AS_YAML = "text/plain", "application/json", "application/yaml"
MEDIA_TYPES = (AS_JSON, AS_YAML, TEXT_PLAIN)


@dataclass(frozen=True, slots=True)
class Form:
    """A media type, and for one that programs read the version of the object."""

    media_type: str
    version: str = ""


PLAIN = Form(TEXT_PLAIN)


@dataclass(frozen=True, slots=True)
class AcceptedType:
    """One media type, or a range of them, out of the header."""

    type: str
    subtype: str
    quality: float = 1.0
    parameters: dict[str, str] = field(default_factory=dict)

    @property
    def rank(self) -> tuple[float, bool, bool]:
        """The better liked come first, and then the more exact."""
        return -self.quality, self.type == "*", self.subtype == "*"

    def covers(self, media_type: str) -> bool:
        """Whether ``media_type`` is one of those meant."""
        kind, _, subtype = media_type.partition("/")
        return self.type in ("*", kind) and self.subtype in ("*", subtype)


def accepted(header: str, kind: str, versions: Collection[str]) -> Form | None:
    """The form of an object of this ``kind`` that is liked best, None when none of ours is accepted."""
    if not header.strip():
        return PLAIN
    for wish in sorted(_wishes(header), key=lambda each: each.rank):
        for media_type in filter(wish.covers, MEDIA_TYPES):
            if form := _form(media_type, wish.parameters, kind, versions):
                return form
    return None


def _form(media_type: str, parameters: dict[str, str], kind: str, versions: Collection[str]) -> Form | None:
    asked = {name: parameters[name] for name in ("as", "g", "v") if name in parameters}
    if media_type == TEXT_PLAIN:
        return None if asked else PLAIN
    version = asked.get("v", "")
    known = version in versions and asked == {"as": kind, "g": GROUP, "v": version}
    return Form(media_type, version) if known else None


def _wishes(header: str) -> Iterator[AcceptedType]:
    for clause in header.split(","):
        media_type, *rest = (part.strip() for part in clause.split(";"))
        kind, slash, subtype = media_type.partition("/")
        parameters = dict(_pair(each) for each in rest if each)
        quality = _quality(parameters.pop("q", "1"))
        if slash and quality > 0:
            yield AcceptedType(kind, subtype, quality, parameters)


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip().strip('"')


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 1.0
