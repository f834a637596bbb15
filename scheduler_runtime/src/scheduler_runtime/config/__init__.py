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
from .loading import dump, load
from .problems import Problem, Problems, explain

__all__ = [
    "API_VERSION",
    "DEFAULT_SCHEDULER_NAME",
    "ClientConnection",
    "DisabledPlugin",
    "Document",
    "EffectiveProfile",
    "EnabledPlugin",
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
    "dump",
    "effective",
    "effective_profiles",
    "explain",
    "load",
    "unknown",
]
