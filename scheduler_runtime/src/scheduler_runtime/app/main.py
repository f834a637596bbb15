"""The command ``berth-scheduler``: from its flags and files to the settings of a scheduler, which is then run."""

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

from scheduler_runtime import config
from scheduler_runtime.app import flags, startup
from scheduler_runtime.app.flags import Overrides
from scheduler_runtime.app.memory import set_up_malloc
from scheduler_runtime.app.settings import NotReadyError, SchedulerSettings
from scheduler_runtime.catalog import DEFAULT_MINOR, Target, Version
from scheduler_runtime.component.https import AccessRules, ProcessInfo, ServingSettings, TlsSettings
from scheduler_runtime.component.log_format import is_json, set_up_logging
from scheduler_runtime.config import Document, Problems, berth_options
from scheduler_runtime.framework import DECISION
from scheduler_runtime.reload.document_sources import DocumentFiles, ObjectName, explain_unreadable, read_text
from scheduler_runtime.reload.installed_plugins import load_installed
from scheduler_runtime.reload.plan import DocumentText

logger = logging.getLogger("berth-scheduler")

NO_FILE = "the command line"
"""Where the document comes from without a file, for messages."""
YOUNG_OBJECTS = 20_000
"""After so many new objects the garbage collector runs. With Python's default, 700, it takes 17 µs for each pod that
is scheduled; with this 4."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scheduler; return its exit code."""
    args = flags.parse_flags(sys.argv[1:] if arguments is None else arguments)
    set_up_logging(log_level(args.v), as_json=args.logging_format == "json")
    for verbose_library in ("asyncio", "aiohttp"):
        logging.getLogger(verbose_library).setLevel(logging.WARNING)
    for flag, why in flags.find_ignored_flags(args):
        logger.warning("--%s has no effect: %s", flag, why)
    overrides = Overrides.from_flags(args, has_document=bool(args.config))
    try:
        text, document = read_document(args.config, overrides)
        if args.write_config_to:
            write_document(document, args)
            return 0
        return run(create_settings(args, text, document, overrides))
    except NotReadyError as error:
        for line in str(error).splitlines():
            if is_json():
                logger.error("%s", line)
            else:
                print(line, file=sys.stderr)
        return 1


def log_level(verbosity: int) -> int:
    """Return the level of the log: from 2 on with a line for each decision, from 4 on with details for developers."""
    return logging.DEBUG if verbosity >= 4 else DECISION if verbosity >= 2 else logging.INFO


def read_document(file: str, overrides: Overrides) -> tuple[str, Document]:
    """Return the text of ``file``, and the document in it with ``overrides``; upstream's defaults without a file.

    Raises NotReadyError.
    """
    text = read_file(file) if file else flags.NO_DOCUMENT
    document = flags.load_document(text, overrides)
    if isinstance(document, Problems):
        raise not_ready(file or NO_FILE, document)
    return text, document


def read_file(file: str) -> str:
    """Return the content of ``file``. Raises NotReadyError."""
    try:
        return read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        raise NotReadyError(f"{file}: {explain_unreadable(error)}") from error


def not_ready(source: str, problems: Problems) -> NotReadyError:
    """Return the error with a line for each of the problems at ``source``."""
    return NotReadyError("\n".join(f"{source}: {problem}" for problem in problems))


def write_document(document: Document, args: argparse.Namespace) -> None:
    """Write ``document`` with its defaults to the file of --write-config-to. Raises NotReadyError.

    As with kube-scheduler no API server is asked for its version, so the log names the version unless a flag does.
    """
    file, version = args.write_config_to, args.kubernetes_version or args.emulated_version
    target = Target(version or Version.parse(DEFAULT_MINOR), args.feature_gates)
    try:
        # A new file is for us only: a document may contain the keys and passwords of extenders.
        with open(file, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)) as output:
            output.write(config.to_yaml(config.with_defaults(document, target)))
    except OSError as error:
        message = f"{file}: cannot be written: {error.strerror}; --write-config-to chooses another file"
        raise NotReadyError(message) from error
    if not version:
        logger.info("%s is written for Kubernetes %s; --kubernetes-version chooses another", file, DEFAULT_MINOR)


def create_settings(args: argparse.Namespace, text: str, document: Document, overrides: Overrides) -> SchedulerSettings:
    """Return the settings by the flags and the document. Raises NotReadyError."""
    extras = read_file(args.extras) if args.extras else ""
    if args.extras and isinstance(options := berth_options.load(extras, args.extras), Problems):
        raise not_ready(args.extras, options)
    source = args.config or NO_FILE
    # Loaded once more with the first plan: a broken package is reported before anything is served.
    if isinstance(plugins := load_installed(document), Problems):
        raise not_ready(source, plugins)
    kubeconfig = document.client_connection.kubeconfig or args.kubeconfig
    release = importlib.metadata.version("berth-runtime")
    user_agent = f"berth-scheduler/{release}"
    return SchedulerSettings(
        source=source,
        text=DocumentText(text, extras),
        document=document,
        kubeconfig=kubeconfig,
        version=args.kubernetes_version or args.emulated_version,
        feature_gates=args.feature_gates,
        serving=create_serving_settings(args, kubeconfig, user_agent),
        user_agent=user_agent,
        longest_parked=args.pod_max_in_unschedulable_pods_duration.seconds,
        hidden_metrics=args.disabled_metrics,
        overrides=overrides,
        allows_plugin_sources=args.allow_plugin_sources,
        files=DocumentFiles(args.config, args.extras) if args.config else None,
        config_map=args.config_map,
        pod=own_pod(os.environ),
        process_info=ProcessInfo(release, flags.flag_values(args)),
    )


def create_serving_settings(args: argparse.Namespace, kubeconfig: str, user_agent: str) -> ServingSettings:
    """Return the settings of the endpoints."""
    return ServingSettings(
        address=args.bind_address,
        port=args.secure_port,
        tls=TlsSettings(
            certificate_file=args.tls_cert_file,
            key_file=args.tls_private_key_file,
            directory=args.cert_dir,
            least_version=args.tls_min_version,
            suites=tuple(args.tls_cipher_suites),
            client_ca_file=args.client_ca_file,
            by_name=tuple(args.tls_sni_cert_key),
        ),
        rules=AccessRules(
            allowed_paths=tuple(args.authorization_always_allow_paths),
            token_seconds=args.authentication_token_webhook_cache_ttl.seconds,
            allowed_seconds=args.authorization_webhook_cache_authorized_ttl.seconds,
            denied_seconds=args.authorization_webhook_cache_unauthorized_ttl.seconds,
        ),
        authentication_kubeconfig=args.authentication_kubeconfig or kubeconfig,
        authorization_kubeconfig=args.authorization_kubeconfig or kubeconfig,
        user_agent=user_agent,
    )


def own_pod(environment: Mapping[str, str]) -> ObjectName | None:
    """Return the pod that this process runs in, as its manifest has it in the environment; None outside of one."""
    pod = ObjectName(environment.get("POD_NAMESPACE", ""), environment.get("POD_NAME", ""))
    return pod if all(pod) else None


def run(settings: SchedulerSettings) -> int:
    """Run the scheduler in uvloop, the faster event loop, where it is installed. Raises NotReadyError."""
    set_up_malloc()
    gc.set_threshold(YOUNG_OBJECTS, 20, 10)
    if importlib.util.find_spec("uvloop") is None:
        return asyncio.run(startup.run(settings))
    return int(importlib.import_module("uvloop").run(startup.run(settings)))
