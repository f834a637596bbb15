"""The document a scheduler runs by: KubeSchedulerConfiguration v1, read, checked, expanded and written.

    text ─► yaml ─► loading (models) ─► document_check ─► expansion (arguments) ─► effective profiles
                                            │                                                     │
                                         problems                                       linter ─► findings

:func:`load` reads a text into a :class:`Document`; :func:`check_document` reports whether the kube-scheduler of a
version accepts it; :func:`expand_profiles` returns the plugins that run by it; :func:`lint` finds where an accepted
document silently does not do what it says; :func:`with_defaults` prints it with every default. Mistakes are values,
:class:`Problems`, and are reported all at once.

Pure: no clock, no network, no disk, no numpy.
"""

from scheduler_runtime.config.available_plugins import DECLARE_IT, Engine, missing_plugins, unknown_plugin_message
from scheduler_runtime.config.defaulting import with_defaults
from scheduler_runtime.config.document_check import Accepted, check_document, expand_profiles
from scheduler_runtime.config.document_text import dump, load, parse_document, to_yaml
from scheduler_runtime.config.expansion import EffectiveProfile, EnabledPlugin, default_profile, expand_profile
from scheduler_runtime.config.failure_report import FailingKind, Failure, failure_condition, read_failures
from scheduler_runtime.config.linter import CODES, Code, Finding, Severity, lint, split_allowed
from scheduler_runtime.config.load_report import (
    CONDITION,
    LoadReport,
    Verdict,
    document_hash,
    read_load_report,
    startup_only_fields,
    startup_only_hash,
)
from scheduler_runtime.config.models import (
    API_VERSION,
    DEFAULT_SCHEDULER_NAME,
    ClientConnection,
    Document,
    ExtenderConfig,
    ExtenderTLSConfig,
    LeaderElection,
    PluginConfigEntry,
    PluginEntry,
    Plugins,
    PluginSet,
    Profile,
)
from scheduler_runtime.config.problems import Problem, Problems, explain
from scheduler_runtime.config.yaml import Source, read_yaml

__all__ = [
    "API_VERSION",
    "CODES",
    "CONDITION",
    "DECLARE_IT",
    "DEFAULT_SCHEDULER_NAME",
    "Accepted",
    "ClientConnection",
    "Code",
    "Document",
    "EffectiveProfile",
    "EnabledPlugin",
    "Engine",
    "ExtenderConfig",
    "ExtenderTLSConfig",
    "FailingKind",
    "Failure",
    "Finding",
    "LeaderElection",
    "LoadReport",
    "PluginConfigEntry",
    "PluginEntry",
    "PluginSet",
    "Plugins",
    "Problem",
    "Problems",
    "Profile",
    "Severity",
    "Source",
    "Verdict",
    "check_document",
    "default_profile",
    "document_hash",
    "dump",
    "expand_profile",
    "expand_profiles",
    "explain",
    "failure_condition",
    "lint",
    "load",
    "missing_plugins",
    "parse_document",
    "read_failures",
    "read_load_report",
    "read_yaml",
    "split_allowed",
    "startup_only_fields",
    "startup_only_hash",
    "to_yaml",
    "unknown_plugin_message",
    "with_defaults",
]
