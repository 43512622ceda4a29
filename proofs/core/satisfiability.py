"""A solver for propositional clauses: conflict-driven clause learning, as a compiled kernel.

Search, propagation by two watched literals and learning are those of MiniSat (Eén and Sörensson,
An extensible SAT-solver, SAT 2003); variables are decided in the order in which conflicts last met
them (Biere and Fröhlich, Evaluating CDCL variable scoring schemes, SAT 2015). Clauses may be added
between queries, and a query may assume literals: if it has no answer, a part of them that suffices
for that is known.

A literal is `2 * variable` or, negated, `2 * variable + 1`. A clause in `pool` is its size, the
next clause that watches its first literal, the next that watches its second one, its quality, and
its literals.
`heads` has for each literal the first clause that watches it; 0 is none.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from proofs.core.explore import TooLarge
from proofs.core.kernels import Array, Compiled, Interpreter
from proofs.core.webassembly import I32, I64, U8

TRAIL, NEXT, LEVEL, END, BACK, FRONT, LAST, STAMP, CONFLICTS, CORE = range(10)
"""Entries of `progress`: how many literals are assigned, and of these have been propagated; the
level; where the pool ends; the level to return to; the variable decided first, the one from which
the search for an undecided one begins, and the latest time; conflicts so far; the core's size."""

LEVEL_OF, REASON, BEFORE, AFTER, TIME, WIDTH = range(6)
"""Entries of a variable in `about`: its level, the clause that assigned it, its neighbours in the
order of decisions, when it was moved there, and how many entries a variable has."""


QUALITY, FIRST, SECOND = 3, 4, 5
"""Entries of a clause: 0 where it was given, else how many levels it joined when it was learned;
the literals that it watches."""


def propagate(pool: I32, heads: I32, truth: U8, trail: I32, about: I32, progress: I64) -> int:
    """Assign what follows; the clause that fails, or 0."""
    failed = 0
    while progress[NEXT] < progress[TRAIL] and failed == 0:
        gone = trail[progress[NEXT]] ^ 1
        progress[NEXT] += 1
        clause = heads[gone]
        heads[gone] = 0
        while clause > 0:
            if pool[clause + FIRST] == gone:
                pool[clause + FIRST], pool[clause + SECOND] = pool[clause + SECOND], gone
                pool[clause + 1], pool[clause + 2] = pool[clause + 2], pool[clause + 1]
            following, other = pool[clause + 2], pool[clause + FIRST]
            last = clause + FIRST + pool[clause]
            place = last
            if failed == 0 and truth[other] != 1:
                place = clause + SECOND + 1
                while place < last and truth[pool[place]] == 2:
                    place += 1
                if place == last:
                    if truth[other] == 2:
                        failed = clause
                    else:
                        truth[other], truth[other ^ 1] = 1, 2
                        about[(other >> 1) * WIDTH + LEVEL_OF] = progress[LEVEL]
                        about[(other >> 1) * WIDTH + REASON] = clause
                        trail[progress[TRAIL]] = other
                        progress[TRAIL] += 1
            if place < last:
                watched = pool[place]
                pool[place], pool[clause + SECOND] = gone, watched
                pool[clause + 2] = heads[watched]
                heads[watched] = clause
            else:
                pool[clause + 2] = heads[gone]
                heads[gone] = clause
            clause = following
    return failed


def return_to(
    level: int, truth: U8, trail: I32, levels: I32, about: I32, signs: U8, progress: I64
) -> int:
    """Take back what was assigned above a level; signs of bit 1 are kept for the next decision."""
    if progress[LEVEL] <= level:
        return 0
    first = levels[level]
    for place in range(progress[TRAIL] - 1, first - 1, -1):
        literal = trail[place]
        variable = literal >> 1
        truth[literal], truth[literal ^ 1] = 0, 0
        if signs[variable] < 2:
            signs[variable] = literal & 1
        if about[variable * WIDTH + TIME] > about[progress[LAST] * WIDTH + TIME]:
            progress[LAST] = variable
    progress[TRAIL], progress[NEXT], progress[LEVEL] = first, first, level
    return 0


def prefer(variable: int, about: I32, progress: I64) -> int:
    """Put a variable, which is assigned, where it is decided first."""
    at = variable * WIDTH
    if about[at + TIME] == 0 or progress[FRONT] == variable:
        return 0
    before, after = about[at + BEFORE], about[at + AFTER]
    if before > 0:
        about[before * WIDTH + AFTER] = after
    about[after * WIDTH + BEFORE] = before  # there is one, since it is not in front
    front = progress[FRONT]
    progress[STAMP] += 1
    about[front * WIDTH + AFTER] = variable
    about[at + BEFORE], about[at + AFTER], about[at + TIME] = front, 0, progress[STAMP]
    progress[FRONT] = variable
    return 0


def learn(  # noqa: PLR0912 - one pass over the conflict, whose parts share its counters
    failed: int, pool: I32, trail: I32, about: I32, seen: U8, learned: I32, progress: I64
) -> int:
    """What follows from a clause that fails, in `learned`; how many literals that has.

    The first is the only one of the present level; the second is of the level to return to.
    """
    size, open_, place, clause, literal = 1, 0, progress[TRAIL] - 1, failed, -1
    going = 1
    while going:
        for at in range(clause + FIRST, clause + FIRST + pool[clause]):
            variable = pool[at] >> 1
            level = about[variable * WIDTH + LEVEL_OF]
            if pool[at] != literal and seen[variable] == 0 and level > 0:
                seen[variable] = 1
                prefer(variable, about, progress)
                if level == progress[LEVEL]:
                    open_ += 1
                else:
                    learned[size] = pool[at]
                    size += 1
        while seen[trail[place] >> 1] == 0:
            place -= 1
        literal = trail[place]
        place -= 1
        clause = about[(literal >> 1) * WIDTH + REASON]
        seen[literal >> 1] = 0
        open_ -= 1
        if open_ == 0:
            going = 0
    learned[0] = literal ^ 1
    # What the others imply is left out; it stays seen until all have been looked at.
    for number in range(1, size):
        clause = about[(learned[number] >> 1) * WIDTH + REASON]
        if clause > 0:
            implied = 1
            for at in range(clause + FIRST, clause + FIRST + pool[clause]):
                variable = pool[at] >> 1
                own = 1 if variable == learned[number] >> 1 else 0
                if not own and seen[variable] == 0 and about[variable * WIDTH + LEVEL_OF] > 0:
                    implied = 0
            if implied:
                learned[number] += 1 << 30
    for number in range(1, size):
        seen[(learned[number] & (1 << 30) - 1) >> 1] = 0
    kept = 1
    for number in range(1, size):
        if learned[number] < 1 << 30:
            learned[kept] = learned[number]
            kept += 1
    progress[BACK] = 0
    for number in range(1, kept):
        level = about[(learned[number] >> 1) * WIDTH + LEVEL_OF]
        if level > progress[BACK]:
            progress[BACK] = level
            learned[1], learned[number] = learned[number], learned[1]
    return kept


def explain(
    literal: int, pool: I32, trail: I32, about: I32, seen: U8, levels: I32, core: I32,
    progress: I64,
) -> int:  # fmt: skip
    """The assumptions by which an assumed literal is false, and itself; how many."""
    core[0] = literal
    size = 1
    if progress[LEVEL] > 0:
        seen[literal >> 1] = 1
        for place in range(progress[TRAIL] - 1, levels[0] - 1, -1):
            variable = trail[place] >> 1
            if seen[variable]:
                clause = about[variable * WIDTH + REASON]
                if clause == 0:
                    core[size] = trail[place]
                    size += 1
                else:
                    for at in range(clause + FIRST, clause + FIRST + pool[clause]):
                        if about[(pool[at] >> 1) * WIDTH + LEVEL_OF] > 0:
                            seen[pool[at] >> 1] = 1
                seen[variable] = 0
        seen[literal >> 1] = 0
    return size


def add(size: int, quality: int, literals: I32, pool: I32, heads: I32, progress: I64) -> int:
    """Add a clause of two literals or more, which watches the first two; where it is."""
    clause = progress[END]
    pool[clause], pool[clause + QUALITY] = size, quality
    for place in range(size):
        pool[clause + FIRST + place] = literals[place]
    pool[clause + 1], pool[clause + 2] = heads[literals[0]], heads[literals[1]]
    heads[literals[0]], heads[literals[1]] = clause, clause
    progress[END] = clause + FIRST + size
    return clause


def admit(
    given: I32, pool: I32, heads: I32, truth: U8, trail: I32, about: I32, learned: I32,
    progress: I64,
) -> int:  # fmt: skip
    """Add the clauses of `given`, each its size and its literals; 0 where one cannot be true.

    Nothing may be assigned above level 0. What is decided there is left out of them.
    """
    place, possible = 0, 1
    while place < len(given):
        last, size, true = place + 1 + given[place], 0, 0
        for at in range(place + 1, last):
            if truth[given[at]] == 1:
                true = 1
            elif truth[given[at]] == 0:
                learned[size] = given[at]
                size += 1
        if true == 0:
            if size == 0:
                possible = 0
            elif size == 1:
                assign(learned[0], 0, truth, trail, about, progress)
            else:
                add(size, 0, learned, pool, heads, progress)
        place = last
    return possible


def count_levels(size: int, literals: I32, about: I32, levels: I32, progress: I64) -> int:
    """On how many levels the literals were assigned; the second half of `levels` is for marks."""
    count, half = 0, len(levels) // 2
    for place in range(size):
        at = half + about[(literals[place] >> 1) * WIDTH + LEVEL_OF]
        if levels[at] != progress[CONFLICTS]:
            levels[at] = progress[CONFLICTS]
            count += 1
    return count


def forget(latest: int, pool: I32, heads: I32, truth: U8, progress: I64) -> int:
    """Leave out clauses that are true at level 0, or were learned before `latest` and join many
    levels; how many are left. Nothing may be assigned above level 0.
    """
    for literal in range(len(heads)):
        heads[literal] = 0
    clause, last, count = 1, progress[END], 0
    progress[END] = 1
    while clause < last:
        size, quality, true = pool[clause], pool[clause + QUALITY], 0
        for place in range(clause + FIRST, clause + FIRST + size):
            if truth[pool[place]] == 1:
                true = 1
        if true == 0 and (quality < KEPT or clause >= latest):
            target = progress[END]
            pool[target], pool[target + QUALITY] = size, quality
            for place in range(size):
                pool[target + FIRST + place] = pool[clause + FIRST + place]
            watched, other = pool[target + FIRST], pool[target + SECOND]
            pool[target + 1], pool[target + 2] = heads[watched], heads[other]
            heads[watched], heads[other] = target, target
            progress[END] = target + FIRST + size
            count += 1
        clause += FIRST + size
    return count


KEPT = 4
"""Learned clauses that join fewer levels are kept."""


def assign(literal: int, clause: int, truth: U8, trail: I32, about: I32, progress: I64) -> int:
    """Make a literal true, for the reason that a clause gives (0: it is decided)."""
    truth[literal], truth[literal ^ 1] = 1, 2
    about[(literal >> 1) * WIDTH + LEVEL_OF] = progress[LEVEL]
    about[(literal >> 1) * WIDTH + REASON] = clause
    trail[progress[TRAIL]] = literal
    progress[TRAIL] += 1
    return 0


def answer(  # noqa: PLR0912, PLR0915 - one loop, whose parts share its counters
    given: I32,
    assumed: I32,
    wished: I32,
    most: int,
    pool: I32,
    heads: I32,
    truth: U8,
    trail: I32,
    levels: I32,
    about: I32,
    signs: U8,
    seen: U8,
    learned: I32,
    core: I32,
    progress: I64,
) -> int:
    """1 if all clauses can be true with what is assumed, then `truth` says how; 0 if not.

    Those of `given` are added first.
    -1: there were `most` conflicts, or the pool is full. What is wished is decided first.
    """
    return_to(0, truth, trail, levels, about, signs, progress)
    begun, restart, period, wish = progress[CONFLICTS], progress[CONFLICTS] + 100, 100, 0
    result = -2
    if admit(given, pool, heads, truth, trail, about, learned, progress) == 0:
        progress[CORE] = 0
        result = 0
    while result == -2:
        failed = propagate(pool, heads, truth, trail, about, progress)
        if failed > 0:
            progress[CONFLICTS] += 1
            if progress[LEVEL] == 0:
                progress[CORE] = 0
                result = 0
            else:
                size = learn(failed, pool, trail, about, seen, learned, progress)
                joined = count_levels(size, learned, about, levels, progress)
                return_to(progress[BACK], truth, trail, levels, about, signs, progress)
                wish = 0
                if size == 1:
                    assign(learned[0], 0, truth, trail, about, progress)
                else:
                    clause = add(size, joined, learned, pool, heads, progress)
                    assign(learned[0], clause, truth, trail, about, progress)
                if progress[CONFLICTS] - begun >= most:
                    result = -1
                if progress[END] + len(trail) + 8 > len(pool):
                    result = -1
        elif progress[CONFLICTS] >= restart and progress[LEVEL] > len(assumed):
            period += period // 10
            restart = progress[CONFLICTS] + period
            wish = 0
            return_to(len(assumed), truth, trail, levels, about, signs, progress)
        else:
            literal = -1
            if progress[LEVEL] < len(assumed):
                literal = assumed[progress[LEVEL]]
                if truth[literal] == 2:
                    progress[CORE] = explain(
                        literal, pool, trail, about, seen, levels, core, progress
                    )
                    result = 0
            else:
                while wish < len(wished) and truth[wished[wish]] != 0:
                    wish += 1
                if wish < len(wished):
                    literal = wished[wish]
                else:
                    variable = progress[LAST]
                    while variable > 0 and truth[2 * variable] != 0:
                        variable = about[variable * WIDTH + BEFORE]
                    if variable > 0:
                        progress[LAST] = variable
                        literal = 2 * variable + (signs[variable] & 1)
                    else:
                        result = 1
            if result == -2:
                levels[progress[LEVEL]] = progress[TRAIL]
                progress[LEVEL] += 1
                if truth[literal] == 0:
                    assign(literal, 0, truth, trail, about, progress)
    return result


class Solver:
    """Clauses over so many variables, from 1 on; `names` of them may be decided.

    Variables above `names` are never decided: they are for literals that are only assumed, as those
    which switch clauses on.
    """

    def __init__(self, names: int, room: int = 0, *, compiled: bool = True) -> None:
        count, runner = names + room + 1, Compiled() if compiled else Interpreter()
        self._runner, self._size = runner, _POOL if compiled else _SMALL_POOL
        self._truth, self._signs, self._seen = (runner.new("B", n * count) for n in (2, 1, 1))
        self._trail, self._levels = runner.new("i", count), runner.new("i", 2 * count)
        self._learned, self._core = runner.new("i", count), runner.new("i", count)
        self._heads, self._about = runner.new("i", 2 * count), runner.new("i", WIDTH * count)
        self._rooms = [runner.new("i", 0) for _ in range(3)]
        self._given, self._spare = list[int](), count + 16
        self._progress, self._pool = runner.new("q", CORE + 1), runner.new("i", self._size)
        for variable in range(1, names + 1):  # the first is decided first
            at = variable * WIDTH
            self._about[at + AFTER], self._about[at + TIME] = variable - 1, names - variable + 1
            self._about[at + BEFORE] = variable + 1 if variable < names else 0
            self._signs[variable] = 1
        self._progress[END], self._progress[STAMP] = 1, names
        self._progress[FRONT] = self._progress[LAST] = min(1, names)
        self.variables = names + room
        self._failed, self._patience, self._learned_from = False, 2000, 1

    def keep(self, variable: int, sign: int) -> None:
        """Always decide a variable this way: true where `sign` is 0."""
        self._signs[variable] = 2 + sign

    def add(self, clause: Iterable[int]) -> None:
        """Add a clause, for the next query. Raises `TooLarge` where there is no room."""
        literals = dict.fromkeys(clause)
        if any(literal ^ 1 in literals for literal in literals):
            return
        self._given += (len(literals), *literals)
        # Each entry is a literal, or the size with which a clause has the others of its head.
        if self._progress[END] + FIRST * len(self._given) + self._spare > self._size:
            raise TooLarge("the clauses are too many for memory")

    def solve(
        self, assumed: Sequence[int], wished: Sequence[int] = (), most: int = 1 << 40
    ) -> bool | None:
        """Whether all clauses can be true together with what is assumed; None after `most`
        conflicts. `truth` then says how, or `core` what of the assumptions suffices against it.
        """
        if self._failed:
            self._progress[CORE] = 0
            return False
        own = self._entered
        arrays = own(0, self._given), own(1, assumed), own(2, wished)
        result, left = -1, most
        while result < 0 < left:
            batch = min(left, self._patience)
            result = self._runner.run(
                answer, *arrays, batch, self._pool, self._heads, self._truth, self._trail,
                self._levels, self._about, self._signs, self._seen, self._learned, self._core,
                self._progress,
            )  # fmt: skip
            arrays = own(0, ()), *arrays[1:]
            if result < 0:
                left -= batch
                self._forget()
        self._given.clear()
        self._failed = result == 0 and self._progress[CORE] == 0
        return None if result < 0 else bool(result)

    def _entered(self, place: int, literals: Sequence[int]) -> Array:
        """An array with the literals, of those that are kept for this."""
        if len(self._rooms[place]) < len(literals):
            self._rooms[place] = self._runner.new("i", 2 * len(literals))
        room, own = self._rooms[place][: len(literals)], array("i", literals)
        room[:] = own if isinstance(room, array) else memoryview(own)
        return room

    def _forget(self) -> None:
        """Give clauses back that helped little; the next time comes later."""
        runner, progress = self._runner, self._progress
        runner.run(
            return_to, 0, self._truth, self._trail, self._levels, self._about, self._signs, progress
        )
        latest = (self._learned_from + progress[END]) // 2
        runner.run(forget, latest, self._pool, self._heads, self._truth, progress)
        self._learned_from = progress[END]
        self._patience += 500

    def true(self, literal: int) -> bool:
        """Whether a literal is true in the latest answer."""
        return bool(self._truth[literal] == 1)

    @property
    def core(self) -> list[int]:
        """Assumptions that cannot be true together."""
        return list(self._core[: self._progress[CORE]])


_POOL, _SMALL_POOL = 1 << 26, 1 << 16
"""How many integers clauses may take, compiled or not."""
