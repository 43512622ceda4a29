"""Pictures for pages: molecules drawn as SVG, photographs as pixels and nothing else."""

from __future__ import annotations

import io
from functools import lru_cache

from pxp_fsm.errors import DataError
from pxp_fsm.experiments.reports.pictures import molecules
from pxp_fsm.prompting.model import Image
from pxp_fsm.prompting.problem import Problem
from pxp_fsm.protocol.messages import Instance

SVG = "image/svg+xml"


def structure(smiles: str) -> Image | None:
    """The molecules of a SMILES text, drawn; None where it is none."""
    drawn = molecules(smiles.strip())
    return None if drawn is None else Image(SVG, drawn.encode())


def of_instance(problem: Problem, instance: Instance) -> Image | None:
    """The picture of an instance as it may be given out; None where it has none.

    Raises `DataError` where its file is gone or has changed.
    """
    if problem.smiles:
        return structure(instance.x)
    found = problem.picture(instance)
    return None if found is None else Image("image/png", pixels(found.data))


@lru_cache(maxsize=32)
def pixels(data: bytes, longest: int | None = None) -> bytes:
    """A picture's pixels as a new PNG: what else its file says (EXIF, text, profiles) is left out.

    With `longest` it is made so small that no side has more pixels. Raises `DataError` where it is
    no picture.
    """
    from PIL import Image as Pillow

    try:
        with Pillow.open(io.BytesIO(data), formats=("PNG", "JPEG")) as opened:
            plain = opened.convert("L" if opened.mode in ("1", "L", "LA", "I;16") else "RGB")
            if longest is not None:
                plain.thumbnail((longest, longest))
    except (OSError, ValueError, Pillow.DecompressionBombError) as error:
        raise DataError(f"the picture cannot be read: {error}") from error
    clean = Pillow.frombytes(plain.mode, plain.size, plain.tobytes())
    written = io.BytesIO()
    clean.save(written, "PNG", compress_level=1)
    return written.getvalue()
