"""From the configurations of other schedulers to SchedulerProfile and PluginConfig objects. Pure.

    document ──► its kind ──► one draft of a process ──► today's words ──► shortest form ──► objects
                    │                                                                           │
                    └──► whatever nobody read or could carry over ──► remarks ◄─────────────────┘

Nothing is dropped in silence: every leaf of an input is in the objects, is what would hold anyway, or
lies at the path of a remark.
"""

from scheduler_operator.migrate.outcome import Imported, Remark
from scheduler_operator.migrate.reading import import_all, imported

__all__ = ["Imported", "Remark", "import_all", "imported"]
