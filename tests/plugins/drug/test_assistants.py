"""An assistant as the chemist."""

from __future__ import annotations

import asyncio
import io
from base64 import b64decode
from pathlib import Path

from PIL import Image

from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.protocol.rules import Ending
from tests.web.assistants import my_turn
from tests.web.test_assistant_tasks import gives, serving, tags

THEIRS = Answer("CC(=O)OC(C)=O.Nc1ccc(O)cc1", "Acetylation with acetic anhydride.")
SAME = {"prediction": THEIRS.prediction.split("."), "explanation": THEIRS.explanation}
OTHER = {"prediction": ["CC(=O)Cl", "Nc1ccc(O)cc1"], "explanation": "Acylation."}


def chemist(_question: Question) -> Answer:
    return THEIRS


def test_an_assistant_is_the_chemist(tmp_path: Path) -> None:
    async def meet() -> None:
        async with (
            serving(
                tmp_path / "a", "drug", chemist, instances="paracetamol", human="mcp"
            ) as served,
            served.client("human") as me,
        ):
            result = await me.call_tool("turn", {"wait": 20})
            view = result.structured_content
            assert isinstance(view, dict)
            assert view["instance"] == "CC(=O)Nc1ccc(O)cc1"
            assert "the target molecule" in view["asks"]
            assert "expert in synthetic organic chemistry" in view["instructions"]
            received = [THEIRS.prediction, THEIRS.explanation]
            assert [view["messages"][0][one] for one in ("prediction", "explanation")] == received
            assert view["pictures"] == ["the instance", "the prediction of message 1"]
            drawn = [Image.open(io.BytesIO(b64decode(one.data))) for one in result.content[1:]]  # type: ignore[union-attr]
            assert [(one.format, one.size) for one in drawn] == [("PNG", (600, 400))] * 2
            assert await gives(me, "answer", OTHER) == "taken; message 2 needs one more answer"
            assert await gives(me, "REF") == "done: message 2, REFUTE"
            assert (await gives(me, "answer", SAME)).startswith("taken")
            assert await gives(me, "RAT") == "done: message 4, RATIFY"
            view = await my_turn(me)
            assert (view["status"], view["ending"]) == ("over", Ending.RATIFIED)
            assert tags(served.history()) == ["INIT", "REFUTE", "REFUTE", "RATIFY", "RATIFY"]
            assert served.history()[1].answer.prediction == "CC(=O)Cl.Nc1ccc(O)cc1"
            agents = dict(served.board.sessions()[0].agents)
            assert agents["h"].startswith("assistant guards=assistant MATCH=")

    asyncio.run(meet())
