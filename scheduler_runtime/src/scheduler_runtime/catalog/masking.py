"""Stars in place of what messages and pages must not repeat: names and passwords in addresses, and private keys.

Extenders are called with both, and the document contains them. Whoever may read events, a status or a page may often
not read the document. What others say, an extender or a plugin, may repeat an address as well: so all text is masked
where it leaves the process, in log lines, events, conditions and pages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"
SECRET_FIELDS = frozenset(("keyData",))
"""Fields of a document whose values are never repeated."""
ADDRESS_FIELDS = frozenset(("urlPrefix",))
_CREDENTIALS = re.compile(r"://[^\s'\"]*@")


def without_credentials(address: str) -> str:
    """Return an address as everybody may read it, with stars in place of user, password and query."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        scheme, rest = "", address
    credentials, at_sign, rest = rest.rpartition("@")
    rest, question_mark, _ = rest.partition("?")
    return "".join((scheme, separator, MASK if at_sign else credentials, at_sign, rest, question_mark and f"?{MASK}"))


def masked(text: str) -> str:
    """Return ``text`` with stars in place of the user and password of each address in it."""
    return _CREDENTIALS.sub(f"://{MASK}@", text) if "://" in text else text


def masked_field(name: str, value: Any) -> Any:
    """Return ``value``, or what is shown of it if the field ``name`` is one with secrets."""
    if name in SECRET_FIELDS:
        return MASK if value else value
    return without_credentials(value) if name in ADDRESS_FIELDS and isinstance(value, str) else value


def masked_document(value: Any) -> Any:
    """Return a document, or a part of one, as everybody may read it."""
    if isinstance(value, Mapping):
        return {name: masked_document(masked_field(name, inner)) for name, inner in value.items()}
    return [masked_document(inner) for inner in value] if isinstance(value, list | tuple) else value
