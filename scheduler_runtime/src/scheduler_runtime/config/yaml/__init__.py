"""YAML and JSON as Kubernetes reads them, with the line of every value.

:func:`read_yaml` is the one function of this package. It uses PyYAML's scanner and parser, but not its constructor,
because Kubernetes makes something else of the parsed events:

* Kubernetes turns YAML into JSON by a mixture of YAML 1.1 and 1.2: ``y`` and ``off`` are booleans, dates are text, and
  a number that is whole is an integer however it is written (``scalars``).
* A key that is there twice is refused; PyYAML keeps the last one.
* A message needs the line of what it is about, also of a value inside a list or behind an alias.
* The work is bounded: large files, deep nesting and aliases that expand without end are refused.
"""

from scheduler_runtime.config.yaml.composer import SourcePosition
from scheduler_runtime.config.yaml.source import MAX_BYTES, Source, read_yaml

__all__ = ["MAX_BYTES", "Source", "SourcePosition", "read_yaml"]
