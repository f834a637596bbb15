"""Every check there is. A new one is written in the module of its theme and named here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from . import arguments, process, weights
from .code import Check, Code
from .subjects import Meaning, Whole, Written

OF_DOCUMENT: tuple[Check[Whole], ...] = (process.shared_lease_name, process.tiny_qps)
OF_PROFILE: tuple[Check[Written], ...] = (weights.weight_reset,)
OF_MEANING: tuple[Check[Meaning], ...] = (arguments.disabled_but_configured,)

CODES: Mapping[str, Code] = MappingProxyType(
    {
        code.name: code
        for code in (
            *(check.code for check in OF_PROFILE),
            *(check.code for check in OF_MEANING),
            *(check.code for check in OF_DOCUMENT),
        )
    }
)
"""The codes by name."""
