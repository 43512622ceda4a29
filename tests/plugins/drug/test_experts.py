"""Molecules at the server of experts."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.errors import PXPError
from pxp_fsm.protocol.messages import Answer, Question
from pxp_fsm.web.experts import views
from tests.web.experts import served


def chemist(_question: Question) -> Answer:
    return Answer("CC(=O)OC(C)=O.Nc1ccc(O)cc1", "Acetylation with acetic anhydride.")


def test_pictures_have_opaque_names_and_nothing_but_pixels(tmp_path: Path) -> None:
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    about: dict[str, Any] = {"task": "drug", "answers": chemist, "instances": "paracetamol"}
    with served(tmp_path / "lab.sqlite", "ann", **about) as lab:
        ann = lab.expert("ann")
        view = ann.waiting()
        assert re.fullmatch("[0-9a-f]{20}", view["id"])
        assert "paracetamol" not in json.dumps(view)
        for number in (0, 1):
            answer = ann.ask("GET", f"/api/sessions/{view['id']}/pictures/{number}")
            assert answer.headers["content-type"] == "image/svg+xml"
            assert "<svg" in answer.text
            assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert ann.ask("GET", f"/api/sessions/{view['id']}/pictures/9").status_code == 404
        drawn = ann.ask("GET", "/api/drawing", params={"smiles": "c1ccccc1"})
        assert "<svg" in drawn.text
        for bad in ("", "nonsense", "C |$<img>$|", "C\x00"):
            assert ann.ask("GET", "/api/drawing", params={"smiles": bad}).status_code == 422
    told = PngInfo()
    told.add_text("Patient", "Doe^Jane")
    exif = Image.Exif()
    exif[0x010E] = "Doe^Jane"
    for form, extra in (("PNG", {"pnginfo": told, "exif": exif}), ("JPEG", {"exif": exif})):
        written = io.BytesIO()
        picture = Image.new("L", (64, 40), 77)
        picture.save(written, form, **extra)
        assert b"Doe^Jane" in written.getvalue()
        clean = views.pixels(written.getvalue())
        assert b"Doe^Jane" not in clean
        with Image.open(io.BytesIO(clean)) as again:
            assert (again.size, again.info, again.getpixel((3, 3))) == ((64, 40), {}, 77)
    with pytest.raises(PXPError, match="cannot be read"):
        views.pixels(b"no picture")
