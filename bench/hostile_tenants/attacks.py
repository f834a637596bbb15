"""Every attack, and the process that runs them at once.

What the API server refuses is counted: an attack that it refuses is one that it held off. What a policy or a missing
right has to refuse is in ``refused_writes``, and a breach when it is not.

Some attacks are no part of this story:

* A false API server, or a proxy before it, is the whole cluster's: ``tests/fuzz`` and the tests of ``kube`` have it.
* A deployed image with files that the lock does not name, or an old dependency, harms before anything runs: ``image``
  and ``tests/workspace`` have that.
* Files of a scheduler's own container, such as a link in ``--cert-dir``, take who can write there already.
* What a stolen token may do by right, as kube-scheduler's may: to delete pods, to write events under any name. No
  scheduler is left unharmed by who may delete its pods. SECURITY.md says so.
* Thousands of schedulers, of profiles that are in order: a ResourceQuota is against that.
* Administrators who write in the operator's name; policies let them. ``test_config_map_writers`` has what follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence

import uvloop

from bench.hostile_tenants import author_attacks, network_attacks, tenant_attacks
from bench.hostile_tenants.attacker import Outcomes, Target
from bench.hostile_tenants.refused_writes import refused_writes

ATTACKS: Sequence[Callable[[Target, Outcomes], Awaitable[None]]] = (
    tenant_attacks.deep_managed_fields,
    tenant_attacks.long_lists,
    tenant_attacks.slow_pods,
    tenant_attacks.bound_terms,
    tenant_attacks.largest_requests,
    tenant_attacks.unlike_classes,
    tenant_attacks.extreme_node,
    author_attacks.bombs,
    author_attacks.spoiler,
    author_attacks.endless_extender,
    author_attacks.silent_extender,
    network_attacks.idle_connections,
    network_attacks.odd_requests,
    refused_writes,
)
NAMES = tuple(attack.__name__ for attack in ATTACKS)


def run(target: Target, names: Collection[str], seconds: float) -> Outcomes:
    """Run the attacks of these names for so long. For a process of its own: honest pods are measured in another."""
    return uvloop.run(_run(target, names, seconds))


async def _run(target: Target, names: Collection[str], seconds: float) -> Outcomes:
    outcomes = Outcomes()
    running = [asyncio.ensure_future(attack(target, outcomes)) for attack in ATTACKS if attack.__name__ in names]
    await asyncio.wait(running, timeout=seconds)
    for task in running:
        if task.done():
            outcomes.broken.append(f"{task.exception()!r}")
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    return outcomes
