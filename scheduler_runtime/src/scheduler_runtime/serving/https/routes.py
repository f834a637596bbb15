"""Which answer a path has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qs, unquote

from scheduler_runtime.serving.https.health import Checks, Observe, health

TEXT = "text/plain; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
JSON = "application/json"

Query = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, content type, body, and the header Warning where there is something to warn of."""

    status: int
    kind: str
    body: str
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Something to look at; made anew for everyone who asks, in the asker's thread."""

    kind: str
    make: Callable[[Query], str]


class Negotiated(Protocol):
    """A page that comes in several forms."""

    def answer(self, accept: str) -> Answer:
        """The answer to whoever accepts this."""
        ...


def path_of(target: str) -> str:
    """The path that a request asks for: the same for who may ask and for what is answered."""
    return unquote(target.partition("?")[0]).rstrip("/") or "/"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The checks behind each health path, and the pages."""

    live: Checks = field(default_factory=dict)
    ready: Checks = field(default_factory=dict)
    pages: Mapping[str, Page] = field(default_factory=dict)
    observe: Observe = lambda _check, _path, _passed: None
    negotiated: Callable[[], Mapping[str, Negotiated]] = dict
    """Those that are there now."""

    def answer(self, target: str, accept: str = "") -> Answer:
        """The answer to a GET of ``target``, a path that may have a query, by somebody who accepts this."""
        path, query = path_of(target), parse_qs(target.partition("?")[2], keep_blank_values=True)
        page = self.pages.get(path)
        if page is not None:
            return Answer(200, page.kind, page.make(query))
        negotiated = self.negotiated().get(path)
        if negotiated is not None:
            return negotiated.answer(accept)
        return self._health(path, query)

    def _health(self, path: str, query: Query) -> Answer:
        kind, _, one = path[1:].partition("/")
        checks = self._checks().get(kind)
        if checks is None:
            return self._unknown()
        if one:
            if one not in checks and not (one == "ping" and not checks):
                return self._unknown()
            checks = {one: checks[one]} if checks else {}
        passed, text = health(kind, checks, query.get("exclude", ()), self.observe, verbose="verbose" in query)
        return Answer(200 if passed else 500, TEXT, text)

    def _checks(self) -> Mapping[str, Checks]:
        return {"livez": self.live, "healthz": self.live, "readyz": self.ready}

    def _unknown(self) -> Answer:
        """404, with what there is: nothing here is a secret by its name."""
        paths = [*(f"/{kind}" for kind in sorted(self._checks())), *sorted({**self.pages, **self.negotiated()})]
        return Answer(404, TEXT, f"there are {', '.join(paths[:-1])} and {paths[-1]}\n")
