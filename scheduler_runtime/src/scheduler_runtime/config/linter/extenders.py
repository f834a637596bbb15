"""Extenders: services that every pod of the process may have to wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler_runtime.catalog.masking import MASK
from scheduler_runtime.catalog.syntax import Duration
from scheduler_runtime.config.linter.checks import Match, Severity, check
from scheduler_runtime.config.linter.inputs import DocumentInput
from scheduler_runtime.config.models import DEFAULT_SCHEDULER_NAME, ExtenderConfig

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<credentials>[^/?#@\s]*@)?(?P<host>\[[0-9A-Fa-f:.]+\]|[^/?#@:\[\]\s]+)(?::\d+)?(?:[/?#]\S*)?",
    re.IGNORECASE,
)


def _extenders(document: DocumentInput) -> Iterator[tuple[str, ExtenderConfig]]:
    for index, extender in enumerate(document.fields.extenders):
        yield f"extenders[{index}]", extender


def _has_verb(extender: ExtenderConfig) -> bool:
    return bool(extender.filter_verb or extender.preempt_verb or extender.prioritize_verb or extender.bind_verb)


def _match_address(extender: ExtenderConfig) -> re.Match[str] | None:
    """Return the scheme and the host of an extender; None when it cannot be called."""
    return _URL.fullmatch(extender.url_prefix)


@check("ExtenderUnverifiedTLS", Severity.WARNING)
def extender_unverified_tls(document: DocumentInput) -> Iterator[Match]:
    """An extender is called over TLS without checking its certificate; enableHTTPS without a CA has this effect too.

    Set in tlsConfig the caData or caFile of the CA that signed the extender's certificate.
    """
    for path, extender in _extenders(document):
        tls = extender.tls_config
        has_ca = tls is not None and bool(tls.ca_data or tls.ca_file)
        if tls is not None and tls.insecure:
            message = f"insecure: the certificate is not verified; any server at {extender.shown_url} is trusted"
            yield Match(f"{path}.tlsConfig.insecure", message, "tlsConfig: {insecure: false, caData: …}")
        elif extender.enable_https and not has_ca:
            message = f"without a CA the certificate is not verified; any server at {extender.shown_url} is trusted"
            yield Match(f"{path}.enableHTTPS", message, "tlsConfig: {caData: …}")


@check("ExtenderPasswordInURL", Severity.WARNING)
def extender_password_in_url(document: DocumentInput) -> Iterator[Match]:
    """An extender's address contains a user or a password, which everyone who may read the document knows then.

    Let the scheduler show a certificate instead: in a profile by tlsConfig.secretName, else by certFile and keyFile.
    """
    for path, extender in _extenders(document):
        address = _match_address(extender)
        if address is not None and address["credentials"]:
            message = f"everyone who may read the document knows the user and the password of {extender.shown_url}"
            better = extender.shown_url.replace(f"{MASK}@", "", 1)
            yield Match(f"{path}.urlPrefix", message, f"urlPrefix: {better}")


@check("ExtenderHalfKeyPair", Severity.ERROR)
def extender_half_key_pair(document: DocumentInput) -> Iterator[Match]:
    """An extender has a certificate without its key, or a key without its certificate; neither is used.

    Give both certData and keyData, or both files.
    """
    for path, extender in _extenders(document):
        tls = extender.tls_config
        if tls is None:
            continue
        certificate, key = bool(tls.cert_data or tls.cert_file), bool(tls.key_data or tls.key_file)
        if certificate is not key:
            here, missing = ("a certificate", "key") if certificate else ("a key", "certificate")
            source = "Data" if tls.cert_data or tls.key_data else "File"
            message = f"{here} without its {missing} is ignored; the scheduler presents no certificate"
            yield Match(f"{path}.tlsConfig", message, f"tlsConfig: {{{'key' if certificate else 'cert'}{source}: …}}")


@check("ExtenderPlainHTTP", Severity.WARNING)
def extender_plain_http(document: DocumentInput) -> Iterator[Match]:
    """enableHTTPS is set but the address begins with http://, which has priority: nothing is encrypted.

    Write the address with https://.
    """
    for path, extender in _extenders(document):
        address = _match_address(extender)
        if extender.enable_https and address is not None and address["scheme"].lower() == "http":
            better = "https" + extender.shown_url[len("http") :]
            message = f"{extender.shown_url} is called without encryption, whatever enableHTTPS says"
            yield Match(f"{path}.urlPrefix", message, f"urlPrefix: {better}")


@check("ExtenderBadURL", Severity.ERROR)
def extender_bad_url(document: DocumentInput) -> Iterator[Match]:
    """An extender's address is not an absolute http or https URL, so every call to it fails.

    Write the whole address, such as https://extender.kube-system.svc/scheduler.
    """
    for path, extender in _extenders(document):
        if _match_address(extender) is None and _has_verb(extender):
            message = f"{extender.shown_url!r} is not an address that can be called"
            yield Match(f"{path}.urlPrefix", message, f"urlPrefix: {_probable_address(extender)}")


def _probable_address(extender: ExtenderConfig) -> str:
    """Return the address that was perhaps meant: the same host, over https."""
    host = extender.shown_url.rpartition("://")[2].strip()
    return f"https://{host}" if _URL.fullmatch(f"https://{host}") else "https://extender.example.com"


@check("ExtenderWithoutVerb", Severity.WARNING)
def extender_without_verb(document: DocumentInput) -> Iterator[Match]:
    """An extender has no verb, so it is never called.

    Give it a filterVerb, prioritizeVerb, preemptVerb or bindVerb.
    """
    for path, extender in _extenders(document):
        if not _has_verb(extender):
            can_be_called = extender.managed_resources and _match_address(extender)
            fix = "filterVerb: filter" if can_be_called else "remove this entry"
            yield Match(path, f"{extender.shown_url} has no verb and is never called", fix)


@check("ExtenderNoTimeout", Severity.ERROR)
def extender_no_timeout(document: DocumentInput) -> Iterator[Match]:
    """An extender's timeout is negative, which means no limit: one call that hangs stops all scheduling.

    Leave httpTimeout out for five seconds, or give it a positive duration.
    """
    for path, extender in _extenders(document):
        if Duration(extender.http_timeout).seconds < 0:
            message = f"{extender.http_timeout} means no limit for a call, and pods are decided one by one"
            yield Match(f"{path}.httpTimeout", message, "httpTimeout: 5s")


@check("ExtenderNotIgnorable", Severity.WARNING)
def extender_not_ignorable(document: DocumentInput) -> Iterator[Match]:
    """Every pod of every profile needs an extender that is not ignorable: while it is down, no pod is placed.

    Set ignorable, or list in managedResources the resources of the pods that need it.
    """
    for path, extender in _extenders(document):
        if _stops_everything(extender) and not _schedules_itself(document, extender):
            message = f"while {extender.shown_url} does not answer, no pod of any profile is placed"
            yield Match(f"{path}.ignorable", message, "ignorable: true")


@check("ExtenderSchedulesItself", Severity.ERROR)
def extender_schedules_itself(document: DocumentInput) -> Iterator[Match]:
    """The default scheduler cannot place any pod without an extender that itself runs in pods of the cluster: if it is
    down, nothing can start it again.

    Set ignorable, name managedResources, or run the extender beside the scheduler in its own pod.
    """
    for path, extender in _extenders(document):
        if _stops_everything(extender) and _schedules_itself(document, extender):
            message = (
                f"the pods behind {extender.shown_url} are placed by {DEFAULT_SCHEDULER_NAME}, "
                "which cannot place any pod while they are down"
            )
            yield Match(f"{path}.ignorable", message, "ignorable: true")


def _stops_everything(extender: ExtenderConfig) -> bool:
    """Return True if no pod at all is placed without an answer of ``extender``."""
    is_called = bool(extender.filter_verb or extender.bind_verb)
    return is_called and not extender.ignorable and not extender.managed_resources


def _schedules_itself(document: DocumentInput, extender: ExtenderConfig) -> bool:
    """Return True if ``extender`` is a Service of the cluster, called by the scheduler of pods that name none."""
    address = _URL.fullmatch(_probable_address(extender))
    labels = address["host"].rstrip(".").split(".") if address is not None else []
    serves_all = DEFAULT_SCHEDULER_NAME in (profile.scheduler_name for profile in document.fields.profiles)
    return serves_all and "svc" in labels[1:]
