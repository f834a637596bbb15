"""Truncation of texts to what a status, an Event or a column of kubectl may hold."""


def truncate(text: str, longest: int) -> str:
    """Return ``text`` in at most ``longest`` characters; the last is an ellipsis where something was cut off."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def truncate_bytes(text: str, longest: int) -> str:
    """Return ``text`` in at most ``longest`` bytes of UTF-8: Events are limited in bytes."""
    encoded, ellipsis = text.encode(), "…"
    if len(encoded) <= longest:
        return text
    return encoded[: longest - len(ellipsis.encode())].decode(errors="ignore") + ellipsis
