"""Texts that have to fit: a status, an Event and a column hold only so many characters."""


def cut(text: str, longest: int) -> str:
    """``text``, with an ellipsis for what is beyond ``longest`` characters."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
