"""The flags and what they are called."""

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
from scheduler_runtime.catalog import DEFAULT_MINOR
from scheduler_runtime.catalog import suggestions as spelling

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
    _file(flags, "config", "the KubeSchedulerConfiguration", unless="upstream's defaults")
    extras = "which events are posted, plugins that ConfigMaps hold, which profile asks which extenders"
    unless = "all events, installed plugins, all extenders"
    _file(flags, "extras", f"what the document has no field for: {extras}", unless)
    followed = "follow the changes of this ConfigMap, whose keys are config.yaml and berth.yaml"
    _add(flags, "config-map", followed, values.object_name, unless="of the files")
    _file(flags, "kubeconfig", "credentials, if the document names none", "$KUBECONFIG, then those of the pod")
    like = f"whose kube-scheduler to behave like; --write-config-to asks nobody, and takes {DEFAULT_MINOR}"
    _add(flags, "kubernetes-version", like, values.version, unless="the API server's version")
    _add(flags, "emulated-version", "upstream's name for the same", values.emulated, unless="as there")
    gates = "feature gates of that kube-scheduler to turn on or off"
    _add(flags, "feature-gates", gates, values.gates, default={}, unless="as in that version")
    written = "write the document with its defaults there, and end"
    _file(flags, "write-config-to", written, "write nothing, and schedule pods", default=None)
    tried = "try a parked pod again after that time whatever happens"
    _add(flags, "pod-max-in-unschedulable-pods-duration", tried, values.duration, default="5m0s")
    for name, path in ONLY_WITHOUT_DOCUMENT.items():
        kind, unless = (float, "50") if name.endswith("qps") else (int, "100")
        _add(flags, name, f"{path} where there is no document", kind, unless=unless, metavar="N")
    flags.add_argument("--version", action="version", version=importlib.metadata.version("berth-runtime"))


def _serving(flags: Any) -> None:
    _add(flags, "bind-address", "serve on this address", values.address, default="0.0.0.0")  # noqa: S104
    _add(flags, "secure-port", "serve on this port; 0 serves nothing", values.port, default="10259")
    certificate = "serve with this certificate, which is read again on change"
    _file(flags, "tls-cert-file", certificate, "kube-scheduler.crt of --cert-dir")
    _file(flags, "tls-private-key-file", "and its key", "kube-scheduler.key of --cert-dir")
    by_name = "for who asks for one of these names, or for one the certificate bears; as often as there are pairs"
    _add(flags, "tls-sni-cert-key", by_name, values.named_pair, default=[], unless="the one above for everybody")
    directory, unless = "where kube-scheduler.crt and .key are, or are written to", "a certificate is made in memory"
    _file(flags, "cert-dir", directory, f"nowhere; without all of these {unless}", metavar="DIRECTORY")
    _add(flags, "tls-min-version", "speak no older one", values.tls_version, default="", unless="VersionTLS12")
    suites = "for TLS 1.2 and older; those of 1.3 cannot be chosen"
    _add(flags, "tls-cipher-suites", suites, values.suites, default=[], unless="OpenSSL's")


def _access(flags: Any) -> None:
    for what, reviews in (("authentication", "TokenReviews"), ("authorization", "SubjectAccessReviews")):
        _file(flags, f"{what}-kubeconfig", f"credentials for {reviews}", "those of the scheduler")
    _file(flags, "client-ca-file", "also believe client certificates of this authority", "none")
    everybody, paths = "open to everybody; /* is everything", "/healthz,/readyz,/livez"
    _add(flags, "authorization-always-allow-paths", everybody, values.paths, default=paths)
    for name, what in (
        ("authentication-token-webhook-cache-ttl", "who a token belongs to"),
        ("authorization-webhook-cache-authorized-ttl", "that somebody may"),
        ("authorization-webhook-cache-unauthorized-ttl", "that somebody may not"),
    ):
        _add(flags, name, f"keep {what}", values.duration, default="10s")


def _leading(flags: Any) -> None:
    for name, (kind, field) in LEADERSHIP.items():
        unless = f"the document's, or {str(LEADERSHIP_DEFAULTS[name]).lower()}"
        _add(flags, name, f"leaderElection.{field}", kind, unless=unless, metavar=_FORMS.get(kind, "NAME"))


def _logging(flags: Any) -> None:
    _add(flags, "logging-format", "how the log looks", default="text", choices=("text", "json"))
    levels = "2: a line for each decision; 4: what developers want"
    _add(flags, "v", levels, int, "-v", default="0", metavar="LEVEL")
    _add(flags, "disabled-metrics", "metrics not to show", values.words, default=[], unless="none")


class _Extended(argparse.Action):
    """A list that may be given in several parts; the first of them replaces the default."""

    def __call__(self, _: object, asked: argparse.Namespace, value: Any, option: str | None = None) -> None:
        before = getattr(asked, self.dest)
        setattr(asked, self.dest, [*([] if before is self.default else before), *value])


class _Merged(argparse.Action):
    """A mapping that may be given in several parts."""

    def __call__(self, _: object, asked: argparse.Namespace, value: Any, option: str | None = None) -> None:
        setattr(asked, self.dest, {**getattr(asked, self.dest), **value})


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
_JOINED: Mapping[Any, type[argparse.Action]] = {
    values.gates: _Merged,
    values.named_pair: _Extended,
    values.paths: _Extended,
    values.suites: _Extended,
    values.words: _Extended,
}
"""What may be given in several parts."""


def _add(
    flags: Any, name: str, what: str, kind: Any = None, *short: str, default: Any = None, unless: str = "", **how: Any
) -> None:
    """Add the flag called ``name``, which says ``what``, by a value of that ``kind``.

    ``default`` is what it says when it is not given, as one would write it, unless ``unless`` has words for that.
    """
    how = {"metavar": _FORMS.get(kind), "type": kind, **how}
    if kind in _JOINED:
        how["action"] = _JOINED[kind]
    flags.add_argument(*short, f"--{name}", help=f"{what} (default: {unless or default})", default=default, **how)


def _file(flags: Any, name: str, what: str, unless: str, metavar: str = "FILE", default: str | None = "") -> None:
    _add(flags, name, what, unless=unless, default=default, metavar=metavar)


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
