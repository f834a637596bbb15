"""``berth-scheduler --config FILE``: a drop-in for kube-scheduler."""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import importlib.metadata
import importlib.util
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scheduler_runtime import config
from scheduler_runtime.app import flags
from scheduler_runtime.app import logging_setup as logs
from scheduler_runtime.app import memory as heap
from scheduler_runtime.app import startup as running
from scheduler_runtime.app.flags import Overrides
from scheduler_runtime.app.settings import NotReadyError, Settings
from scheduler_runtime.catalog import DEFAULT_MINOR, Target, Version
from scheduler_runtime.config import Document, Problem, Problems, berth_options
from scheduler_runtime.config.berth_options import BerthOptions
from scheduler_runtime.reload.document_sources import DocumentFiles, ObjectName, explain_unreadable, read_text
from scheduler_runtime.reload.installed_plugins import load_installed
from scheduler_runtime.scheduling.plan import DocumentText
from scheduler_runtime.serving.https import AccessRules, ProcessInfo, ServingSettings, TlsSettings

logger = logging.getLogger("berth-scheduler")

NO_FILE = "the command line"
"""Where the document comes from without a file, for messages."""
YOUNG_OBJECTS = 20_000
"""So many new objects are looked through at once for what nobody needs: as Python has it, every 700, that takes 17 µs
for each pod that is scheduled; like this 4."""


@dataclass(frozen=True, slots=True)
class Refused:
    """What cannot be followed, and why."""

    source: str
    problems: Problems


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scheduler; return its exit code."""
    asked = flags.parsed(sys.argv[1:] if arguments is None else arguments)
    logs.set_up(as_json=asked.logging_format == "json", verbosity=asked.v)
    for flag, why in flags.ignored(asked):
        logger.warning("--%s has no effect: %s", flag, why)
    overrides = Overrides.of(asked, has_document=bool(asked.config))
    read = read_document(asked.config, overrides)
    if isinstance(read, Refused):
        return refuse(read)
    text, document = read
    if asked.write_config_to:
        return write(document, asked)
    settings = settings_of(asked, text, document, overrides)
    if isinstance(settings, Refused):
        return refuse(settings)
    try:
        return run(settings)
    except NotReadyError as error:
        return complain(*str(error).splitlines())


def read_document(file: str, overrides: Overrides) -> tuple[str, Document] | Refused:
    """The document as ``file`` has it, and as ``overrides`` make it; upstream's defaults without a file."""
    source = file or NO_FILE
    try:
        text = read_text(file) if file else flags.NO_DOCUMENT
    except (OSError, UnicodeDecodeError) as error:
        return Refused(source, unreadable(error))
    document = flags.load(text, overrides)
    return Refused(source, document) if isinstance(document, Problems) else (text, document)


def settings_of(asked: argparse.Namespace, text: str, document: Document, overrides: Overrides) -> Settings | Refused:
    """What to run with, by the flags and the document."""
    told = read_extras(asked.extras)
    if isinstance(told, Problems):
        return Refused(asked.extras, told)
    offered = load_installed(document)
    if isinstance(offered, Problems):
        return Refused(asked.config or NO_FILE, offered)
    kubeconfig = document.client_connection.kubeconfig or asked.kubeconfig
    return Settings(
        source=asked.config or NO_FILE,
        text=DocumentText(text, told),
        document=document,
        kubeconfig=kubeconfig,
        version=asked.kubernetes_version or asked.emulated_version,
        feature_gates=asked.feature_gates,
        serving=serving_settings(asked, kubeconfig),
        user_agent=user_agent(),
        longest_parked=asked.pod_max_in_unschedulable_pods_duration.seconds,
        without_metrics=asked.disabled_metrics,
        overrides=overrides,
        files=DocumentFiles(asked.config, asked.extras) if asked.config else None,
        config_map=asked.config_map,
        pod=own_pod(os.environ),
        process_info=ProcessInfo(importlib.metadata.version("berth-runtime"), flags.shown(asked)),
    )


def user_agent() -> str:
    """How this build calls itself."""
    return f"berth-scheduler/{importlib.metadata.version('berth-runtime')}"


def serving_settings(asked: argparse.Namespace, kubeconfig: str) -> ServingSettings:
    """Where and how to serve."""
    return ServingSettings(
        address=asked.bind_address,
        port=asked.secure_port,
        tls=TlsSettings(
            certificate_file=asked.tls_cert_file,
            key_file=asked.tls_private_key_file,
            directory=asked.cert_dir,
            least_version=asked.tls_min_version,
            suites=tuple(asked.tls_cipher_suites),
            client_ca_file=asked.client_ca_file,
            by_name=tuple(asked.tls_sni_cert_key),
        ),
        rules=AccessRules(
            allowed_paths=tuple(asked.authorization_always_allow_paths),
            token_seconds=asked.authentication_token_webhook_cache_ttl.seconds,
            allowed_seconds=asked.authorization_webhook_cache_authorized_ttl.seconds,
            denied_seconds=asked.authorization_webhook_cache_unauthorized_ttl.seconds,
        ),
        authentication_kubeconfig=asked.authentication_kubeconfig or kubeconfig,
        authorization_kubeconfig=asked.authorization_kubeconfig or kubeconfig,
        user_agent=user_agent(),
    )


def own_pod(environment: Mapping[str, str]) -> ObjectName | None:
    """The pod that this process runs in, as its manifest says; None outside of one."""
    found = ObjectName(environment.get("POD_NAMESPACE", ""), environment.get("POD_NAME", ""))
    return found if all(found) else None


def read_extras(file: str) -> str | Problems:
    """Return the text of the file, which is good, and none without a file."""
    try:
        text = read_text(file) if file else ""
    except (OSError, UnicodeDecodeError) as error:
        return unreadable(error)
    told = berth_options.load(text, file) if file else BerthOptions()
    return told if isinstance(told, Problems) else text


def run(settings: Settings) -> int:
    """Run in the faster event loop where it is installed."""
    heap.set_up()
    gc.set_threshold(YOUNG_OBJECTS, 20, 10)
    if importlib.util.find_spec("uvloop") is None:
        return asyncio.run(running.run(settings))
    return int(importlib.import_module("uvloop").run(running.run(settings)))


def unreadable(error: OSError | UnicodeDecodeError) -> Problems:
    """Why a file cannot be read."""
    return Problems((Problem("", explain_unreadable(error)),))


def write(document: Document, asked: argparse.Namespace) -> int:
    """Write ``document`` as it was asked for, or print why that cannot be; return the exit code.

    As with kube-scheduler no API server is asked, so for whom it was written is said unless somebody chose it.
    """
    file, chosen = asked.write_config_to, asked.kubernetes_version or asked.emulated_version
    target = Target(chosen or Version.parse(DEFAULT_MINOR), asked.feature_gates)
    try:
        Path(file).write_text(config.to_yaml(config.with_defaults(document, target)), encoding="utf-8")
    except OSError as error:
        return complain(f"{file}: cannot be written: {error.strerror}; --write-config-to chooses another file")
    if not chosen:
        logger.info("%s is written for Kubernetes %s; --kubernetes-version chooses another", file, DEFAULT_MINOR)
    return 0


def refuse(refused: Refused) -> int:
    """Print what is wrong; return the exit code."""
    return complain(*(f"{refused.source}: {problem}" for problem in refused.problems))


def complain(*lines: str) -> int:
    """Print what is wrong, a line each, for people, or log it where programs read; return the exit code."""
    for line in lines:
        if logs.is_json():
            logger.error("%s", line)
        else:
            print(line, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
