"""Pydantic models of the two kinds that users write, ``berth.dev/v1alpha1``."""

from scheduler_operator.models.plugin_config import PluginConfigSpec
from scheduler_operator.models.scheduler_profile import ProfileSpec
from scheduler_operator.models.scheduler_spec import SchedulerSpec
from scheduler_operator.models.status import Condition, PluginConfigStatus, ProfileStatus
from scheduler_operator.resources.kinds import API_VERSION, GROUP, VERSION

__all__ = [
    "API_VERSION",
    "GROUP",
    "VERSION",
    "Condition",
    "PluginConfigSpec",
    "PluginConfigStatus",
    "ProfileSpec",
    "ProfileStatus",
    "SchedulerSpec",
]
