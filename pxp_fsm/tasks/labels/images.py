"""Untrusted image files: only complete PNG and JPEG files of a limited size are read."""

from __future__ import annotations

import io
import warnings
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, TypeAlias

from pxp_fsm.errors import DataError
from pxp_fsm.prompting.model import Image

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image as Pillow

Plane: TypeAlias = "NDArray[np.float64]"
"""Rows x columns of grey."""

LARGEST_FILE = 20_000_000
"""Bytes of a file that are read."""
SMALLEST_SIDE, LARGEST_SIDE = 32, 8_000
"""Pixels of a side."""
MOST_PIXELS = 40_000_000
"""Pixels of a picture: what a small file unpacks to is bounded before it is unpacked."""

_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg"}
_ORIENTATION = 0x0112
_AS_THEY_ARE = ("1", "L", "LA", "P", "RGB", "RGBA")
"""Pillow's modes of 8 bits and fewer that every reader takes."""


def checked(data: bytes) -> Image:
    """`data` as an image that has been decoded whole; raises `DataError`, saying what is wrong.

    An upright picture of 8 bits a channel is passed on byte by byte. What needs its EXIF
    orientation, or has 16 bits or the colours of print (CMYK), is written anew as an upright grey
    PNG, so that whoever sees it sees the same.
    """
    picture = _decoded(data)
    turned = picture.getexif().get(_ORIENTATION, 1) not in (0, 1)
    if picture.mode in _AS_THEY_ARE and not turned:
        return Image(_TYPES[str(picture.format)], data)
    anew = io.BytesIO()
    _grey(picture).save(anew, "PNG")
    return Image("image/png", anew.getvalue())


def grey(image: Image) -> Plane:
    """The picture as rows x columns of grey, 0 (black) to 1; raises `DataError`."""
    import numpy as np

    return np.asarray(_grey(_decoded(image.data)), dtype=float) / 255


def reduced(image: Image, side: int, shades: int) -> tuple[list[float], list[float]]:
    """A `checked` image as `side` x `side` greys, 0 to 1, and the number of pixels of each colour.

    Of red, green and blue there are so many `shades` each. Raises `DataError`.
    """
    from PIL import Image as Pillow

    decoded = _decoded(image.data).convert("RGBA")
    over = Pillow.new("RGBA", decoded.size, "black")
    shown = Pillow.alpha_composite(over, decoded).convert("RGB")
    greys = shown.convert("L").resize((side, side), Pillow.Resampling.BOX).tobytes()
    colours = shown.resize((4 * side, 4 * side), Pillow.Resampling.BOX).tobytes()
    counts = [0.0] * shades**3
    levels = [level * shades // 256 for level in colours]
    for red, green, blue in zip(levels[::3], levels[1::3], levels[2::3], strict=True):
        counts[(red * shades + green) * shades + blue] += 1
    return [level / 255 for level in greys], counts


@cache
def version_of_decoder() -> str:
    """The version of Pillow, on which the last bit of a pixel may depend."""
    try:
        return f"pillow {version('pillow')}"
    except PackageNotFoundError:
        return "no pillow"


def _decoded(data: bytes) -> Pillow.Image:
    from PIL import Image as Pillow
    from PIL import UnidentifiedImageError

    if len(data) > LARGEST_FILE:
        raise DataError(f"it has {len(data):,} bytes; at most {LARGEST_FILE:,} are read")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # sizes are bounded here, and more strictly
            picture = Pillow.open(io.BytesIO(data), formats=tuple(_TYPES))
            _check_size(picture)
            picture.load()
    except DataError:
        raise
    except Pillow.DecompressionBombError as error:
        raise DataError(
            f"it has more pixels than are read: at most {LARGEST_SIDE} a side and "
            f"{MOST_PIXELS:,} in all"
        ) from error
    except UnidentifiedImageError as error:
        raise DataError("it is neither a PNG nor a JPEG image") from error
    except Exception as error:  # whatever a decoder meets in a broken file
        reason = " ".join(str(error).split())[:120]
        raise DataError(f"it cannot be decoded: {reason or type(error).__name__}") from error
    return picture


def _check_size(picture: Pillow.Image) -> None:
    width, height = picture.size
    if min(width, height) < SMALLEST_SIDE:
        raise DataError(f"it has {width} x {height} pixels; at least {SMALLEST_SIDE} a side")
    if max(width, height) > LARGEST_SIDE or width * height > MOST_PIXELS:
        raise DataError(
            f"it has {width} x {height} pixels; at most {LARGEST_SIDE} a side and "
            f"{MOST_PIXELS:,} in all"
        )
    frames = getattr(picture, "n_frames", 1)
    if frames != 1:
        raise DataError(f"it holds {frames} images; give a file with one")


def _grey(picture: Pillow.Image) -> Pillow.Image:
    """`picture` upright, in 256 shades; 16 bits keep their upper eight, transparent is black."""
    import numpy as np
    from PIL import Image as Pillow
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(picture)
    if upright.mode in ("I", "I;16", "I;16B", "I;16L", "F"):
        wide = np.asarray(upright.convert("I"), dtype=float)
        return Pillow.fromarray(np.clip(wide / 257, 0, 255).astype(np.uint8))
    if upright.mode in ("LA", "RGBA", "P", "PA"):
        over = Pillow.new("RGBA", upright.size, "black")
        upright = Pillow.alpha_composite(over, upright.convert("RGBA"))
    return upright.convert("L")
