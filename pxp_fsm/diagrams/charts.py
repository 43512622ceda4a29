"""DOT of a sequence chart: whole, on pages, or without its middle where it is too high.

A sequence chart has only one layout, so its places (in points) are computed here; its graph asks
for the engine that leaves them as they are.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pxp_fsm.diagrams.dot import (
    ACCENT,
    FATAL,
    FILLED,
    GREY,
    INK,
    REFUSED,
    WIDER,
    characters,
    explanation,
    label,
    new_graph,
    wrapped,
)
from pxp_fsm.diagrams.model import Arrow, SequenceChart
from pxp_fsm.diagrams.style import Style
from pxp_fsm.diagrams.text import ems, legible, shortened
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from graphviz import Digraph

TALLEST = 14_400.0
"""Points: a chart without pages is not higher, since viewers and TeX (16,383 pt) give up there."""

SMALLEST = 9.0
"""Points: the smallest letters of a chart."""

_ROW, _LINE, _TAKEN, _GAP = 34.0, 11.5, 20.0, 40.0
"""Points of a step that sends a message, of a line of its texts, of a step that receives, and of
the words that say that steps are left out."""

_HEAD, _PAD = 12.0, 14.4
"""Points of half a head, and of the margin around a drawing."""


@dataclass(frozen=True, slots=True)
class ChartPart:
    """What is drawn of a chart: some runs of its steps, with its title and its end or without.

    A message that is sent in a step that is drawn and received in one that is not, or the other
    way round, ends after the run, or begins before it. `line` says which part it is.
    """

    runs: tuple[Sequence[int], ...]
    begins: bool = True
    ends: bool = True
    line: str = ""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the steps of a part begin, and where its last row ends; y grows upwards.

    `after` is where messages end that are received later, by message and step; `gaps` has the
    middle of what is left out between two runs, with its first and its last step.
    """

    arrows: Sequence[Arrow]
    tops: Mapping[int, float]
    after: Mapping[tuple[int, int], float]
    gaps: Sequence[tuple[float, int, int]]
    end: float


@dataclass(frozen=True, slots=True)
class _Words:
    """Lines of text above or below the lifelines, and the height that they take with their gap."""

    key: str
    lines: Sequence[str]
    size: int
    color: str
    gap: float

    @property
    def height(self) -> float:
        return self.gap + 1.2 * self.size * len(self.lines)


class Chart:
    """A sequence chart with the places of its lifelines, which are the same in all its parts.

    Raises `UsageError` for a direction.
    """

    def __init__(self, chart: SequenceChart, style: Style) -> None:
        if style.direction is not None:
            raise UsageError(
                "a sequence chart has only one direction: its messages go from top to bottom",
                "direction",
            )
        if style.width is not None:
            chart = _narrowed(chart, style.width)
        self.chart, self.style = chart, style
        names = [text for line in chart.lifelines for text in (line.name, line.state)]
        self.box = max([60.0, *(12 * ems(shortened(name, 30)) + 20 for name in names)])
        order = {line.name: number for number, line in enumerate(chart.lifelines)}
        lengths = [_length(arrow) / max(1, _span(arrow, order)) for arrow in chart.arrows]
        least = 170.0 if style.width is None else 120.0
        apart = max([least, self.box + 24, *(length + 28 for length in lengths)])
        self.places = {name: apart * number for name, number in order.items()}
        self.right = apart * (len(chart.lifelines) - 1)
        self.sent = dict[int, list[Arrow]]()
        self.taken = dict[int, list[Arrow]]()
        for arrow in chart.arrows:
            self.sent.setdefault(arrow.number, []).append(arrow)
            for step in arrow.received or ():
                self.taken.setdefault(step, []).append(arrow)
        self.steps = sorted({*self.sent, *self.taken})
        counts_messages = not self.taken and self.steps == [*range(1, len(self.steps) + 1)]
        self.unit = "messages" if counts_messages else "steps"

    @property
    def whole(self) -> ChartPart:
        """All steps."""
        return ChartPart((self.steps,))

    @property
    def width(self) -> float:
        """The width of the lifelines with their boxes and margins; a title may be wider."""
        return self.right + self.box + 2 * _PAD

    def height(self, part: ChartPart) -> float:
        """The height of `part` as it is drawn, about."""
        words = sum(words.height for words in (*self._above(part), *self._below(part)))
        return words - self._rows(part).end + 3 * _HEAD + 4 + 2 * _PAD

    def cut(self) -> ChartPart:
        """All steps, or, where they are higher than `TALLEST`, the first ones and the last ones."""

        def ends(count: int) -> ChartPart:
            return ChartPart((self.steps[:count], self.steps[-count:]))

        most = len(self.steps) // 2
        if most < 1 or self.height(self.whole) <= TALLEST:
            return self.whole
        counts = range(1, most)
        return ends(1 + bisect_left(counts, True, key=lambda n: self.height(ends(n + 1)) > TALLEST))

    def pages(self, height: float) -> Iterator[ChartPart]:
        """Parts that are at most so high, if each step is; each says what it shows."""
        start = 0
        while start < len(self.steps) or start == 0:
            stop = start + 1
            while stop < len(self.steps) and self.height(self._page(start, stop + 1)) <= height:
                stop += 1
            yield self._page(start, stop)
            start = stop

    def _page(self, start: int, stop: int) -> ChartPart:
        begins, ends, shown = start == 0, stop >= len(self.steps), self.steps[start:stop]
        if begins and ends:
            return self.whole
        line = f"{self.unit} {shown[0]:,} to {shown[-1]:,}"
        line += f" of {self.steps[-1]:,}"
        titled = self.style.title and not begins
        line = f"{shortened(self.chart.title)}: {line}" if titled else line
        return ChartPart((shown,), begins, ends, line)

    def dot(self, part: ChartPart) -> str:
        """The DOT source of `part`; its graph names the engine that keeps its places."""
        graph = new_graph("session", layout="nop", splines="line", outputorder="edgesfirst")
        rows = self._rows(part)
        foot = rows.end - 16
        for number, line in enumerate(self.chart.lifelines):
            place = self.places[line.name]
            _add_box(graph, f"p{number}", (place, 0.0), self.box, line.name, **FILLED)
            if line.state and part.ends:
                _add_box(graph, f"q{number}", (place, foot), self.box, line.state)
            else:
                _add_point(graph, f"q{number}", (place, foot))
            graph.edge(f"p{number}", f"q{number}", style="dashed", color=GREY, arrowhead="none")
        for number, arrow in enumerate(rows.arrows):
            _add_arrow(graph, f"m{number}", arrow, self.places, rows)
        self._add_loop(graph, rows)
        middle = self.right / 2
        for number, (y, first, last) in enumerate(rows.gaps):
            remark = f"{self.unit} {first:,} to {last:,} are not drawn"
            _add_text(graph, f"gap{number}", (middle, y), "10", FATAL, remark)
        top, bottom = _HEAD, foot - (_HEAD if part.ends else 0.0)
        for words in reversed(self._above(part)):
            top += words.height
            _add_words(graph, words, (middle, top - (words.height - words.gap) / 2))
        for words in self._below(part):
            bottom -= words.height
            _add_words(graph, words, (middle, bottom + (words.height - words.gap) / 2))
        return str(graph.source)

    def _above(self, part: ChartPart) -> list[_Words]:
        """The title, and which part it is, from top to bottom."""
        words_above = []
        if part.begins and self.style.title and legible(self.chart.title):
            title = wrapped(self.chart.title, characters(self.style, 16, 60))
            words_above.append(_Words("title", title, 16, INK, 12))
        if part.line:
            line = wrapped(part.line, characters(self.style, 10, 60))
            words_above.append(_Words("part", line, 10, GREY, 8))
        return words_above

    def _below(self, part: ChartPart) -> Iterator[_Words]:
        """What is said below the end, from top to bottom."""
        if not part.ends:
            return
        chart, style = self.chart, self.style
        wide = characters(style, 10, max(58, int((self.right + self.box) / 5)))
        waits = [line for sentence in chart.waits for line in wrapped(sentence, wide)]
        if waits:
            yield _Words("waits", waits, 10, FATAL, 12)
        if legible(chart.note):
            yield _Words("note", wrapped(chart.note, characters(style, 10, 58)), 10, GREY, 10)
        if style.legend and chart.legend:
            yield _Words("legend", explanation(chart.legend, characters(style, 9, 70)), 9, GREY, 12)

    def _rows(self, part: ChartPart) -> _Rows:
        """Where the steps of `part` are.

        A message from a step that is not drawn has a row of its own before the run in which it is
        received, and one that is received later has a row after the run in which it is sent.
        """
        shown = {step for run in part.runs for step in run}
        crossing = {id(a): a for step in shown for a in self.sent.get(step, ())}
        crossing |= {id(a): a for step in shown for a in self.taken.get(step, ())}
        arrows = sorted(crossing.values(), key=lambda arrow: arrow.number)
        early = [arrow for arrow in arrows if arrow.number not in shown]
        late = [
            (arrow.number, step)
            for arrow in arrows
            if arrow.number in shown
            for step in arrow.received or ()
            if step not in shown
        ]
        tops, after = dict[int, float](), dict[tuple[int, int], float]()
        gaps = list[tuple[float, int, int]]()
        top, before = -_HEAD - 10, 0
        for run, following in zip(part.runs, (*part.runs[1:], ()), strict=True):
            first = run[0] if run else 0
            for arrow in early:
                if before < arrow.number < first:
                    tops[arrow.number] = top
                    top -= _TAKEN
            for step in run:
                tops[step] = top
                top -= self._step(step)
            before = run[-1] if run else 0
            for message, step in late:
                if before < step and not (following and step > following[0]):
                    after[message, step] = top
                    top -= _TAKEN
            if following:
                gaps.append((top - _GAP / 2, before + 1, following[0] - 1))
                top -= _GAP
        drawn = [_without_unseen(arrow, shown) for arrow in arrows]
        return _Rows(drawn, tops, after, gaps, top)

    def _step(self, step: int) -> float:
        """The height of a step; in the last one, several messages may not be received."""
        heights = [_ROW + _LINE * len(_texts(arrow)) for arrow in self.sent.get(step, ())]
        return max(heights, default=_TAKEN)

    def _add_loop(self, graph: Digraph, rows: _Rows) -> None:
        """A frame around the steps that repeat for ever."""
        loop = self.chart.loop
        inside = [top for step, top in rows.tops.items() if step >= loop > 0]
        if not inside:
            return
        side = self.box / 2 + 8
        left, right, top, bottom = -side, self.right + side, max(inside) + 2, rows.end + 6
        corners = ((left, top), (right, top), (right, bottom), (left, bottom))
        for number, corner in enumerate(corners):
            _add_point(graph, f"loop{number}", corner)
        for number in range(4):
            look = {"arrowhead": "none", "color": ACCENT, "penwidth": "1.2", "class": "loop"}
            graph.edge(f"loop{number}", f"loop{(number + 1) % 4}", **look)
        width = 9 * ems("repeats for ever")
        _add_text(graph, "looplabel", (left + width / 2 + 8, top), "9", ACCENT, "repeats for ever")


def _without_unseen(arrow: Arrow, shown: set[int]) -> Arrow:
    """`arrow`, or, where it was sent before what is shown, what is to be seen of it."""
    if arrow.number in shown:
        return arrow
    steps = tuple(step for step in arrow.received or () if step in shown)
    return replace(arrow, texts=(), received=steps)


def _length(arrow: Arrow) -> float:
    return max([11 * ems(_tag(arrow)), *(9 * ems(text) for text in _texts(arrow))])


def _span(arrow: Arrow, order: Mapping[str, int]) -> int:
    return abs(order[arrow.sender] - order[arrow.receiver])


def _texts(arrow: Arrow) -> tuple[str, ...]:
    """What is written at an arrow; that it was received is drawn."""
    return arrow.texts if arrow.received and not arrow.kept else arrow.lines


def _narrowed(chart: SequenceChart, width: float) -> SequenceChart:
    """`chart` with the texts of its messages in more and shorter lines, for a page this wide."""
    most = max(16, int(width / max(1, len(chart.lifelines) - 1) / 6))
    arrows = (
        replace(arrow, texts=tuple(line for text in arrow.texts for line in wrapped(text, most)))
        for arrow in chart.arrows
    )
    return replace(chart, arrows=tuple(arrows))


def _add_box(
    graph: Digraph, key: str, place: tuple[float, float], width: float, text: str, **look: str
) -> None:
    size = {"width": f"{width / 72:.2f}", "height": "0.34", "fixedsize": "true", "shape": "box"}
    style = {"style": "filled", "fillcolor": "white", **look}
    graph.node(key, label(shortened(text, 30)), pos=_at(*place), **size, **style)


def _add_arrow(
    graph: Digraph, key: str, arrow: Arrow, places: Mapping[str, float], rows: _Rows
) -> None:
    """The arrow of a message: level where it is taken at once, else slanted to where it is.

    A lost one ends in a cross on the way, one that stays in its buffer in a dot, and one that is
    received where nothing is drawn with the step.
    """
    start, end = places[arrow.sender], places[arrow.receiver]
    if start == end:
        end += 40
    texts = _texts(arrow)
    slanted = arrow.lost or (arrow.received is not None and not arrow.refused)
    # A slanted arrow has its texts above it, so that it crosses none of them.
    height = rows.tops[arrow.number] - 16 - (_LINE * len(texts) if slanted else 0.0)
    _add_point(graph, f"{key}_from", (start, height))
    ink, grey = (FATAL, FATAL) if arrow.refused else (INK, GREY)
    for number, step in enumerate(arrow.received or ()):
        look = {"style": "dashed"} if number else {}
        later = rows.after.get((arrow.number, step))
        if later is None:
            _add_point(graph, f"{key}_to{number}", (end, rows.tops[step] - _TAKEN / 2 + 2))
        else:
            _add_point(graph, f"{key}_to{number}", (end, later - 4))
            look["arrowhead"] = "none"
            words = f"{arrow.number} is received in step {step:,}"
            beside = 9 * ems(words) / 2 + 5
            place = end - beside if end > start else end + beside
            _add_text(graph, f"{key}_later{number}", (place, later - 12), "9", GREY, words)
        graph.edge(f"{key}_from", f"{key}_to{number}", **{"class": "message"}, **look)
    if not arrow.received:
        on_the_way = slanted and not arrow.refused
        stop = start + 0.6 * (end - start) if on_the_way else end
        _add_point(graph, f"{key}_to", (stop, height - (8 if on_the_way else 0)))
        look = {**REFUSED, "arrowhead": "tee"} if arrow.refused else {}
        look |= {"arrowhead": "none" if arrow.lost else "dot"} if on_the_way else {}
        graph.edge(f"{key}_from", f"{key}_to", **{"class": "message"}, **look)
        if arrow.lost:
            _add_cross(graph, key, (stop, height - 8))
    middle = (start + end) / 2
    if slanted and start != end:
        middle = start + (1 if end > start else -1) * (_length(arrow) / 2 + 12)
        height += _LINE * len(texts)
    _add_text(graph, f"{key}_tag", (middle, height + 8), "11", ink, _tag(arrow))
    for number, text in enumerate(texts):
        drop = (4 if slanted else 9) + _LINE * number
        _add_text(graph, f"{key}_text{number}", (middle, height - drop), "9", grey, text)


def _add_cross(graph: Digraph, key: str, place: tuple[float, float]) -> None:
    x, y = place
    for number, (dx, dy) in enumerate(((-5, -5), (5, 5), (-5, 5), (5, -5))):
        _add_point(graph, f"{key}_x{number}", (x + dx, y + dy))
    for corner, other in ((0, 1), (2, 3)):
        look = {"arrowhead": "none", "color": FATAL, "penwidth": "2", "class": "lost"}
        graph.edge(f"{key}_x{corner}", f"{key}_x{other}", **look)


def _tag(arrow: Arrow) -> str:
    return replace(arrow, tag=shortened(arrow.tag, 30)).label


def _add_point(graph: Digraph, key: str, place: tuple[float, float]) -> None:
    graph.node(key, "", pos=_at(*place), shape="point", style="invis", width="0")


def _add_text(
    graph: Digraph, key: str, place: tuple[float, float], size: str, color: str, *lines: str
) -> None:
    """Text on a white ground, so that it stays readable where it crosses a lifeline."""
    look = {"shape": "plain", "style": "filled", "fillcolor": "white", "color": "white"}
    graph.node(key, label(*lines), pos=_at(*place), fontsize=size, fontcolor=color, **look)


def _add_words(graph: Digraph, words: _Words, place: tuple[float, float]) -> None:
    """Text that nothing beside it is wider than: it has room for a wider font than Helvetica."""
    room = f"{WIDER * max(map(ems, words.lines)) * words.size / 72:.2f}"
    look = {"shape": "none", "margin": "0", "height": "0", "width": room}
    look |= {"fontsize": f"{words.size}", "fontcolor": words.color}
    graph.node(words.key, label(*words.lines), pos=_at(*place), **look)


def _at(x: float, y: float) -> str:
    return f"{x:.1f},{y:.1f}"
