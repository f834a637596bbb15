"""Routes and responses of the endpoints; refusals are ``Status`` objects, which every Kubernetes client reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import parse_qs, unquote

TEXT = "text/plain; charset=utf-8"
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
JSON = "application/json"
HEALTH = ("livez", "healthz", "readyz")


@dataclass(frozen=True, slots=True)
class EndpointResponse:
    """Status, content type and body, and further header fields."""

    status: int
    content_type: str
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)


def unauthorized() -> EndpointResponse:
    """401: the caller could not be identified."""
    return _status(401, "Unauthorized", "Unauthorized")


def forbidden(user: str, verb: str, path: str, reason: str) -> EndpointResponse:
    """403: the caller is identified, but may not do this. Worded like the API server's."""
    message = f'forbidden: User "{user}" cannot {verb} path "{path}"'
    return _status(403, "Forbidden", f"{message}: {reason}" if reason else message)


def not_acceptable(media_types: Iterable[str]) -> EndpointResponse:
    """406: the page does not exist in any of the media types that the caller accepts."""
    return _status(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(media_types)}")


def too_many_requests(message: str, seconds: int) -> EndpointResponse:
    """429: the caller should try again after so many ``seconds``."""
    return replace(_status(429, "TooManyRequests", message), headers={"Retry-After": str(seconds)})


def internal_error(message: str) -> EndpointResponse:
    """500: making the page, or reviewing the caller, failed."""
    return _status(500, "InternalError", f"Internal error occurred: {message}")


def _status(code: int, reason: str, message: str) -> EndpointResponse:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return EndpointResponse(code, JSON, json.dumps(status) + "\n")


Query = Mapping[str, list[str]]

Check = Callable[[], str | None]
"""Returns the problem, or None if there is none. Called from any thread."""

Checks = Mapping[str, Check]
"""Health checks by the names that ``?verbose`` shows."""

Observe = Callable[[str, str, bool], None]
"""Receives the result of each check: the check's name, the health path without its slash, and whether it passed."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page with one content type, rendered anew for each request in the thread of that request."""

    content_type: str
    render: Callable[[Query], str]


class NegotiatedPage(Protocol):
    """A page that exists in several media types."""

    def respond(self, accept: str) -> EndpointResponse:
        """Return the page in the best form that the header ``Accept`` allows."""
        ...


def path_of(target: str) -> str:
    """Return the path of a request target.

    Both the access check and the choice of the page use this function, so no spelling of a path passes the one as
    something else than it is for the other.
    """
    return unquote(target.partition("?")[0]).rstrip("/") or "/"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The health checks and the pages of a process."""

    live: Checks = field(default_factory=dict)
    ready: Checks = field(default_factory=dict)
    pages: Mapping[str, Page] = field(default_factory=dict)
    observe: Observe = lambda _check, _path, _passed: None
    negotiated: Callable[[], Mapping[str, NegotiatedPage]] = dict
    """Returns the negotiated pages that exist now."""
    remark: Callable[[], str] = str
    """Returns something that is wrong although the process is ready, for /readyz."""

    def is_health_check(self, target: str) -> bool:
        """Return whether a GET of ``target`` is answered by health checks, which take no time."""
        return path_of(target)[1:].partition("/")[0] in HEALTH

    def respond(self, target: str, accept: str = "") -> EndpointResponse:
        """Return the response to a GET of ``target``, a path with an optional query."""
        path, query = path_of(target), parse_qs(target.partition("?")[2], keep_blank_values=True)
        page = self.pages.get(path)
        if page is not None:
            return EndpointResponse(200, page.content_type, page.render(query))
        negotiated = self.negotiated().get(path)
        if negotiated is not None:
            return negotiated.respond(accept)
        return self._check_health(path, query)

    def _check_health(self, path: str, query: Query) -> EndpointResponse:
        all_checks = dict(zip(HEALTH, (self.live, self.live, self.ready), strict=True))
        name, _, one = path[1:].partition("/")
        checks = all_checks.get(name)
        if checks is None or (one and one not in checks and not (one == "ping" and not checks)):
            # The paths may be listed to anyone: none of them is a secret by its name.
            paths = [*(f"/{kind}" for kind in sorted(all_checks)), *sorted({**self.pages, **self.negotiated()})]
            return EndpointResponse(404, TEXT, f"there are {', '.join(paths[:-1])} and {paths[-1]}\n")
        if one and checks:
            checks = {one: checks[one]}
        passed, text = run_checks(name, checks, query.get("exclude", ()), self.observe, verbose="verbose" in query)
        if passed and name == "readyz" and (remark := self.remark()):
            text = f"{text.rstrip()}; but {remark}\n"
        return EndpointResponse(200 if passed else 500, TEXT, text)


def run_checks(
    name: str, checks: Checks, excluded: Collection[str], observe: Observe, *, verbose: bool
) -> tuple[bool, str]:
    """Run all ``checks`` behind the health path ``name`` but the ``excluded``; return whether they pass, and the text.

    Texts and the ``ping`` of a path without checks are those of k8s.io/apiserver's healthz.go.
    """
    lines: list[str] = []
    passed = True
    for check, find_problem in (checks or {"ping": lambda: None}).items():
        if check in excluded:
            lines.append(f"[+]{check} excluded: ok\n")
            continue
        problem = find_problem()
        observe(check, name, problem is None)
        passed = passed and problem is None
        lines.append(f"[-]{check} failed: {problem}\n" if problem else f"[+]{check} ok\n")
    if unknown := sorted(set(excluded) - set(checks)):
        names = ", ".join(f'"{check}"' for check in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
    if not passed:
        return False, f"{''.join(lines)}{name} check failed\n"
    return True, f"{''.join(lines)}{name} check passed\n" if verbose else "ok"
