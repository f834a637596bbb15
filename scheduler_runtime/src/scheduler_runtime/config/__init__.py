"""The document a scheduler runs by: KubeSchedulerConfiguration v1, read, checked, expanded and written.

Pure: no clock, no network, no disk, no numpy. Everything wrong with a document is told at once.
"""

from scheduler_runtime.config.defaulting import defaulted
from scheduler_runtime.config.document_check import Accepted, check_document, effective_profiles
from scheduler_runtime.config.engines import Engine, lacking
from scheduler_runtime.config.expansion import (
    OF_ONES_OWN,
    EffectiveProfile,
    EnabledPlugin,
    default_profile,
    effective,
    unknown,
)
from scheduler_runtime.config.findings import Finding, Severity
from scheduler_runtime.config.linter import CODES, Code, allowed, lint
from scheduler_runtime.config.load_report import (
    CONDITION,
    LoadReport,
    Verdict,
    hash_of,
    read_load_report,
    startup_only_fields,
    startup_only_hash,
)
from scheduler_runtime.config.loading import document, dump, load, written
from scheduler_runtime.config.models import (
    API_VERSION,
    DEFAULT_SCHEDULER_NAME,
    ClientConnection,
    DisabledPlugin,
    Document,
    Extender,
    ExtenderTLSConfig,
    LeaderElection,
    PluginConfigEntry,
    Plugins,
    PluginSet,
    Profile,
)
from scheduler_runtime.config.problems import Problem, Problems, explain
from scheduler_runtime.config.yaml.source import Source, read

__all__ = [
    "API_VERSION",
    "CODES",
    "CONDITION",
    "DEFAULT_SCHEDULER_NAME",
    "OF_ONES_OWN",
    "Accepted",
    "ClientConnection",
    "Code",
    "DisabledPlugin",
    "Document",
    "EffectiveProfile",
    "EnabledPlugin",
    "Engine",
    "Extender",
    "ExtenderTLSConfig",
    "Finding",
    "LeaderElection",
    "LoadReport",
    "PluginConfigEntry",
    "PluginSet",
    "Plugins",
    "Problem",
    "Problems",
    "Profile",
    "Severity",
    "Source",
    "Verdict",
    "allowed",
    "check_document",
    "default_profile",
    "defaulted",
    "document",
    "dump",
    "effective",
    "effective_profiles",
    "explain",
    "hash_of",
    "lacking",
    "lint",
    "load",
    "read",
    "read_load_report",
    "startup_only_fields",
    "startup_only_hash",
    "unknown",
    "written",
]
