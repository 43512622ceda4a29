"""Pictures of one's own: which are taken, and how they come to those who look at them."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo

from pxp_fsm.errors import DataError
from pxp_fsm.prompting.model import Image
from pxp_fsm.tasks.labels.images import LARGEST_FILE, checked, grey, reduced

WAVES = np.outer(np.sin(np.arange(120) / 9), np.cos(np.arange(120) / 7))
NORMAL = Pillow.fromarray((127 + 100 * WAVES).astype(np.uint8))
LARGE = NORMAL.rotate(90)


def saved(picture: Pillow.Image, kind: str = "PNG", **options: object) -> bytes:
    data = io.BytesIO()
    picture.save(data, kind, **options)
    return data.getvalue()


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_plain_picture_is_passed_on_byte_by_byte(kind: str) -> None:
    data = saved(NORMAL, kind)
    assert checked(data) == Image(f"image/{kind.lower()}", data)


def bomb(width: int, height: int) -> bytes:
    """A PNG that says it is `width` x `height`, of a few hundred bytes."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = zlib.compress(bytes(100_000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
    )


def animated() -> bytes:
    return saved(NORMAL, "PNG", save_all=True, append_images=[LARGE])


def long_text() -> bytes:
    """A few kilobytes that unpack to a text chunk of 20 megabytes."""
    told = PngInfo()
    told.add_text("Description", "a" * 20_000_000, zip=True)
    return saved(NORMAL, pnginfo=told)


def gif() -> bytes:
    return saved(NORMAL, "GIF")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "neither a PNG nor a JPEG"),
        (b"label,report\n", "neither a PNG nor a JPEG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "neither a PNG nor a JPEG"),
        (gif(), "neither a PNG nor a JPEG"),
        (saved(NORMAL)[:-200], "cannot be decoded"),
        (saved(NORMAL, "JPEG")[:900], "cannot be decoded"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 40, "cannot be decoded|neither a PNG"),
        (bomb(50_000, 50_000), "more pixels than are read: at most 8000 a side"),
        (bomb(2**31 - 1, 40), "more pixels than are read"),
        (bomb(9_000, 40), "9000 x 40 pixels; at most 8000 a side"),
        (bomb(7_999, 7_999), "and 40,000,000 in all"),
        (bomb(400, 400), "cannot be decoded"),
        (long_text(), "cannot be decoded"),
        (saved(NORMAL.resize((4, 300))), "at least 32 a side"),
        (animated(), "it holds 2 images"),
        (saved(NORMAL) + b"\x00" * LARGEST_FILE, "at most 20,000,000 are read"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else len(value),
)
def test_what_is_no_picture_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(DataError, match=says):
        checked(data)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 3000), st.binary(max_size=12), st.sampled_from(["PNG", "JPEG"]))
def test_a_damaged_picture_is_decoded_or_refused(place: int, damage: bytes, kind: str) -> None:
    data = bytearray(saved(NORMAL, kind))
    data[place % len(data) : place % len(data) + len(damage)] = damage
    try:
        image = checked(bytes(data))
    except DataError:
        return
    assert grey(image).ndim == 2


def sixteen_bits() -> bytes:
    wide = np.asarray(NORMAL).astype(np.uint16) * 257
    return saved(Pillow.fromarray(wide))


def cmyk() -> bytes:
    return saved(NORMAL.convert("CMYK"), "JPEG", quality=95)


def turned() -> bytes:
    """Stored lying on its side, with the orientation that puts it upright."""
    exif = Pillow.Exif()
    exif[0x0112] = 6
    return saved(NORMAL.transpose(Pillow.Transpose.ROTATE_90), "JPEG", quality=95, exif=exif)


@pytest.mark.parametrize("data", [sixteen_bits(), cmyk(), turned()], ids=["16", "cmyk", "exif"])
def test_what_few_readers_take_is_written_anew_upright_and_grey(data: bytes) -> None:
    image = checked(data)
    assert image.media_type == "image/png"
    with Pillow.open(io.BytesIO(image.data)) as plain:
        assert (plain.mode, plain.size, dict(plain.getexif())) == ("L", NORMAL.size, {})
    assert np.abs(grey(image) - np.asarray(NORMAL) / 255).mean() < 0.02


def test_colours_palettes_and_transparency_come_to_the_same_grey() -> None:
    plain = grey(checked(saved(NORMAL)))
    for mode in ("RGB", "RGBA", "LA", "P"):
        assert np.abs(grey(checked(saved(NORMAL.convert(mode)))) - plain).max() < 0.01


def test_a_picture_is_reduced_to_greys_and_counts_of_colours() -> None:
    picture = Pillow.new("RGB", (80, 40), (250, 0, 0))
    picture.paste((255, 255, 255), (40, 0, 80, 40))
    greys, colours = reduced(checked(saved(picture)), 4, 2)
    assert greys == pytest.approx([0.29, 0.29, 1, 1] * 4, abs=0.01)
    assert colours == [0, 0, 0, 0, 128, 0, 0, 128]
    clear = Pillow.new("RGBA", (64, 64), (255, 255, 255, 0))
    assert reduced(checked(saved(clear)), 2, 2) == ([0] * 4, [64, 0, 0, 0, 0, 0, 0, 0])
