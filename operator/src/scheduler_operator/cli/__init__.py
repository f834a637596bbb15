"""The ``berth`` command: what can be known of profiles and documents without a cluster.

    arguments ──► program ──► one of commands/ ──► an Answer ──► console
                                  │
                                  └── reading ──► processes (profiles rendered, documents as they stand)

A command imports what it needs when it is run, so that each of them starts in a blink.
"""

from scheduler_operator.cli.program import main

__all__ = ["main"]
