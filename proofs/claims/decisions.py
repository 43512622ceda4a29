"""Claims about the decision functions themselves, for all n, k and j, as in the papers.

Everything else that is claimed follows from what these functions do in sessions. Here each is set
against the sentence of the paper that it stands for, case by case: the finite arguments all of
them, the numbers as symbols (`proofs.induction.numbers`). Sources: arXiv 2410.20600, Procedures 1
and 2; arXiv 2301.01819 as cited there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product

from proofs.core.results import Status, Verdict
from proofs.induction.numbers import Case, Numbers
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.decisions import Category, Guard
from pxp_fsm.protocol.interfaces import Decisions
from pxp_fsm.protocol.messages import Tag

TAGS = tuple(map(str, Tag))
BOOLEANS = (False, True)

Wrong = Iterator[str]
"""The cases in which a function is not what it should be, in words."""


def verdict(found: Wrong) -> Verdict:
    """HOLDS where no case is wrong, FAILS with the first one that is."""
    first = next(found, None)
    return Verdict(Status.HOLDS) if first is None else Verdict(Status.FAILS, first)


def _differing(
    what: str, names: Sequence[str], found: Callable[..., object], due: Callable[..., object]
) -> Wrong:
    """Where two pure functions of the numbers with these names differ."""

    def both(case: Case) -> tuple[object, object]:
        symbols = tuple(map(case.named, names))
        return found(*symbols), due(*symbols)

    for case, (one, other) in Numbers().cases((), both, {}):
        if one != other or type(one) is not type(other):
            where = " where " + " and ".join(map(str, case)) if case else ""
            yield f"{what}{where}: {one}, not {other}"


def categories(functions: Decisions) -> Wrong:
    """A is both, B is MATCH alone, C is AGREE alone, D is neither."""
    due = {(1, 1): Category.A, (1, 0): Category.B, (0, 1): Category.C, (0, 0): Category.D}
    for (match, agree), category in due.items():
        found = functions.category(bool(match), bool(agree))
        if found is not category:
            yield f"MATCH {bool(match)}, AGREE {bool(agree)}: {found}, not {category}"


def interact_guards(functions: Decisions) -> Wrong:
    """RATIFY in A; REJECT in D at j > k; else REVISE if one's answer changed, REFUTE if not."""

    def due(found: Category, changed: bool, j: int, k: int) -> Guard:
        if found is Category.A:
            return Guard.RAT
        if found is Category.D and k + 1 <= j:
            return Guard.REJ
        return {True: Guard.REV, False: Guard.REF}[changed]

    for found, changed in product(Category, BOOLEANS):
        yield from _differing(
            f"{found}, {'' if changed else 'un'}changed",
            "jk",
            partial(functions.interact_guard, found, changed),
            partial(due, found, changed),
        )


def interact_questions(functions: Decisions) -> Wrong:
    """Changed is asked for exactly where the guard depends on it."""

    def depends(found: Category, j: int, k: int) -> bool:
        guards = {functions.interact_guard(found, changed, j, k) for changed in BOOLEANS}
        return len(guards) == 2

    for found in Category:
        asks = partial(functions.interact_depends_on_change, found)
        yield from _differing(f"{found}, asking", "jk", asks, partial(depends, found))


def pxp_guards(functions: Decisions) -> Wrong:
    """RATIFY in A; REJECT in D; else REVISE if learning reconciles the two, REFUTE if not."""
    for found, reconciled in product(Category, BOOLEANS):
        by = {Category.A: Guard.RAT, Category.D: Guard.REJ}
        due = by.get(found, Guard.REV if reconciled else Guard.REF)
        guard = functions.pxp_guard(found, reconciled)
        if guard is not due:
            yield f"{found}, {'' if reconciled else 'not '}reconciled: {guard}, not {due}"


def pxp_questions(functions: Decisions) -> Wrong:
    """An agent learns exactly where its guard depends on what it learns."""
    for found in Category:
        both = {functions.pxp_guard(found, reconciled) for reconciled in BOOLEANS}
        learns = functions.pxp_depends_on_learning(found)
        if learns is not (len(both) == 2):
            yield f"{found}: an agent learns: {learns}"


def turns(functions: Decisions) -> Wrong:
    """The initiator has message 1, and the two alternate."""
    first = functions.initiator_speaks(1)
    if first is not True:
        yield f"message 1 is the initiator's: {first}"
    yield from _differing(
        "whose turn it is next",
        "j",
        lambda j: functions.initiator_speaks(j + 1),
        lambda j: not functions.initiator_speaks(j),
    )


def stop(functions: Decisions) -> Wrong:
    """Stop is a REJECT, or a RATIFY that answers a RATIFY; Done is Stop, or j > n after j + 1."""
    for tag, previous in product(TAGS, repeat=2):
        found = functions.stops(tag, previous)
        if found is not (tag == "REJECT" or (tag, previous) == ("RATIFY", "RATIFY")):
            yield f"{previous}, {tag} stops a session: {found}"
    for stopped in BOOLEANS:
        yield from _differing(
            f"done, {'' if stopped else 'not '}stopped",
            ("sent", "n"),
            partial(functions.done, stopped=stopped),
            partial(lambda stopped, sent, n: stopped or not sent + 1 <= n, stopped),
        )


def loops(functions: Decisions) -> Wrong:
    """PXP(k): a self-loop is a tag that answers itself, and k of them are enough."""
    for received, answer in product(TAGS, repeat=2):
        due = received == answer and answer not in ("INIT", "TERM")
        found = functions.repeats(received, answer)
        if found is not due:
            yield f"{answer} in answer to {received} is a self-loop: {found}"
    yield from _differing(
        "one more is too many",
        ("taken", "k"),
        functions.exhausted,
        lambda taken, k: not taken + 1 <= k,
    )
    unbounded = functions.exhausted(10**6, None)
    if unbounded is not False:
        yield f"without k one more is too many: {unbounded}"


def policy(functions: Decisions) -> Wrong:
    """By default TERM answers a RATIFY or a REJECT that one has oneself answered in kind."""
    for received, own in product((*TAGS, ""), repeat=2):
        due = (received, own) in (("RATIFY", "RATIFY"), ("REJECT", "REJECT"))
        found = functions.concluded(received, own)
        if found is not due:
            yield f"TERM in answer to {received}, having said {own or 'nothing'}: {found}"


def bounds(functions: Decisions) -> Wrong:
    """Exactly the whole numbers n >= 1 and k >= 1 are taken."""

    def taken(check: Callable[..., None], *given: object) -> bool:
        try:
            check(*given)
        except UsageError:
            return False
        return True

    accepts = partial(taken, functions.check_bounds)
    yield from _differing("taking n and k", "nk", accepts, lambda n, k: n >= 1 and k >= 1)
    yield from _differing(
        "taking k",
        "k",
        lambda k: taken(functions.check_bound, k, "k"),
        lambda k: k >= 1,
    )
    for odd in (True, 1.5, 2.0, "2"):
        if taken(functions.check_bound, odd, "k"):
            yield f"{odd!r} is taken for a whole number"


STATEMENTS: tuple[tuple[str, str, str, tuple[Callable[[Decisions], Wrong], ...]], ...] = (
    (
        "decides-as-written",
        "category and guard are those of Procedure 2, for all n and k",
        "interact",
        (
            categories,
            interact_guards,
        ),
    ),
    (
        "asks-what-matters",
        "whether the answer changed is asked exactly where the guard depends on it",
        "interact",
        (interact_questions,),
    ),
    (
        "stops-as-written",
        "the two take turns, and Stop and Done are those of Procedure 1, for all n",
        "interact",
        (
            turns,
            stop,
        ),
    ),
    (
        "takes-all-bounds",
        "just the whole numbers n >= 1 and k >= 1 are taken as bounds",
        "interact",
        (bounds,),
    ),
    (
        "decides-as-written",
        "category and guard are those of PXP",
        "pxp",
        (
            categories,
            pxp_guards,
        ),
    ),
    (
        "asks-what-matters",
        "an agent learns exactly where its guard depends on what it learns",
        "pxp",
        (pxp_questions,),
    ),
    (
        "hangs-up-when-concluded",
        "by default TERM answers a RATIFY or REJECT that one has said before",
        "pxp",
        (
            turns,
            policy,
        ),
    ),
    (
        "counts-self-loops",
        "just a tag but INIT and TERM that answers itself is a self-loop, k at most",
        "pxp",
        (loops,),
    ),
)
"""Claims by name: what is claimed, of which protocol, and what would be wrong."""
