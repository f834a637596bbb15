"""All flags of the command line with their help, and their values for /flagz."""

from __future__ import annotations

import argparse
import importlib.metadata
import logging
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NoReturn

from scheduler_runtime.app.flags import values
from scheduler_runtime.app.flags.document import LEADERSHIP, LEADERSHIP_DEFAULTS, ONLY_WITHOUT_DOCUMENT
from scheduler_runtime.app.flags.ignored import REFUSED, REMOVED, SWITCHES, WITHOUT_EFFECT
from scheduler_runtime.catalog import DEFAULT_MINOR, suggestions
from scheduler_runtime.component.https import NamedPair
from scheduler_runtime.reload.document_sources import ObjectName

logger = logging.getLogger("berth-scheduler")

PROGRAM = "berth-scheduler"


class Parser(argparse.ArgumentParser):
    """Reports a mistake in one sentence, without the usage before it."""

    def error(self, message: str) -> NoReturn:
        """End the process with exit code 2."""
        self.exit(2, f"{self.prog}: {message}\n")


def parse_flags(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line. Ends the process with exit code 2 and a sentence at a mistake."""
    flags = create_parser()
    switches = _switches(flags)
    args, unknown = flags.parse_known_args([_normalize(argument, switches) for argument in arguments])
    if unknown:
        flags.error(_explain_unknown(unknown[0], flags, arguments))
    for name in REFUSED:
        if _value(args, name) is not None:
            flags.error(f"--{name} is not supported: {REFUSED[name]}")
    if bool(args.tls_cert_file) != bool(args.tls_private_key_file):
        flags.error("--tls-cert-file and --tls-private-key-file belong together: give both or none")
    if args.config_map and not args.config:
        flags.error("--config-map needs --config: the document to start with")
    return args


def find_ignored_flags(args: argparse.Namespace) -> Iterable[tuple[str, str]]:
    """Yield the flags on the command line that change nothing, with the reasons."""
    for name, why in WITHOUT_EFFECT.items():
        if _value(args, name) is not None:
            yield name, why
    if args.config:
        for name in ONLY_WITHOUT_DOCUMENT:
            if _value(args, name) is not None:
                yield name, f"the document says it: {ONLY_WITHOUT_DOCUMENT[name]}"


def flag_values(args: argparse.Namespace) -> Mapping[str, str]:
    """Return the value of each flag as Go writes it, by name: that on the command line, else the default.

    Flags without any effect are there only if they are on the command line.
    """
    texts: dict[str, str] = {}
    for action in create_parser()._actions:
        if hasattr(args, action.dest):
            value = getattr(args, action.dest)
            if action.help != argparse.SUPPRESS or value is not None:
                texts[max(action.option_strings, key=len).removeprefix("--")] = _format(value)
    for name, value in LEADERSHIP_DEFAULTS.items():
        texts[name] = texts[name] or _format(value)
    return texts


def _format(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case ObjectName():
            return "/".join(value)
        case [NamedPair(), *_]:
            return f"[{';'.join(map(str, value))}]"
        case list():
            return f"[{','.join(value)}]"
        case dict():
            return ",".join(f"{name}={_format(inner)}" for name, inner in sorted(value.items()))
        case _:
            return str(value)


def create_parser() -> Parser:
    """Return the parser of all flags."""
    flags = Parser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [--config FILE] [flags]",
        description="Schedule pods as a KubeSchedulerConfiguration defines, with plugins in Python.",
        epilog="A DURATION is written like 10s or 1m30s. Flags of kube-scheduler that are not listed are accepted, and "
        "the log says why each has no effect.",
        allow_abbrev=False,
    )
    _file(flags, "config", "the KubeSchedulerConfiguration", unless="upstream's defaults")
    extras = "which events are posted, plugins in ConfigMaps, the extenders of each profile"
    unless = "all events, installed plugins, all extenders"
    _file(flags, "extras", f"settings that the document has no fields for: {extras}", unless)
    followed = "watch this ConfigMap, with the keys config.yaml and berth.yaml"
    _add(flags, "config-map", followed, values.object_name, unless="watch the files")
    sources = "run plugins whose code is in ConfigMaps, those that this scheduler's account has the right to run"
    _add(flags, "allow-plugin-sources", sources, values.boolean, default="false")
    _file(flags, "kubeconfig", "credentials, if the document names none", "$KUBECONFIG, then those of the pod")
    like = f"the version of kube-scheduler to behave like; for --write-config-to {DEFAULT_MINOR} by default"
    _add(flags, "kubernetes-version", like, values.version, unless="the API server's version")
    _add(flags, "emulated-version", "upstream's name of that flag", values.emulated, unless="the same")
    gates = "feature gates of kube-scheduler to turn on or off"
    _add(flags, "feature-gates", gates, values.gates, default={}, unless="as in that version")
    output = "write the document with its defaults to FILE, and exit"
    _file(flags, "write-config-to", output, "write nothing, and schedule pods", default=None)
    flush = "try a parked pod again after this time even without an event"
    _add(flags, "pod-max-in-unschedulable-pods-duration", flush, values.duration, default="5m0s")
    for name, path in ONLY_WITHOUT_DOCUMENT.items():
        kind, unless = (float, "50") if name.endswith("qps") else (int, "100")
        _add(flags, name, f"{path} without a document", kind, unless=unless, metavar="N")
    flags.add_argument("--version", action="version", version=importlib.metadata.version("berth-runtime"))

    serving = flags.add_argument_group("serving")
    _add(serving, "bind-address", "serve on this address", values.address, default="0.0.0.0")  # noqa: S104
    _add(serving, "secure-port", "serve on this port; 0 serves nothing", values.port, default="10259")
    certificate = "certificate, which is read again on change"
    _file(serving, "tls-cert-file", certificate, "kube-scheduler.crt of --cert-dir")
    _file(serving, "tls-private-key-file", "the key of that certificate", "kube-scheduler.key of --cert-dir")
    by_name = "certificate for clients of these host names, or of those in the certificate; repeat for each pair"
    _add(serving, "tls-sni-cert-key", by_name, values.named_pair, default=[], unless="the one above for all clients")
    directory, unless = (
        "directory where kube-scheduler.crt and .key are, or are written",
        "a certificate is made in memory",
    )
    _file(serving, "cert-dir", directory, f"none; without all of these {unless}", metavar="DIRECTORY")
    _add(
        serving,
        "tls-min-version",
        "the oldest TLS version to accept",
        values.tls_version,
        default="",
        unless="VersionTLS12",
    )
    suites = "for TLS 1.2 and older; those of 1.3 cannot be chosen"
    _add(serving, "tls-cipher-suites", suites, values.suites, default=[], unless="OpenSSL's")

    access = flags.add_argument_group("access to the endpoints")
    for what, reviews in (("authentication", "TokenReviews"), ("authorization", "SubjectAccessReviews")):
        _file(access, f"{what}-kubeconfig", f"credentials for {reviews}", "those of the scheduler")
    _file(access, "client-ca-file", "accept client certificates that this authority signed", "none")
    everyone, paths = "paths that are open to everyone; /* opens all", "/healthz,/readyz,/livez"
    _add(access, "authorization-always-allow-paths", everyone, values.paths, default=paths)
    for name, what in (
        ("authentication-token-webhook-cache-ttl", "the owner of a token"),
        ("authorization-webhook-cache-authorized-ttl", "that a caller may read a path"),
        ("authorization-webhook-cache-unauthorized-ttl", "that a caller may not"),
    ):
        _add(access, name, f"how long to remember {what}", values.duration, default="10s")

    election = flags.add_argument_group("leader election (each overrides the document)")
    for name, (parse, field) in LEADERSHIP.items():
        unless = f"the document's, or {str(LEADERSHIP_DEFAULTS[name]).lower()}"
        _add(election, name, f"leaderElection.{field}", parse, unless=unless, metavar=_FORMS.get(parse, "NAME"))
    log = flags.add_argument_group("log and metrics")
    _add(log, "logging-format", "the format of the log", default="text", choices=("text", "json"))
    levels = "2: a line for each decision; 4: for debugging"
    _add(log, "v", levels, int, "-v", default="0", metavar="LEVEL")
    _add(log, "disabled-metrics", "metrics not to show", values.words, default=[], unless="none")
    for name in (*WITHOUT_EFFECT, *REFUSED):
        flags.add_argument(f"--{name}", help=argparse.SUPPRESS)
    return flags


class _Extended(argparse.Action):
    """A list in several flags of the same name; the first of them replaces the default."""

    def __call__(self, _: object, args: argparse.Namespace, value: Any, option: str | None = None) -> None:
        before = getattr(args, self.dest)
        setattr(args, self.dest, [*([] if before is self.default else before), *value])


class _Merged(argparse.Action):
    """A mapping in several flags of the same name."""

    def __call__(self, _: object, args: argparse.Namespace, value: Any, option: str | None = None) -> None:
        setattr(args, self.dest, {**getattr(args, self.dest), **value})


_FORMS: Mapping[Any, str] = {
    values.address: "IP",
    values.boolean: "true|false",
    values.duration: "DURATION",
    values.emulated: "VERSION",
    values.gates: "GATE=true,…",
    values.named_pair: "FILE,FILE[:NAME,…]",
    values.object_name: "NAMESPACE/NAME",
    values.paths: "PATH,…",
    values.port: "PORT",
    values.suites: "SUITE,…",
    values.tls_version: "VERSION",
    values.version: "VERSION",
    values.words: "NAME,…",
}
_REPEATABLE: Mapping[Any, type[argparse.Action]] = {
    values.gates: _Merged,
    values.named_pair: _Extended,
    values.paths: _Extended,
    values.suites: _Extended,
    values.words: _Extended,
}
"""The values that several flags of the same name make up together."""


def _add(
    flags: Any, name: str, what: str, kind: Any = None, *short: str, default: Any = None, unless: str = "", **how: Any
) -> None:
    """Add the flag ``name``, which does ``what``, with values that ``kind`` parses.

    Its help shows the ``default``, as one would write it, or ``unless``, words for what holds without the flag.
    """
    how = {"metavar": _FORMS.get(kind), "type": kind, **how}
    if kind in _REPEATABLE:
        how["action"] = _REPEATABLE[kind]
    flags.add_argument(*short, f"--{name}", help=f"{what} (default: {unless or default})", default=default, **how)


def _file(flags: Any, name: str, what: str, unless: str, metavar: str = "FILE", default: str | None = "") -> None:
    _add(flags, name, what, unless=unless, default=default, metavar=metavar)


def _normalize(argument: str, switches: frozenset[str]) -> str:
    """Turn ``--leader_elect`` into ``--leader-elect=true``: as Go reads flags."""
    if not argument.startswith("--"):
        return argument
    name, equals, value = argument[2:].partition("=")
    name = name.replace("_", "-")
    if not equals and name in switches:
        return f"--{name}=true"
    return f"--{name}{equals}{value}"


def _switches(flags: Parser) -> frozenset[str]:
    """Return the names of the flags that may stand without a value."""
    own = (action.option_strings for action in flags._actions if action.type is values.boolean)
    return frozenset((*SWITCHES, *(option.lstrip("-") for options in own for option in options)))


def _value(args: argparse.Namespace, name: str) -> Any:
    return getattr(args, name.replace("-", "_"))


def _explain_unknown(argument: str, flags: Parser, arguments: Sequence[str]) -> str:
    """Return a sentence about an unknown one of the ``arguments``."""
    if not argument.startswith("-"):
        for before, following in pairwise(arguments):
            name = before.removeprefix("--").replace("_", "-")
            is_value = following == argument and argument.lower() in (*values.TRUE, *values.FALSE)
            if is_value and name in _switches(flags):  # its value, after a space: only ``=`` may come before it
                return f"{argument!r} is not a flag; did you mean --{name}={argument}?"
        if argument.endswith((".yaml", ".yml", ".json")):
            return f"{argument!r} is not a flag; did you mean --config {argument}?"
        return f"{argument!r} is not a flag, and there are no arguments without one"
    name = argument.partition("=")[0]
    if now := REMOVED.get(name.lstrip("-")):
        return f"{name} was removed from kube-scheduler; {now}"
    options = {option.lstrip("-"): option for action in flags._actions for option in action.option_strings}
    near = suggestions.nearest(name.lstrip("-"), options)  # the dashes, which all have, are no likeness
    return f"{name} is not a flag{suggestions.did_you_mean([options[name] for name in near])}"
