"""Rendering of profiles into the document that their scheduler runs by. Pure: the same profiles, the same bytes.

    profiles of one process, plugin configs ──► KubeSchedulerConfiguration ──► effective plugins ──► permissions

All problems are reported at once, each at the path where its author wrote the value.
"""

from scheduler_operator.render.drafts import read
from scheduler_operator.render.outcome import ObjectProblems, PluginConfigs, Rendered, RenderedProfile
from scheduler_operator.render.plugin_configs import check
from scheduler_operator.render.relations import join_problem, joiners, owner_name, references, uses
from scheduler_operator.render.render_pass import SharedProcess, problems_alone, render, render_shared

__all__ = [
    "ObjectProblems",
    "PluginConfigs",
    "Rendered",
    "RenderedProfile",
    "SharedProcess",
    "check",
    "join_problem",
    "joiners",
    "owner_name",
    "problems_alone",
    "read",
    "references",
    "render",
    "render_shared",
    "uses",
]
