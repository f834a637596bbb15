"""Overrides (``spec.overrides``): RFC 6902 operations on the rendered document, for what no field covers."""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from scheduler_operator.models.fields import Model, cel, rules
from scheduler_runtime.catalog.bounds import describe_value
from scheduler_runtime.catalog.syntax import refuse

MAX_POINTER = 1024
POINTER = r"^(/([^/~]|~[01])*)+$"


def _check_pointer(value: Any) -> Any:
    """Refuse text that is no pointer, with a sentence that helps more than the pattern does."""
    if isinstance(value, str) and len(value) <= MAX_POINTER and not re.fullmatch(POINTER, value):
        mistake = "the whole document" if not value else "no JSON pointer"
        place = "write a place in it, such as /profiles/0/percentageOfNodesToScore"
        refuse([((), f"{describe_value(value)} is {mistake}; {place}")])
    return value


Pointer = Annotated[str, Field(max_length=MAX_POINTER, pattern=POINTER), BeforeValidator(_check_pointer)]
AnyValue = Annotated[Any, WithJsonSchema({"x-kubernetes-preserve-unknown-fields": True})]


class Override(Model):
    """One change of the rendered document."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            cel(
                "(self.op in ['move', 'copy']) == has(self.from)",
                "move and copy need from; the other operations take none",
            )
        )
    )

    op: Literal["add", "remove", "replace", "move", "copy", "test"] = Field(
        description="The operation, as in RFC 6902."
    )
    path: Pointer = Field(description="The place, as a JSON pointer such as /profiles/0/percentageOfNodesToScore.")
    source: Pointer | None = Field(None, alias="from", description="The source of move and copy.")
    value: AnyValue = Field(None, description="The value for add, replace and test.")

    @property
    def lacks_value(self) -> bool:
        """True if the operation needs a value and has none; a CEL rule cannot check a value of any type."""
        return self.op in ("add", "replace", "test") and "value" not in self.model_fields_set
