"""``berth-scheduler --config FILE``: a drop-in for kube-scheduler."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import importlib.metadata
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from scheduler_runtime import config, discovery, extras, logs, process
from scheduler_runtime.catalog import NEWEST, Target, Version
from scheduler_runtime.config import Document, Problem, Problems
from scheduler_runtime.extras import Extras
from scheduler_runtime.server_version import refusal

logger = logging.getLogger("berth-scheduler")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scheduler; return its exit code."""
    asked = parser().parse_args(arguments)
    logs.set_up(as_json=asked.logging_format == "json", verbosity=asked.v)
    try:
        text = Path(asked.config).read_text()
    except (OSError, UnicodeDecodeError) as error:
        return complain(f"{asked.config}: cannot be read: {getattr(error, 'strerror', error)}")
    document = config.load(text)
    if isinstance(document, Problems):
        return refuse(asked.config, document)
    if asked.write_config_to:
        Path(asked.write_config_to).write_text(with_defaults(document, asked.kubernetes_version, asked.feature_gates))
        return 0
    told = read_extras(asked.extras)
    if isinstance(told, Problems):
        return refuse(asked.extras, told)
    plugins = discovery.installed(document)
    if isinstance(plugins, Problems):
        return refuse(asked.config, plugins)
    settings = process.Settings(
        source=asked.config,
        text=text,
        document=document,
        kubeconfig=document.client_connection.kubeconfig or asked.kubeconfig,
        version=asked.kubernetes_version,
        feature_gates=asked.feature_gates,
        extras=told,
        address=asked.bind_address,
        port=asked.secure_port,
        user_agent=f"berth-scheduler/{importlib.metadata.version('berth-runtime')}",
        plugins=plugins,
    )
    try:
        return run(settings)
    except process.NotReadyError as error:
        return complain(*str(error).splitlines())


def read_extras(file: str) -> Extras | Problems:
    """Return what the file says, and the defaults without one."""
    try:
        return extras.load(Path(file).read_text(), file) if file else Extras()
    except (OSError, UnicodeDecodeError) as error:
        return Problems((Problem("", f"cannot be read: {getattr(error, 'strerror', error)}"),))


def run(settings: process.Settings) -> int:
    """Run in the faster event loop where it is installed."""
    try:
        uvloop = importlib.import_module("uvloop")
    except ImportError:
        return asyncio.run(process.run(settings))
    return int(uvloop.run(process.run(settings)))


def refuse(file: str, problems: Problems) -> int:
    """Print what is wrong with ``file``; return the exit code."""
    return complain(*(f"{file}: {problem}" for problem in problems))


def complain(*lines: str) -> int:
    """Print what is wrong, a line each, for people; return the exit code."""
    for line in lines:
        print(line, file=sys.stderr)
    return 1


def with_defaults(document: Document, asked: Version | None, feature_gates: Mapping[str, bool]) -> str:
    """Return the document as YAML with every default of the version asked for, or of the newest, filled in."""
    target = Target(asked or Version.parse(NEWEST), feature_gates)
    return config.written(config.defaulted(document, target))


def parser() -> argparse.ArgumentParser:
    """Return the flags, named as kube-scheduler's where they mean the same."""
    flags = argparse.ArgumentParser(
        prog="berth-scheduler",
        description="Schedule pods by a KubeSchedulerConfiguration, with plugins in Python.",
        allow_abbrev=False,
    )
    flags.add_argument("--config", required=True, metavar="FILE", help="the KubeSchedulerConfiguration")
    flags.add_argument(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="credentials, if the document names none (default: $KUBECONFIG, then those of the pod)",
    )
    flags.add_argument(
        "--kubernetes-version",
        type=version,
        metavar="VERSION",
        help="whose kube-scheduler to behave like (default: the API server's version)",
    )
    flags.add_argument(
        "--feature-gates",
        type=gates,
        default={},
        metavar="GATE=true,…",
        help="feature gates of that kube-scheduler to turn on or off",
    )
    flags.add_argument("--extras", default="", metavar="FILE", help="what the document has no field for")
    flags.add_argument("--bind-address", default="0.0.0.0", metavar="IP", help="serve on this address")  # noqa: S104
    flags.add_argument("--secure-port", type=int, default=10259, metavar="PORT", help="serve on this port")
    flags.add_argument("--write-config-to", metavar="FILE", help="write the document with its defaults there, and end")
    flags.add_argument("--logging-format", choices=("text", "json"), default="text", help="how the log looks")
    flags.add_argument("-v", type=int, default=0, metavar="LEVEL", help="4 and more logs what developers want")
    flags.add_argument("--version", action="version", version=importlib.metadata.version("berth-runtime"))
    return flags


def version(text: str) -> Version:
    """Read a flag's value. Raises what argparse turns into a sentence."""
    try:
        asked = Version.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if why := refusal(asked):
        raise argparse.ArgumentTypeError(why)
    return asked


def gates(text: str) -> dict[str, bool]:
    """Read a flag's value. Raises what argparse turns into a sentence."""
    found: dict[str, bool] = {}
    for each in filter(None, text.split(",")):
        gate, _, written = each.partition("=")
        if written not in ("true", "false"):
            raise argparse.ArgumentTypeError(f"{each!r} is not a gate and true or false; write it like {gate}=true")
        found[gate.strip()] = written == "true"
    return found


if __name__ == "__main__":
    sys.exit(main())
