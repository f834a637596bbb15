"""What the extenders of a process share, and what of it is needed for those of a document."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from scheduler_runtime.config import Extender as Written
from scheduler_runtime.framework import RegistrationError
from scheduler_runtime.kube.client import Client
from scheduler_runtime.kube.watch import Reflector
from scheduler_runtime.scheduling.extenders.chain import Binds, ExtenderChain
from scheduler_runtime.scheduling.extenders.extender import Extender, needs_nodes
from scheduler_runtime.scheduling.extenders.http_calls import shown
from scheduler_runtime.scheduling.extenders.raw_objects import RawObjects

Reflectors = Collection[Reflector[Any]]


class ExtenderFactory:
    """Makes extenders. Nothing is watched, and nobody is connected to, for a document that has none."""

    def __init__(self, client: Client, binds: Binds) -> None:
        self._originals = RawObjects(client)
        self._binds = binds
        self._made: list[ExtenderChain] = []

    def made(self, written: Sequence[Written]) -> ExtenderChain | None:
        """The extenders of a document, None when it has none. Raises RegistrationError."""
        if not written:
            return None
        each = [self._one(extender) for extender in written]
        self._made.append(ExtenderChain(each, self._originals, self._binds))
        return self._made[-1]

    def _one(self, written: Written) -> Extender:
        try:
            return Extender(written, self._originals)
        except (OSError, ValueError) as error:
            problem = f"extender {shown(written.url_prefix)}: its tlsConfig cannot be used: {error}"
            raise RegistrationError(problem) from error

    @property
    def scoring(self) -> int:
        """How many extenders are being asked how good nodes are."""
        return sum(each.scoring for each in self._made)

    @property
    def reflectors(self) -> Reflectors:
        """What has to run."""
        return self._originals.reflectors

    def reflectors_for(self, written: Sequence[Written]) -> Reflectors:
        """What would have to run besides, for the extenders of another document."""
        if self.reflectors or not any(needs_nodes(each) for each in written):
            return ()
        return (self._originals.reflector_of_nodes(),)

    def adopt(self, new: Reflectors, written: Sequence[Written]) -> Reflectors:
        """Go by ``new`` as well; return what need not run any longer."""
        before = self.reflectors
        if not any(needs_nodes(each) for each in written):
            self._originals.adopt(None)
            return before
        for each in new:
            self._originals.adopt(each)
        return ()

    def keep(self, in_force: Iterable[object]) -> None:
        """End the connections of all that were made but are not ``in_force``; to be called in the event loop."""
        kept = set(in_force)
        for each in self._made:
            if each not in kept:
                each.close()
        self._made = [each for each in self._made if each in kept]

    def close(self) -> None:
        """End all connections."""
        self.keep(())
