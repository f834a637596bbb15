"""The document a scheduler runs by: KubeSchedulerConfiguration v1, read, checked, expanded and written.

Pure: no clock, no network, no disk, no numpy. Everything wrong with a document is told at once.
"""

from .defaulting import defaulted
from .engines import Engine, lacking
from .expansion import OF_ONES_OWN, EffectiveProfile, EnabledPlugin, default_profile, effective, unknown
from .findings import Finding, Severity
from .linter import CODES, Code, allowed, lint
from .loaded import CONDITION, Loaded, Verdict, fixed, fixed_hash, hash_of, loaded
from .loading import document, dump, load, written
from .models import (
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
from .problems import Problem, Problems, explain
from .source import Source, read
from .whole import Accepted, effective_profiles, judge

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
    "Loaded",
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
    "default_profile",
    "defaulted",
    "document",
    "dump",
    "effective",
    "effective_profiles",
    "explain",
    "fixed",
    "fixed_hash",
    "hash_of",
    "judge",
    "lacking",
    "lint",
    "load",
    "loaded",
    "read",
    "unknown",
    "written",
]
