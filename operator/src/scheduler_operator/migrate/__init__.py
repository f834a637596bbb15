"""Import of other schedulers' configurations as SchedulerProfile and PluginConfig objects. Pure.

    document ──► its kind ──► ProcessDraft ──► plugins and words of v1 ──► shortest form ──► objects
                    │                                                                           │
                    └──► fields that nobody read or that have no counterpart ──► remarks ◄──────┘

Nothing is dropped in silence: every leaf of an input is in the objects, repeats a default, or lies at the path of a
remark.
"""

from scheduler_operator.migrate.importer import Imported, import_document, import_documents
from scheduler_operator.migrate.input_part import ImportRemark

__all__ = ["ImportRemark", "Imported", "import_document", "import_documents"]
