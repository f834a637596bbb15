"""Extenders: services that every pod of the process may have to wait for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scheduler_runtime.catalog.durations import Duration
from scheduler_runtime.config.findings import Severity
from scheduler_runtime.config.linter.checks import Code, Match, check
from scheduler_runtime.config.linter.inputs import DocumentInput
from scheduler_runtime.config.models import DEFAULT_SCHEDULER_NAME, Extender

_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[^/?#@:\[\]\s]+)(?::\d+)?(?:[/?#]\S*)?", re.IGNORECASE
)


def _extenders(whole: DocumentInput) -> Iterator[tuple[str, Extender]]:
    for index, extender in enumerate(whole.document.extenders):
        yield f"extenders[{index}]", extender


def _verbs(extender: Extender) -> tuple[str, ...]:
    return tuple(
        verb
        for verb in (extender.filter_verb, extender.preempt_verb, extender.prioritize_verb, extender.bind_verb)
        if verb
    )


def _address(extender: Extender) -> re.Match[str] | None:
    """The scheme and the host of an extender; None when it cannot be called."""
    return _URL.fullmatch(extender.url_prefix)


@check(
    Code(
        "ExtenderUnverifiedTLS",
        Severity.WARNING,
        "An extender is asked over TLS without looking at its certificate; enableHTTPS without a CA does that too.",
        "Give tlsConfig the caData or caFile that signed the extender's certificate.",
    )
)
def extender_unverified_tls(whole: DocumentInput) -> Iterator[Match]:
    for path, extender in _extenders(whole):
        tls = extender.tls_config
        trusts = tls is not None and bool(tls.ca_data or tls.ca_file)
        if tls is not None and tls.insecure:
            message = f"insecure: whoever answers at {extender.url_prefix} is believed"
            yield Match(f"{path}.tlsConfig.insecure", message, "tlsConfig: {insecure: false, caData: …}")
        elif extender.enable_https and not trusts:
            message = (
                f"without a CA the scheduler verifies nothing; whoever answers at {extender.url_prefix} is believed"
            )
            yield Match(f"{path}.enableHTTPS", message, "tlsConfig: {caData: …}")


@check(
    Code(
        "ExtenderHalfKeyPair",
        Severity.ERROR,
        "An extender is given a certificate without its key, or a key without its certificate; neither is used.",
        "Give both certData and keyData, or both files.",
    )
)
def extender_half_key_pair(whole: DocumentInput) -> Iterator[Match]:
    for path, extender in _extenders(whole):
        tls = extender.tls_config
        if tls is None:
            continue
        certificate, key = bool(tls.cert_data or tls.cert_file), bool(tls.key_data or tls.key_file)
        if certificate is not key:
            here, missing = ("a certificate", "key") if certificate else ("a key", "certificate")
            source = "Data" if tls.cert_data or tls.key_data else "File"
            message = f"{here} without its {missing} is passed over; the scheduler does not say who it is"
            yield Match(f"{path}.tlsConfig", message, f"tlsConfig: {{{'key' if certificate else 'cert'}{source}: …}}")


@check(
    Code(
        "ExtenderPlainHTTP",
        Severity.WARNING,
        "enableHTTPS is set but the address begins with http://, and the address decides: nothing is encrypted.",
        "Write the address with https://.",
    )
)
def extender_plain_http(whole: DocumentInput) -> Iterator[Match]:
    for path, extender in _extenders(whole):
        address = _address(extender)
        if extender.enable_https and address is not None and address["scheme"].lower() == "http":
            better = "https" + extender.url_prefix[len("http") :]
            message = f"{extender.url_prefix} is asked in the clear, whatever enableHTTPS says"
            yield Match(f"{path}.urlPrefix", message, f"urlPrefix: {better}")


@check(
    Code(
        "ExtenderBadURL",
        Severity.ERROR,
        "An extender's address is no absolute http or https URL, so every call to it fails.",
        "Write the whole address, such as https://extender.kube-system.svc/scheduler.",
    )
)
def extender_bad_url(whole: DocumentInput) -> Iterator[Match]:
    for path, extender in _extenders(whole):
        if _address(extender) is None and _verbs(extender):
            message = f"{extender.url_prefix!r} is not an address that can be called"
            yield Match(f"{path}.urlPrefix", message, f"urlPrefix: {_meant(extender.url_prefix)}")


def _meant(written: str) -> str:
    """The address that was perhaps meant."""
    host = written.rpartition("://")[2].strip()
    return f"https://{host}" if _URL.fullmatch(f"https://{host}") else "https://extender.example.com"


@check(
    Code(
        "ExtenderWithoutVerb",
        Severity.WARNING,
        "An extender has no verb, so it is never asked anything.",
        "Give it a filterVerb, prioritizeVerb, preemptVerb or bindVerb.",
    )
)
def extender_without_verb(whole: DocumentInput) -> Iterator[Match]:
    for path, extender in _extenders(whole):
        if not _verbs(extender):
            can_be = extender.managed_resources and _address(extender)
            fix = "filterVerb: filter" if can_be else "remove this entry"
            yield Match(path, f"{extender.url_prefix} has no verb and is never asked", fix)


@check(
    Code(
        "ExtenderNoTimeout",
        Severity.ERROR,
        "An extender's timeout is negative, which means none: one call that hangs stops all scheduling.",
        "Leave httpTimeout out for five seconds, or give it a positive duration.",
    )
)
def extender_no_timeout(whole: DocumentInput) -> Iterator[Match]:
    for path, extender in _extenders(whole):
        if Duration(extender.http_timeout).seconds < 0:
            message = f"{extender.http_timeout} means that a call may take for ever, and pods are decided one by one"
            yield Match(f"{path}.httpTimeout", message, "httpTimeout: 5s")


@check(
    Code(
        "ExtenderNotIgnorable",
        Severity.WARNING,
        "Every pod of every profile has to pass an extender that is not ignorable: while it is down, none is placed.",
        "Set ignorable, or name the managedResources that make a pod its business.",
    )
)
def extender_not_ignorable(whole: DocumentInput) -> Iterator[Match]:
    for path, extender in _extenders(whole):
        if _stops_everything(extender) and not _schedules_itself(whole, extender):
            message = f"while {extender.url_prefix} does not answer, no pod of any profile is placed"
            yield Match(f"{path}.ignorable", message, "ignorable: true")


@check(
    Code(
        "ExtenderSchedulesItself",
        Severity.ERROR,
        "The default scheduler cannot place a pod without an extender that itself runs as pods of the cluster: "
        "once it is down, nothing can start it again.",
        "Set ignorable, name managedResources, or run the extender beside the scheduler in its own pod.",
    )
)
def extender_schedules_itself(whole: DocumentInput) -> Iterator[Match]:
    for path, extender in _extenders(whole):
        if _stops_everything(extender) and _schedules_itself(whole, extender):
            message = (
                f"the pods behind {extender.url_prefix} are placed by {DEFAULT_SCHEDULER_NAME}, "
                "which cannot place any pod while they are down"
            )
            yield Match(f"{path}.ignorable", message, "ignorable: true")


def _stops_everything(extender: Extender) -> bool:
    asked = bool(extender.filter_verb or extender.bind_verb)
    return asked and not extender.ignorable and not extender.managed_resources


def _schedules_itself(whole: DocumentInput, extender: Extender) -> bool:
    """Whether a Service of the cluster is asked by the scheduler that places pods which ask for none."""
    address = _URL.fullmatch(_meant(extender.url_prefix))
    labels = address["host"].rstrip(".").split(".") if address is not None else []
    serves_all = DEFAULT_SCHEDULER_NAME in (profile.scheduler_name for profile in whole.document.profiles)
    return serves_all and "svc" in labels[1:]
