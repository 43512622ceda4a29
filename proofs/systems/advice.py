"""What would need fewer states, where a check of a system did not come to its end."""

from __future__ import annotations

from collections.abc import Iterator

from proofs.logic.formulas import Formula
from proofs.systems import partial_order, symmetry
from proofs.systems.checking import Reduction
from proofs.systems.product import Composition


def advice(composition: Composition, formula: Formula | None, *, reducible: bool = True) -> str:
    """What to try, in words; `formula` is None for the standing checks.

    Not `reducible` is what is reduced already, and what no reduction keeps.
    """
    *tries, last = _tries(composition, formula, reducible)
    return f"try {', '.join(tries)}{' or ' if tries else ''}{last}"


def _tries(composition: Composition, formula: Formula | None, reducible: bool) -> Iterator[str]:
    system, channel = composition.system, composition.channel
    if reducible and not symmetry.why_not(system, formula):
        alike = " and ".join(
            ", ".join(system.members[place].name for place in one)
            for one in symmetry.interchangeable(system)
        )
        yield f"--reduce {Reduction.SYMMETRY.value} ({alike} are interchangeable)"
    if reducible and not partial_order.why_not(composition, formula):
        alone = "" if formula else " (for --property no-deadlock)"
        yield f"--reduce {Reduction.PARTIAL_ORDER.value}{alone}"
    if channel.capacity > 1:
        yield f"a smaller capacity than {channel.capacity}"
    elif not channel.synchronous:
        yield "--channel sync"
    if len(system.members) > 2:
        yield "fewer members"
    yield "more with --limit or --memory"
