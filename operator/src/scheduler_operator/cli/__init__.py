"""The ``berth`` command: checks, renders and imports profiles and documents without a cluster.

    arguments ──► program ──► one of commands/ ──► its output ──► console
                                  │
                                  └── reading ──► processes (profiles rendered, documents as they stand)

A command imports its modules when it is run, so that each command starts within a fraction of a second.
"""

from scheduler_operator.cli.program import main

__all__ = ["main"]
