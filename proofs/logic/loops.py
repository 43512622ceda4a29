"""The loops of model checking on graphs in arrays, which Numba compiles.

The edges of a node with number i go to `targets[offsets[i]:offsets[i + 1]]`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from proofs.core.compiling import cached_by_numba


def unfold(
    offsets: Any,
    targets: Any,
    known: Any,
    kept_starts: Any,
    kept: Any,
    ending: Any,
    valuations: int,
    numbers: Any,
    codes: Any,
    parents: Any,
    starts: Any,
    ends: Any,
    edges: Any,
    progress: Any,
) -> None:
    """The product of a graph and a tableau, breadth first, as long as there is room.

    A node is a state with a valuation, `state * valuations + valuation`; 0 is that of a state
    without a step. Where the atoms are those of `known[state]`, `kept` has the valuations that keep
    the one before, and `ending` is the one that is kept where a run ends. `codes` are the nodes by
    number, `starts` and `ends` the product's edges, `edges` the place of each among its state's,
    `parents` by which of them each node was reached. `progress` counts nodes, those that are
    expanded, and edges.
    """
    count, done, branches = progress[0], progress[1], progress[2]
    while done < count:
        state, valuation = codes[done] // valuations, codes[done] % valuations
        most = (offsets[state + 1] - offsets[state]) * valuations
        if branches + most > len(ends):
            break
        for edge in range(offsets[state], offsets[state + 1]):
            target = targets[edge]
            at = known[target] * valuations + valuation
            ended = offsets[target] == offsets[target + 1]
            begin, end = kept_starts[at], kept_starts[at + 1]
            if ended:
                begin, end = 0, 1 if ending[known[target]] == valuation else 0
            for place in range(begin, end):
                code = target * valuations + (0 if ended else kept[place])
                number = numbers[code]
                if number < 0:
                    number = count
                    numbers[code] = count
                    codes[count] = code
                    parents[count] = branches
                    count += 1
                ends[branches] = number
                edges[branches] = edge - offsets[state]
                branches += 1
        done += 1
        starts[done] = branches
    progress[0], progress[1], progress[2] = count, done, branches


def components(
    starts: Any, ends: Any, part: Any, index: Any, low: Any, cursor: Any, stack: Any, path: Any
) -> int:
    """Number the strongly connected components of the nodes with a 0 in `part`; how many.

    Each of these nodes then has the number of its component there, the others -1. (Tarjan,
    Depth-first search and linear graph algorithms, SIAM J. Comput. 1, 1972.) `index`, `low`,
    `cursor`, `stack` and `path` are room for a number for each node.
    """
    count, met = 0, 0
    for node in range(len(part)):
        index[node] = 0 if part[node] == 0 else -1
        part[node] = -1
    for root in range(len(part)):
        if index[root] != 0:
            continue
        met += 1
        index[root], low[root], cursor[root] = met, met, starts[root]
        stack[0], path[0] = root, root
        stacked, deep = 1, 1
        while deep > 0:
            node = path[deep - 1]
            if cursor[node] < starts[node + 1]:
                target = ends[cursor[node]]
                cursor[node] += 1
                if index[target] == 0:
                    met += 1
                    index[target], low[target], cursor[target] = met, met, starts[target]
                    stack[stacked], path[deep] = target, target
                    stacked, deep = stacked + 1, deep + 1
                elif index[target] > 0 and part[target] < 0 and index[target] < low[node]:
                    low[node] = index[target]
                continue
            deep -= 1
            if deep > 0 and low[node] < low[path[deep - 1]]:
                low[path[deep - 1]] = low[node]
            if low[node] == index[node]:
                last = -1
                while last != node:
                    stacked -= 1
                    last = stack[stacked]
                    part[last] = count
                count += 1
    return count


def gather(
    starts: Any,
    ends: Any,
    edges: Any,
    offsets: Any,
    labels: Any,
    enabled: Any,
    states: Any,
    settled: Any,
    part: Any,
    inside: Any,
    settles: Any,
    taken: Any,
    always: Any,
    ever: Any,
) -> None:
    """What each component has: edges inside, what its nodes settle, the labels of its edges inside,
    and the labels that all of its nodes enable, and any does. `labels` may be empty.
    """
    labelled = len(labels) > 0
    for node in range(len(part)):
        component = part[node]
        if component < 0:
            continue
        settles[component] |= settled[node]
        if labelled:
            always[component] &= enabled[states[node]]
            ever[component] |= enabled[states[node]]
        for place in range(starts[node], starts[node + 1]):
            if part[ends[place]] == component:
                inside[component] += 1
                if labelled:
                    taken[component] |= labels[offsets[states[node]] + edges[place]]


def walk(
    starts: Any,
    ends: Any,
    edges: Any,
    offsets: Any,
    labels: Any,
    enabled: Any,
    states: Any,
    settled: Any,
    part: Any,
    start: int,
    wanted: int,
    all_settled: int,
    label: int,
    bit: int,
    came: Any,
    queue: Any,
) -> Any:
    """A shortest walk inside the component of `start`; how many places were met, negative where
    there is none.

    It ends with an edge to `wanted` where that is not negative, and then all of `all_settled` has
    been settled on it; else with an edge that has a label of `label`, or out of a node that settles
    `bit` or (where `bit` is -1) does not enable `label`. A place is a node with what has been
    settled, `node * (all_settled + 1) + settled`; `came` says by which edge and from which place
    each was reached (the edge plus one; 0 where it was not, -1 at `start`), and last by which the
    walk ends. `queue` are the places that were met.
    """
    wide, component = all_settled + 1, part[start]
    queue[0] = start * wide + (settled[start] & all_settled)
    came[queue[0], 0] = -1
    count, done = 1, 0
    while done < count:
        place = queue[done]
        node, here = place // wide, place % wide
        for edge in range(starts[node], starts[node + 1]):
            target = ends[edge]
            if part[target] != component:
                continue
            reached = here | (settled[target] & all_settled)
            if wanted >= 0:
                met = target == wanted and reached == all_settled
            elif bit > 0:
                met = settled[node] & bit != 0
            else:
                met = labels[offsets[states[node]] + edges[edge]] & label != 0
                if bit < 0 and enabled[states[node]] & label == 0:
                    met = True
            if met:
                came[len(came) - 1, 0], came[len(came) - 1, 1] = edge + 1, place
                return count
            then = target * wide + reached
            if came[then, 0] == 0:
                came[then, 0], came[then, 1] = edge + 1, place
                queue[count] = then
                count += 1
        done += 1
    return -count


def earliest(
    offsets: Any,
    targets: Any,
    known: Any,
    among: Any,
    many: int,
    kinds: int,
    option_starts: Any,
    option_duties: Any,
    option_shown: Any,
    codes: Any,
    came: Any,
    count: int,
) -> int:
    """The number of the first place in breadth-first order that shows a formula; -1 if none does.

    A place is a state with a set of duties, `state * many + duties`; the first `count` of `codes`
    are where the search begins. The ways to meet them where the atoms are those of `known[state]`
    are from `option_starts[duties * kinds + known]` on: the duties of the next state, and whether
    that shows the formula (2), or does so where the run ends (1). `came` is, by place, the number
    in `codes` of the one before, -1 at the beginning, -2 where it was not met.
    """
    done = 0
    while done < count:
        state, duties = codes[done] // many, codes[done] % many
        at = duties * kinds + known[state]
        begin, end = offsets[state], offsets[state + 1]
        for option in range(option_starts[at], option_starts[at + 1]):
            if option_shown[option] == 2 or (option_shown[option] == 1 and begin == end):
                return done
            for edge in range(begin, end):
                target = targets[edge]
                code = target * many + option_duties[option]
                if among[target] and came[code] == -2:
                    came[code] = done
                    codes[count] = code
                    count += 1
        done += 1
    return -1


def enabled_in(offsets: Any, labels: Any, found: Any) -> None:
    """The labels of the edges out of each node."""
    for node in range(len(found)):
        for edge in range(offsets[node], offsets[node + 1]):
            found[node] |= labels[edge]


@cache
def compiled(name: str) -> Any:
    """The loop with this name, compiled when first called, or loaded from the cache folder."""
    loops = (unfold, components, gather, walk, earliest, enabled_in)
    return cached_by_numba(next(loop for loop in loops if loop.__name__ == name))
