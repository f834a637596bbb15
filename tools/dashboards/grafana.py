"""Grafana's dashboards as JSON, from what is worth writing down of them: titles, queries, units."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
WIDTH, HEIGHT = 8, 8
SCHEMA_VERSION = 39
"""Of Grafana 10.4: later ones read it, too."""


@dataclass(frozen=True, slots=True)
class Query:
    """An expression, and what its lines are called: labels in braces."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over time."""

    title: str
    description: str
    queries: Sequence[Query]
    unit: str = "short"

    def to_object(self) -> dict[str, Any]:
        """Return the panel without its place."""
        targets = [
            {
                "refId": chr(ord("A") + index),
                "datasource": DATASOURCE,
                "expr": query.expression,
                "legendFormat": query.legend,
            }
            for index, query in enumerate(self.queries)
        ]
        custom = {"drawStyle": "line", "fillOpacity": 10, "showPoints": "never", "spanNulls": False}
        legend = {"displayMode": "list", "placement": "bottom"}
        return {
            "type": "timeseries",
            "title": self.title,
            "description": self.description,
            "datasource": DATASOURCE,
            "targets": targets,
            "fieldConfig": {"defaults": {"unit": self.unit, "min": 0, "custom": custom}, "overrides": []},
            "options": {"legend": legend, "tooltip": {"mode": "multi", "sort": "desc"}},
        }


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under a heading."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the top: the values of a label."""

    name: str
    metric: str
    label: str

    def to_object(self) -> dict[str, Any]:
        """Return the variable: any number of the values may be chosen, and all are at first."""
        query = f"label_values({self.metric}, {self.label})"
        return {
            "name": self.name,
            "type": "query",
            "datasource": DATASOURCE,
            "query": {"query": query, "refId": self.name},
            "definition": query,
            "refresh": 2,
            "sort": 1,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
        }


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A page of panels."""

    uid: str
    title: str
    description: str
    variables: Sequence[Variable]
    rows: Sequence[Row]

    def panels(self) -> Iterator[Panel]:
        """Yield every panel."""
        for row in self.rows:
            yield from row.panels

    def to_json(self) -> str:
        """Return the dashboard as Grafana imports it."""
        datasource = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
        dashboard = {
            "uid": self.uid,
            "title": self.title,
            "description": self.description,
            "tags": ["berth", "kubernetes"],
            "editable": True,
            "graphTooltip": 1,
            "schemaVersion": SCHEMA_VERSION,
            "refresh": "30s",
            "time": {"from": "now-1h", "to": "now"},
            "templating": {"list": [datasource, *(variable.to_object() for variable in self.variables)]},
            "panels": list(self.placed_panels()),
        }
        return json.dumps(dashboard, indent=1, ensure_ascii=False) + "\n"

    def placed_panels(self) -> Iterator[dict[str, Any]]:
        """Yield headings and panels with their places, each row below the one before."""
        number, top = 0, 0
        for row in self.rows:
            number += 1
            place = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
            yield {"id": number, "type": "row", "title": row.title, "collapsed": False, "gridPos": place, "panels": []}
            top += 1
            for index, panel in enumerate(row.panels):
                number += 1
                line, column = divmod(index, COLUMNS // WIDTH)
                place = {"x": column * WIDTH, "y": top + line * HEIGHT, "w": WIDTH, "h": HEIGHT}
                yield {**panel.to_object(), "id": number, "gridPos": place}
            top += -(-len(row.panels) // (COLUMNS // WIDTH)) * HEIGHT
