"""The document a scheduler runs by: KubeSchedulerConfiguration v1, read, checked, expanded and written.

Pure: no clock, no network, no disk, no numpy. Everything wrong with a document is told at once.
"""

from .document import (
    API_VERSION,
    DEFAULT_SCHEDULER_NAME,
    ClientConnection,
    DisabledPlugin,
    Document,
    Extender,
    LeaderElection,
    PluginConfigEntry,
    Plugins,
    PluginSet,
    Profile,
)
from .expansion import EffectiveProfile, EnabledPlugin, effective, effective_profiles, unknown
from .findings import Finding, Severity
from .linter import CODES, Code, Engine, allowed, lint
from .loading import dump, load
from .problems import Problem, Problems, explain

__all__ = [
    "API_VERSION",
    "CODES",
    "DEFAULT_SCHEDULER_NAME",
    "ClientConnection",
    "Code",
    "DisabledPlugin",
    "Document",
    "EffectiveProfile",
    "EnabledPlugin",
    "Engine",
    "Extender",
    "Finding",
    "LeaderElection",
    "PluginConfigEntry",
    "PluginSet",
    "Plugins",
    "Problem",
    "Problems",
    "Profile",
    "Severity",
    "allowed",
    "dump",
    "effective",
    "effective_profiles",
    "explain",
    "lint",
    "load",
    "unknown",
]
