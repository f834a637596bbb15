"""The settings of a scheduler process: from the command line, the document it starts with, and its environment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from scheduler_runtime.api import Plugin
from scheduler_runtime.app.flags import Overrides
from scheduler_runtime.catalog import Version
from scheduler_runtime.component.https import ProcessInfo, ServingSettings
from scheduler_runtime.config import Document
from scheduler_runtime.reload.document_sources import DocumentFiles, ObjectName
from scheduler_runtime.reload.plan import DocumentText
from scheduler_runtime.scheduling.pending import FLUSH_SECONDS


class NotReadyError(Exception):
    """The process cannot start with its settings; the message has a line per reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerSettings:
    """Everything that a process is started with."""

    source: str
    """Where the document comes from, for messages."""
    text: DocumentText
    document: Document
    """``text``, parsed, with the fields that the command line overrides."""
    kubeconfig: str
    """The path of the kubeconfig; empty for $KUBECONFIG, or the ServiceAccount of the pod."""
    version: Version | None
    """The Kubernetes version to behave like; the API server's if None."""
    feature_gates: Mapping[str, bool]
    """Those that the command line sets."""
    serving: ServingSettings
    user_agent: str
    seed: int | None = None
    """Makes all random choices repeatable, for tests."""
    longest_parked: float = FLUSH_SECONDS
    """After how many seconds a parked pod is tried again whatever happens."""
    hidden_metrics: Collection[str] = ()
    """The names of metrics that are not exported."""
    overrides: Overrides = field(default_factory=Overrides)
    """The fields that the command line decides, in this document and in those that follow."""
    plugins: Mapping[str, type[Plugin]] = field(default_factory=dict)
    """Plugins that neither come with this build nor are installed, by the names that profiles use."""
    allows_plugin_sources: bool = False
    """Whether plugins may be run whose code is in a ConfigMap."""
    files: DocumentFiles | None = None
    """Where new documents come from, unless ``config_map`` is set."""
    config_map: ObjectName | None = None
    """The ConfigMap that new documents come from."""
    pod: ObjectName | None = None
    """The pod that this process runs in."""
    process_info: ProcessInfo = field(default_factory=ProcessInfo)
    """The content of /statusz and /flagz."""

    @property
    def namespace(self) -> str:
        """The namespace of the scheduler; empty if it is unknown."""
        return next((name.namespace for name in (self.config_map, self.pod) if name), "")
