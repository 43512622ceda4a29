"""Generator of the bundled phantoms: `cd benchmarks && python -m phantoms.draw FOLDER`.

The pictures are shipped as they were drawn once: another version of NumPy may draw a pixel
otherwise, and an experiment must not depend on that. Each says in itself that it is synthetic, in
its name, in the picture and in a text chunk; none says what was drawn.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from phantoms.contents import SETS, phantoms, report
from phantoms.drawing import SIZE, Plane, drawn

COLUMNS = ("set", "case", "label", "img_path", "report")
TOLD = "Synthetic phantom of a chest radiograph, drawn by pxp-fsm. Not a patient."


def written(folder: Path) -> None:
    """Draw every phantom into `folder`, with the table `phantoms.csv` beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "phantoms.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        for part in SETS:
            for phantom in phantoms(part):
                name = f"{phantom.name}.png"
                _save(drawn(phantom.findings, phantom.name), folder / name)
                labels = ", ".join(sorted(phantom.labels)) or "none"
                text = report(phantom.findings, phantom.name)
                table.writerow((part, phantom.name, labels, name, text))


def _save(plane: Plane, path: Path) -> None:
    """`plane` as an 8-bit PNG, marked as a phantom."""
    picture = Image.fromarray(np.round(plane * 255).astype(np.uint8))
    pen = ImageDraw.Draw(picture)
    font = ImageFont.load_default_imagefont()
    pen.text((4, SIZE - 14), "PHANTOM", font=font, fill=255)
    pen.text((4, 4), "R", font=font, fill=255)
    told = PngInfo()
    told.add_text("Description", TOLD)
    picture.save(path, "PNG", optimize=True, pnginfo=told)


if __name__ == "__main__":
    written(Path(sys.argv[1]))
