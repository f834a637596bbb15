"""``$(NAME)`` in commands, arguments and environment values."""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(\$|\(([^()$]+)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace ``$(NAME)`` by its value; ``$$`` stands for ``$``, and an unknown name stays as it is written."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[1] == "$" else variables.get(found[2], found[0])

    return _REFERENCE.sub(value, text)
