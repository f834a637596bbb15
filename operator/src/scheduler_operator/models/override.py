"""``spec.overrides``: RFC 6902 operations on the rendered document, for what no field says."""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, WithJsonSchema

from scheduler_operator.models.fields import Model, cel, rules
from scheduler_runtime.catalog.checks import refuse

POINTER = r"^(/([^/~]|~[01])*)+$"


def _as_pointer(written: Any) -> Any:
    """``written``, unless it is text that is no pointer: a sentence says more than the pattern does."""
    if isinstance(written, str) and not re.fullmatch(POINTER, written):
        said = "the whole document" if not written else "no JSON pointer"
        refuse([((), f"{written!r} is {said}; write a place in it, such as /profiles/0/percentageOfNodesToScore")])
    return written


Pointer = Annotated[str, Field(max_length=1024, pattern=POINTER), BeforeValidator(_as_pointer)]
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

    op: Literal["add", "remove", "replace", "move", "copy", "test"] = Field(description="What to do, as in RFC 6902.")
    path: Pointer = Field(description="Where, as a JSON pointer such as /profiles/0/percentageOfNodesToScore.")
    source: Pointer | None = Field(None, alias="from", description="Where move and copy take the value from.")
    value: AnyValue = Field(None, description="What add, replace and test are about.")

    @property
    def lacks_value(self) -> bool:
        """Whether the operation needs a value and has none; a CEL rule cannot look at a value of any type."""
        return self.op in ("add", "replace", "test") and "value" not in self.model_fields_set

    def operation(self) -> dict[str, Any]:
        """The operation as RFC 6902 writes it."""
        return self.model_dump(by_alias=True, exclude_unset=True)
