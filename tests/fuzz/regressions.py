"""Inputs that once ended badly, each with every command for ever."""

INPUTS: tuple[bytes, ...] = (
    b"",
    b"\0",
)
