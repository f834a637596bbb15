"""What a scheduler process is started with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from scheduler_runtime.api import Plugin
from scheduler_runtime.app.flags import Overrides
from scheduler_runtime.catalog import Version
from scheduler_runtime.config import Document
from scheduler_runtime.reload.document_sources import DocumentFiles, ObjectName
from scheduler_runtime.scheduling.pending import FLUSH_SECONDS
from scheduler_runtime.scheduling.plan import DocumentText
from scheduler_runtime.serving.https import ProcessInfo, ServingSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a process is started with."""

    source: str
    """Where the document came from, for messages."""
    text: DocumentText
    document: Document
    """What the process is started with."""
    kubeconfig: str
    version: Version | None
    feature_gates: Mapping[str, bool]
    serving: ServingSettings
    user_agent: str
    seed: int | None = None
    longest_parked: float = FLUSH_SECONDS
    """After how many seconds a parked pod is tried again whatever happens."""
    without_metrics: Collection[str] = ()
    """Metrics that are not shown."""
    overrides: Overrides = field(default_factory=Overrides)
    """What the command line says instead of the document, of this one and of those that follow."""
    plugins: Mapping[str, type[Plugin]] = field(default_factory=dict)
    """Plugins that do not come with this build, beside those that are installed, by the names that profiles use."""
    files: DocumentFiles | None = None
    """Where new documents come from, unless it is a ConfigMap."""
    config_map: ObjectName | None = None
    """The ConfigMap that new documents come from."""
    pod: ObjectName | None = None
    """The pod that this process runs in."""
    process_info: ProcessInfo = field(default_factory=ProcessInfo)
    """What /statusz and /flagz say."""

    @property
    def namespace(self) -> str:
        """Where the scheduler lives; empty when that is not known."""
        return next((each.namespace for each in (self.config_map, self.pod) if each), "")


class NotReadyError(Exception):
    """The process cannot do its work as it was started; the message has a line per reason."""
