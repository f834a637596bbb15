"""Parsers of flag values. Each raises ArgumentTypeError, which argparse turns into a sentence about the flag."""

from __future__ import annotations

import ipaddress
import re
from argparse import ArgumentTypeError

from pydantic import TypeAdapter, ValidationError

from scheduler_runtime.app.server_version import explain_refusal
from scheduler_runtime.catalog import Version
from scheduler_runtime.catalog.syntax import Duration, DurationField
from scheduler_runtime.component.https import NamedPair
from scheduler_runtime.component.https.certificates import VERSIONS, SuiteError, openssl_name
from scheduler_runtime.reload.document_sources import ObjectName

LARGEST_PORT = 65535
_DURATION: TypeAdapter[str] = TypeAdapter(DurationField)
TRUE, FALSE = ("true", "t", "1"), ("false", "f", "0")


def boolean(text: str) -> bool:
    """Parse true or false, in the spellings of Go."""
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise ArgumentTypeError(f"{text!r} is neither true nor false")


def duration(text: str) -> Duration:
    """Parse a duration as Go writes it."""
    try:
        return Duration(_DURATION.validate_python(text))
    except ValidationError as error:
        raise ArgumentTypeError(f"{text!r} is not a duration; write it like 10s or 1m30s") from error


def port(text: str) -> int:
    """Parse a port, or 0."""
    if not re.fullmatch(r"[0-9]+", text) or int(text) > LARGEST_PORT:
        raise ArgumentTypeError(f"{text!r} is not a port; ports go from 1 to {LARGEST_PORT}, and 0 serves nothing")
    return int(text)


def address(text: str) -> str:
    """Parse an IP address; an empty text stands for all addresses of this machine."""
    try:
        return str(ipaddress.ip_address(text)) if text else "0.0.0.0"  # noqa: S104
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not an IP address") from error


def object_name(text: str) -> ObjectName:
    """Parse NAMESPACE/NAME."""
    namespace, _, name = text.partition("/")
    if not (namespace and name) or "/" in name:
        raise ArgumentTypeError(f"{text!r} is not the name of an object in a namespace; write it like NAMESPACE/NAME")
    return ObjectName(namespace, name)


def words(text: str) -> list[str]:
    """Parse words separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def paths(text: str) -> list[str]:
    """Parse paths of endpoints, which may end in a star."""
    for path in words(text):
        if "*" in path[:-1]:
            raise ArgumentTypeError(f"{path}: a star can only stand at the end")
    return words(text)


def suites(text: str) -> list[str]:
    """Parse Go's names of cipher suites."""
    for suite in words(text):
        try:
            openssl_name(suite) if "_WITH_" in suite else None  # the names of TLS 1.3's suites have no "_WITH_"
        except SuiteError as error:
            raise ArgumentTypeError(str(error)) from error
    return words(text)


def named_pair(text: str) -> list[NamedPair]:
    """Parse a certificate's file, its key's, and perhaps the host names they are for."""
    files, _, names = text.partition(":")
    certificate, _, key = files.partition(",")
    if not certificate or not key or "," in key:
        form = "FILE,FILE, or FILE,FILE:*.example.com,example.com for some names only"
        raise ArgumentTypeError(f"{text!r} is not a certificate and its key; write it like {form}")
    if addresses := [name for name in words(names) if _is_address(name)]:
        default = "clients that connect by address get the default certificate"
        raise ArgumentTypeError(f"{addresses[0]} is an address, not a host name: {default}")
    return [NamedPair(certificate, key, tuple(name.lower() for name in words(names)))]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def tls_version(text: str) -> str:
    """Parse Go's name of a TLS version."""
    if text and text not in VERSIONS:
        raise ArgumentTypeError(f"{text!r} is not one of {', '.join(VERSIONS)}")
    return text


def version(text: str) -> Version:
    """Parse a Kubernetes version that this build can behave like."""
    try:
        parsed = Version.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    if why := explain_refusal(parsed):
        raise ArgumentTypeError(why)
    return parsed


def emulated(text: str) -> Version:
    """Parse ``1.35`` or ``kube=1.35``."""
    return version(text.removeprefix("kube="))


def gates(text: str) -> dict[str, bool]:
    """Parse ``Gate=true,Other=false``, each perhaps with ``kube:`` before it."""
    states: dict[str, bool] = {}
    for word in words(text):
        gate, _, state = word.removeprefix("kube:").partition("=")
        if state not in ("true", "false"):
            raise ArgumentTypeError(f"{word!r} is not a gate and true or false; write it like {gate}=true")
        states[gate.strip()] = state == "true"
    return states
