"""How a flag's value is read. Each raises what argparse turns into a sentence."""

from __future__ import annotations

import ipaddress
import re
from argparse import ArgumentTypeError

from pydantic import TypeAdapter, ValidationError

from scheduler_runtime.app.server_version import refusal
from scheduler_runtime.catalog import Version
from scheduler_runtime.catalog.durations import Duration, DurationField
from scheduler_runtime.reload.document_sources import ObjectName
from scheduler_runtime.serving.https import NamedPair
from scheduler_runtime.serving.https.certificates import VERSIONS, SuiteError, openssl_name

LARGEST_PORT = 65535
_DURATION: TypeAdapter[str] = TypeAdapter(DurationField)
TRUE, FALSE = ("true", "t", "1"), ("false", "f", "0")


def boolean(text: str) -> bool:
    """True or false, as Go reads them."""
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise ArgumentTypeError(f"{text!r} is neither true nor false")


def duration(text: str) -> Duration:
    """A duration as Go writes it."""
    try:
        return Duration(_DURATION.validate_python(text))
    except ValidationError as error:
        raise ArgumentTypeError(f"{text!r} is not a duration; write it like 10s or 1m30s") from error


def port(text: str) -> int:
    """A port, or 0."""
    if not re.fullmatch(r"[0-9]+", text) or int(text) > LARGEST_PORT:
        raise ArgumentTypeError(f"{text!r} is not a port; ports go from 1 to {LARGEST_PORT}, and 0 serves nothing")
    return int(text)


def address(text: str) -> str:
    """An IP address; an empty one stands for all of this machine's."""
    try:
        return str(ipaddress.ip_address(text)) if text else "0.0.0.0"  # noqa: S104
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r} is not an IP address") from error


def object_name(text: str) -> ObjectName:
    """An object in a namespace."""
    namespace, _, name = text.partition("/")
    if not (namespace and name) or "/" in name:
        raise ArgumentTypeError(f"{text!r} is not the name of an object in a namespace; write it like NAMESPACE/NAME")
    return ObjectName(namespace, name)


def words(text: str) -> list[str]:
    """What is separated by commas."""
    return [each.strip() for each in text.split(",") if each.strip()]


def paths(text: str) -> list[str]:
    """Paths of the endpoints; a star may only end one."""
    for each in words(text):
        if "*" in each[:-1]:
            raise ArgumentTypeError(f"{each}: a star can only stand at the end")
    return words(text)


def suites(text: str) -> list[str]:
    """Cipher suites by the names that Go gives them."""
    for each in words(text):
        try:
            openssl_name(each) if "_WITH_" in each else None
        except SuiteError as error:
            raise ArgumentTypeError(str(error)) from error
    return words(text)


def named_pair(text: str) -> list[NamedPair]:
    """A certificate, its key, and perhaps what they are for."""
    files, _, names = text.partition(":")
    certificate, _, key = files.partition(",")
    if not certificate or not key or "," in key:
        form = "FILE,FILE, or FILE,FILE:*.example.com,example.com for some names only"
        raise ArgumentTypeError(f"{text!r} is not a certificate and its key; write it like {form}")
    if addresses := [each for each in words(names) if _is_address(each)]:
        whoever = "whoever asks by an address gets the certificate for everybody"
        raise ArgumentTypeError(f"{addresses[0]} is an address, and no name of a host: {whoever}")
    return [NamedPair(certificate, key, tuple(each.lower() for each in words(names)))]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def tls_version(text: str) -> str:
    """The name that Go gives a version of TLS."""
    if text and text not in VERSIONS:
        raise ArgumentTypeError(f"{text!r} is not one of {', '.join(VERSIONS)}")
    return text


def version(text: str) -> Version:
    """A version of Kubernetes that can be followed."""
    try:
        asked = Version.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    if why := refusal(asked):
        raise ArgumentTypeError(why)
    return asked


def emulated(text: str) -> Version:
    """``1.35`` or ``kube=1.35``."""
    return version(text.removeprefix("kube="))


def gates(text: str) -> dict[str, bool]:
    """``Gate=true,Other=false``, each perhaps with ``kube:`` before it."""
    found: dict[str, bool] = {}
    for each in words(text):
        gate, _, written = each.removeprefix("kube:").partition("=")
        if written not in ("true", "false"):
            raise ArgumentTypeError(f"{each!r} is not a gate and true or false; write it like {gate}=true")
        found[gate.strip()] = written == "true"
    return found
