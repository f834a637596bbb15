"""What plugins do for a pod that no node takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scheduler_runtime.api import CLEAR, Consult, Cycle, NodeTable, Nomination, Pod, Reject, Verdicts
from scheduler_runtime.framework.hook import Hook, caught_exceptions


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """What becomes of the pod's nominated node, None when it stays, and what is said about it."""

    nomination: Nomination | None
    reasons: Sequence[str]
    consult: Consult | None = None
    """Whom extenders have to be asked about before it is known."""


def run_post_filters(
    hooks: Sequence[Hook], pod: Pod, nodes: NodeTable, verdicts: Verdicts, cycle: Cycle, *, may_consult: bool
) -> PostFilterResult:
    """Ask plugin after plugin until one nominates a node, or says that nothing helps. Raises PluginError.

    With nobody to ask there is nothing to hope for from a node that was nominated earlier. They ``may_consult``
    extenders where there are some, and once.
    """
    if not hooks:
        return PostFilterResult(Nomination(CLEAR), ())
    cleared: Nomination | None = None
    reasons: list[str] = []
    for hook in hooks:
        match hook(pod, nodes, verdicts, cycle):
            case Nomination(node=str() as node, reasons=said) as nomination:
                if nodes.row(node) is None:
                    raise hook.error(f"it nominated {node!r}, which is no node")
                return PostFilterResult(nomination, _texts(hook, said))
            case Nomination(reasons=said) as cleared:
                reasons.extend(_texts(hook, said))
            case Consult() if not may_consult:
                raise hook.error("it answered Consult, but handle.consults(pod) is false or handle.consulted is there")
            case Consult() as consult:
                return PostFilterResult(None, (), consult)
            case Reject(reason=reason, resolvable=False):
                return PostFilterResult(None, _texts(hook, (reason,)))
            case Reject(reason=reason):
                reasons.extend(_texts(hook, (reason,)))
            case None:
                pass
            case answer:
                reasons.extend(_texts(hook, answer))
    return PostFilterResult(cleared, reasons)


def _texts(hook: Hook, answer: object) -> Sequence[str]:
    if not isinstance(answer, Iterable) or isinstance(answer, str):
        raise hook.error(f"it answered {answer!r}; wanted are reasons, a Nomination or a Reject")
    try:
        texts = tuple(answer)
    except caught_exceptions() as error:  # It yields them one by one.
        raise hook.error(error) from error
    for text in texts:
        if not isinstance(text, str):
            raise hook.error(f"it gave {text!r} as a reason; wanted is text")
    return texts
