"""The flags and what they are called."""

from __future__ import annotations

import argparse
import importlib.metadata
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NoReturn

from scheduler_runtime.catalog import ASSUMED, spelling

from . import values
from .document import LEADERSHIP, LEADERSHIP_DEFAULTS, ONLY_WITHOUT_DOCUMENT
from .ignored import REFUSED, REMOVED, SWITCHES, WITHOUT_EFFECT

logger = logging.getLogger("berth-scheduler")

PROGRAM = "berth-scheduler"


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        """End the process with 2."""
        self.exit(2, f"{self.prog}: {message}\n")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """What the command line says. Ends the process with 2 and a sentence when it cannot be followed."""
    flags = parser()
    asked, unknown = flags.parse_known_args([_as_written_here(each) for each in arguments])
    if unknown:
        flags.error(_sentence(unknown[0], flags, arguments))
    for name in REFUSED:
        if getattr(asked, _field(name)) is not None:
            flags.error(f"--{name} is not supported: {REFUSED[name]}")
    if bool(asked.tls_cert_file) != bool(asked.tls_private_key_file):
        flags.error("--tls-cert-file and --tls-private-key-file belong together: give both or none")
    if asked.config_map and not asked.config:
        flags.error("--config-map needs --config: the document to start with")
    return asked


def ignored(asked: argparse.Namespace) -> Iterable[tuple[str, str]]:
    """The flags that were given and change nothing, with the reasons."""
    for name, why in WITHOUT_EFFECT.items():
        if getattr(asked, _field(name)) is not None:
            yield name, why
    if asked.config:
        for name in ONLY_WITHOUT_DOCUMENT:
            if getattr(asked, _field(name)) is not None:
                yield name, f"the document says it: {ONLY_WITHOUT_DOCUMENT[name]}"


def parser() -> Parser:
    """Every flag."""
    flags = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [--config FILE] [flags]",
        description="Schedule pods by a KubeSchedulerConfiguration, with plugins in Python.",
        epilog="A DURATION is written like 10s or 1m30s. Flags of kube-scheduler that are not listed are accepted, and "
        "a line in the log says why each changes nothing.",
        allow_abbrev=False,
    )
    _running(flags)
    _serving(flags.add_argument_group("serving"))
    _access(flags.add_argument_group("who may ask"))
    _leading(flags.add_argument_group("leader election (each overrides the document)"))
    _logging(flags.add_argument_group("log and metrics"))
    for name in (*WITHOUT_EFFECT, *REFUSED):
        flags.add_argument(f"--{name}", help=argparse.SUPPRESS)
    return flags


def _running(flags: Any) -> None:
    add = flags.add_argument
    add("--config", default="", metavar="FILE", help="the KubeSchedulerConfiguration (default: upstream's defaults)")
    add(
        "--extras",
        default="",
        metavar="FILE",
        help="what the document has no field for: which events are posted, plugins that ConfigMaps hold, which profile "
        "asks which extenders (default: all events, installed plugins, all extenders)",
    )
    add(
        "--config-map",
        type=values.object_name,
        metavar="NAMESPACE/NAME",
        help="follow the changes of this ConfigMap, whose keys are config.yaml and berth.yaml (default: of the files)",
    )
    add(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="credentials, if the document names none (default: $KUBECONFIG, then those of the pod)",
    )
    add(
        "--kubernetes-version",
        type=values.version,
        metavar="VERSION",
        help=f"whose kube-scheduler to behave like; --write-config-to asks nobody, and takes {ASSUMED} "
        "(default: the API server's version)",
    )
    add(
        "--emulated-version",
        type=values.emulated,
        metavar="VERSION",
        help="upstream's name for the same (default: as there)",
    )
    add(
        "--feature-gates",
        type=values.gates,
        action=_Merged,
        default={},
        metavar="GATE=true,…",
        help="feature gates of that kube-scheduler to turn on or off (default: as in that version)",
    )
    add(
        "--write-config-to",
        metavar="FILE",
        help="write the document with its defaults there, and end (default: write nothing, and schedule pods)",
    )
    add(
        "--pod-max-in-unschedulable-pods-duration",
        type=values.duration,
        default=values.duration("5m0s"),
        metavar="DURATION",
        help="try a parked pod again after that time whatever happens (default: 5m0s)",
    )
    for name, path in ONLY_WITHOUT_DOCUMENT.items():
        kind, default = (float, 50) if name.endswith("qps") else (int, 100)
        add(f"--{name}", type=kind, metavar="N", help=f"{path} where there is no document (default: {default})")
    add("--version", action="version", version=importlib.metadata.version("berth-runtime"))


def _serving(flags: Any) -> None:
    add = flags.add_argument
    add(
        "--bind-address",
        type=values.address,
        default="0.0.0.0",  # noqa: S104
        metavar="IP",
        help="serve on this address (default: 0.0.0.0)",
    )
    add(
        "--secure-port",
        type=values.port,
        default=10259,
        metavar="PORT",
        help="serve on this port; 0 serves nothing (default: 10259)",
    )
    add(
        "--tls-cert-file",
        default="",
        metavar="FILE",
        help="serve with this certificate, which is read again on change (default: kube-scheduler.crt of --cert-dir)",
    )
    add(
        "--tls-private-key-file",
        default="",
        metavar="FILE",
        help="and its key (default: kube-scheduler.key of --cert-dir)",
    )
    add(
        "--cert-dir",
        default="",
        metavar="DIRECTORY",
        help="where kube-scheduler.crt and .key are, or are written to (default: nowhere; without all of these a "
        "certificate is made in memory)",
    )
    add(
        "--tls-min-version",
        type=values.tls_version,
        default="",
        metavar="VERSION",
        help="speak no older one (default: VersionTLS12)",
    )
    add(
        "--tls-cipher-suites",
        type=values.suites,
        action=_Extended,
        default=[],
        metavar="SUITE,…",
        help="for TLS 1.2 and older; those of 1.3 cannot be chosen (default: OpenSSL's)",
    )


def _access(flags: Any) -> None:
    add = flags.add_argument
    for what in ("authentication", "authorization"):
        review = "TokenReviews" if what == "authentication" else "SubjectAccessReviews"
        help_text = f"credentials for {review} (default: those of the scheduler)"
        add(f"--{what}-kubeconfig", default="", metavar="FILE", help=help_text)
    add(
        "--client-ca-file",
        default="",
        metavar="FILE",
        help="also believe client certificates of this authority (default: none)",
    )
    add(
        "--authorization-always-allow-paths",
        type=values.paths,
        action=_Extended,
        default=["/healthz", "/readyz", "/livez"],
        metavar="PATH,…",
        help="open to everybody (default: /healthz,/readyz,/livez); /* is everything",
    )
    for name, what in (
        ("authentication-token-webhook-cache-ttl", "who a token belongs to"),
        ("authorization-webhook-cache-authorized-ttl", "that somebody may"),
        ("authorization-webhook-cache-unauthorized-ttl", "that somebody may not"),
    ):
        add(
            f"--{name}",
            type=values.duration,
            default=values.duration("10s"),
            metavar="DURATION",
            help=f"keep {what} (default: 10s)",
        )


_FORMS: Mapping[Callable[[str], Any], str] = {values.boolean: "true|false", values.duration: "DURATION"}


def _leading(flags: Any) -> None:
    for name, (kind, field) in LEADERSHIP.items():
        default = str(LEADERSHIP_DEFAULTS[name]).lower()
        help_text = f"leaderElection.{field} (default: the document's, or {default})"
        flags.add_argument(f"--{name}", type=kind, metavar=_FORMS.get(kind, "NAME"), help=help_text)


def _logging(flags: Any) -> None:
    add = flags.add_argument
    add("--logging-format", choices=("text", "json"), default="text", help="how the log looks (default: text)")
    add(
        "-v",
        "--v",
        type=int,
        default=0,
        metavar="LEVEL",
        help="2: a line for each decision; 4: what developers want (default: 0)",
    )
    add(
        "--disabled-metrics",
        type=values.words,
        action=_Extended,
        default=[],
        metavar="NAME,…",
        help="metrics not to show (default: none)",
    )


class _Extended(argparse.Action):
    """A list that may be given in several parts; the first of them replaces the default."""

    def __call__(self, _: object, asked: argparse.Namespace, value: Any, option: str | None = None) -> None:
        before = getattr(asked, self.dest)
        setattr(asked, self.dest, [*([] if before is self.default else before), *value])


class _Merged(argparse.Action):
    """A mapping that may be given in several parts."""

    def __call__(self, _: object, asked: argparse.Namespace, value: Any, option: str | None = None) -> None:
        setattr(asked, self.dest, {**getattr(asked, self.dest), **value})


def _as_written_here(argument: str) -> str:
    """``--leader_elect`` is ``--leader-elect=true``: as Go reads flags."""
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument[2:].partition("=")
    name = name.replace("_", "-")
    if not equals and _is_switch(name):
        return f"--{name}=true"
    return f"--{name}{equals}{value}"


def _is_switch(name: str) -> bool:
    """Whether the flag of that name may stand without a value."""
    return name in SWITCHES or name == "leader-elect"


def _field(name: str) -> str:
    return name.replace("-", "_")


def _sentence(argument: str, flags: Parser, arguments: Sequence[str]) -> str:
    """What is wrong with an argument that is not known, one of ``arguments``."""
    if not argument.startswith("-"):
        return f"{argument!r} is not a flag{_meant(argument, arguments)}"
    name = argument.partition("=")[0]
    if now := REMOVED.get(name.lstrip("-")):
        return f"{name} was removed from kube-scheduler; {now}"
    known = {option.lstrip("-"): option for action in flags._actions for option in action.option_strings}
    near = spelling.nearest(name.lstrip("-"), known)  # The dashes, which all have, are no likeness.
    return f"{name} is not a flag{spelling.did_you_mean([known[each] for each in near])}"


def _meant(argument: str, arguments: Sequence[str]) -> str:
    """What to write instead of an ``argument`` without a flag."""
    for before, each in pairwise(arguments):
        name = before.removeprefix("--").replace("_", "-")
        if each == argument and each.lower() in (*values.TRUE, *values.FALSE) and _is_switch(name):
            return f"; did you mean --{name}={argument}?"
    if argument.endswith((".yaml", ".yml", ".json")):
        return f"; did you mean --config {argument}?"
    return ", and there are no arguments without one"
