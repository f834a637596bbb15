"""Texts that have to fit: a status, an Event and a column hold only so many characters."""


def cut(text: str, longest: int) -> str:
    """``text``, with an ellipsis for what is beyond ``longest`` characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def cut_to_bytes(text: str, longest: int) -> str:
    """The same where bytes are counted, and not characters."""
    written, end = text.encode(), "…"
    return text if len(written) <= longest else written[: longest - len(end.encode())].decode(errors="ignore") + end
