"""The requested share of each resource on every node, with what does not depend on the pod computed beforehand.

Dividing whole numbers is slow over thousands of nodes, and so is making them fractions. What does not depend on the
pod is divided beforehand, and again for each node that changed. The results are exactly those of dividing whole
numbers:

    rate = 100 / whole        level = 100 * used / whole + 0.5 / whole

``level + amount * rate`` is at least ``0.5 / whole`` away from any whole number, to both sides, while the errors of
these operations stay below 4.4e-14 together. So cutting it off gives the true quotient as long as ``whole`` is less
than 2**43, as it is for any node of up to 8 TiB. Where it is more, whole numbers are divided.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scheduler_runtime.api import MAX_SCORE, Mask, NodeTable

EXACT_BELOW = 2**43
_MAX_HUNDREDTHS = 2.0**30
"""More hundredths than this would not fit into the 32 bits in which they are cut off."""
_REWRITE_SHARE = 8
"""All rows are written anew when one in so many changed."""

Floats = NDArray[np.float64]
Shares = NDArray[np.int32]


class IncrementalUpdate:
    """A cache with a value for each row of a table, brought up to date before it is used."""

    def __init__(self) -> None:
        self._changes: object = None
        self._position = 0

    def catch_up(self, nodes: NodeTable) -> None:
        """Write the rows that changed since the last time, or all."""
        changes = nodes.changes
        # The position in the log of another table would mean nothing.
        rows = changes.since(self._position) if changes is self._changes else None
        self._changes, self._position = changes, changes.position
        if rows is None or len(rows) * _REWRITE_SHARE > len(nodes):
            self.write(nodes)
            return
        for row in rows if len(rows) < 2 else set(rows):
            self.write_row(nodes, row)

    def write(self, nodes: NodeTable) -> None:
        """Write all rows."""
        raise NotImplementedError

    def write_row(self, nodes: NodeTable, row: int) -> None:
        """Write one row."""
        raise NotImplementedError


class RequestedShares:
    """The hundredths of one resource that are requested on each node, or that are free."""

    def __init__(self, resource: str, *, of_free: bool) -> None:
        self._resource = resource
        self._sign = -1.0 if of_free else 1.0
        self._empty = float(MAX_SCORE) if of_free else 0.0
        self._overcommitted = -1.0 if of_free else MAX_SCORE + 1.0
        self._rate: Floats = np.zeros(0)
        self._level: Floats = self._rate
        self._bound = np.maximum if of_free else np.minimum
        self._bounds: Shares = np.zeros(0, np.int32)  # Comparing with an array is quicker than with a number.
        self._largest = 0
        self._steepest = 0.0
        self.is_offered_everywhere = True

    def write(self, nodes: NodeTable) -> None:
        """Write all rows."""
        whole, used = nodes.allocatable(self._resource), nodes.scored(self._resource)
        divisor = np.maximum(whole, 1).astype(np.float64)
        rate = self._sign * MAX_SCORE / divisor
        level = np.where(used > whole, self._overcommitted, self._empty + 0.5 / divisor + used * rate)
        self._rate = np.where(whole > 0, rate, 0.0)
        self._level = np.where(whole > 0, level, 0.0)
        self._bounds = np.full(len(nodes), MAX_SCORE - self._empty, np.int32)
        self._largest = int(whole.max(initial=0))
        self._steepest = float(np.abs(self._rate).max(initial=0.0))
        self.is_offered_everywhere = bool((whole > 0).all())

    def write_row(self, nodes: NodeTable, row: int) -> None:
        """Write one row. What holds for all rows may become stricter than it need be, until all are written."""
        whole, used = nodes.allocatable(self._resource).item(row), nodes.scored(self._resource).item(row)
        if whole <= 0:
            self._rate[row] = self._level[row] = 0.0
            self.is_offered_everywhere = False
            return
        rate = self._sign * MAX_SCORE / whole
        self._rate[row] = rate
        self._level[row] = self._overcommitted if used > whole else self._empty + 0.5 / whole + used * rate
        self._largest = max(self._largest, whole)
        self._steepest = max(self._steepest, abs(rate))

    def is_exact(self, amount: int) -> bool:
        """True if :meth:`shares` are those of dividing whole numbers."""
        return self._largest < EXACT_BELOW and 0 <= amount * self._steepest < _MAX_HUNDREDTHS

    def shares(self, amount: int) -> Shares:
        """The hundredths, from 0 to 100, with ``amount`` more in use; 0 where the resource is not offered."""
        hundredths = self._rate * float(amount)
        hundredths += self._level
        shares = hundredths.astype(np.int32)
        return self._bound(shares, self._bounds, out=shares)

    @property
    def is_offered(self) -> Mask:
        """The nodes that offer the resource."""
        is_offered: Mask = self._rate != 0.0
        return is_offered
