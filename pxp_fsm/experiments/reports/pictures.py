"""Pictures of the instances of sessions: molecules, thumbnails, and paths of an automaton."""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from backends.databases import StoredSession
from pxp_fsm import registry
from pxp_fsm.automata.automaton import Automaton, Transition
from pxp_fsm.diagrams import Diagram, render, state_diagram
from pxp_fsm.experiments.reports import figures
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.messages import Instance

if TYPE_CHECKING:
    from markupsafe import Markup

LONGEST_SIDE = 360
"""Pixels of an embedded image's longest side."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture of a text: what it shows, an SVG, and the page's names for its colours."""

    title: str
    svg: str
    colours: Mapping[str, str]


Drawer = Callable[[str], Sequence[Drawing]]
"""Draws a text: as one picture or several, or not at all."""


def drawer(kind: str) -> Drawer:
    """What draws texts of a kind, such as molecules; where no plug-in can, nothing is drawn."""
    where = registry.contribution("pictures", kind)
    if where is None:
        return lambda _text: ()
    draw: Drawer = registry.load(where)
    return draw


@dataclass
class Gallery:
    """Every picture of a page, each once; `symbols` are put into it, `budget` is bytes left.

    What is over the budget is not shown, and told in words.
    """

    budget: int = 12_000_000
    symbols: list[Markup] = field(default_factory=list)
    left_out: int = 0
    _known: dict[object, Markup | None] = field(default_factory=dict)

    def drawings(self, kind: str, text: str) -> Markup | None:
        """The pictures of a text of a kind, such as molecules; None where it has none."""
        from markupsafe import Markup

        key = (kind, text)
        if key not in self._known:
            drawn = [
                kept
                for drawing in drawer(kind)(text)
                if (kept := self._kept(drawing.svg, drawing.title, drawing.colours)) is not None
            ]
            self._known[key] = Markup("<br>").join(drawn) if drawn else None
        return self._known[key]

    def image(self, problem: Problem, instance: Instance) -> Markup | None:
        """The instance's image, made small; None where it has none or it cannot be read."""
        from markupsafe import Markup

        key = ("image", instance.x)
        if key not in self._known:
            made = _small(problem, instance)
            if made is not None and not self._fits(len(made)):
                made = None
            shown = Markup('<img class="xray" alt="{}" src="data:image/jpeg;base64,{}">')
            self._known[key] = (
                None if made is None else shown.format(f"the image of {instance.key}", made)
            )
        return self._known[key]

    def way(self, automaton: Automaton, taken: Sequence[Transition]) -> Markup | None:
        """The automaton with the way that an agent took; alike for all sessions of those tags."""
        key = (automaton.name, tuple(taken))
        if key not in self._known:
            state = taken[-1].target if taken else automaton.initial
            drawing = render(state_diagram(automaton, marked=state, path=taken), "svg").decode()
            words = f"the way through {automaton.name}, ending in {state}"
            self._known[key] = self._kept(drawing, words, figures.INK)
        return self._known[key]

    def chart(self, stored: StoredSession) -> Markup | None:
        """The sequence chart of a session; of systems alike for all of those actions and states."""
        many, key = len(stored.events), tuple[object, ...](stored.history)
        if stored.record.channel:  # what registers hold may differ where the actions do not
            key = (*(event.action for event in stored.events), *stored.states.values())
        if key not in self._known:
            drawing = render(replace(stored.diagram(), title="", note=""), "svg").decode()
            words = f"the {many} events of {stored.record.session}"
            self._known[key] = self._kept(drawing, words, figures.INK)
        return self._known[key]

    def diagram(self, diagram: Diagram, words: str) -> Markup | None:
        """A diagram, which is called so in words."""
        drawing = render(replace(diagram, title="", note=""), "svg").decode()
        return self._kept(drawing, words, figures.INK)

    def _kept(self, drawing: str, title: str, colours: Mapping[str, str]) -> Markup | None:
        prefix = f"p{len(self.symbols)}"
        symbol = figures.embedded(drawing, prefix, title=title, colours=colours, symbol=True)
        if not self._fits(len(symbol)):
            return None
        self.symbols.append(symbol)
        return figures.used(prefix, title, *figures.size(drawing))

    def _fits(self, size: int) -> bool:
        if size > self.budget:
            self.left_out += 1
            return False
        self.budget -= size
        return True


def _small(problem: Problem, instance: Instance) -> str | None:
    """The instance's image as a small JPEG, base64; read and written anew, so it is an image."""
    from PIL import Image

    try:
        picture = problem.picture(instance)
        if picture is None:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(picture.data)) as opened:
                made = opened.convert("L" if opened.mode in ("1", "L", "I;16") else "RGB")
        made.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
        written = io.BytesIO()
        made.save(written, "JPEG", quality=80)
    except Exception:  # noqa: BLE001 - whatever is wrong with an image, the report goes on without
        return None
    return base64.b64encode(written.getvalue()).decode()
