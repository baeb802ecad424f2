"""Small images of all kinds, and what Pillow decodes of them: `python record.py` with Pillow and numpy writes the files next to it."""

import json
from pathlib import Path

import numpy as np
from PIL import Image

here = Path(__file__).parent
rng = np.random.default_rng(0)
h, w = 7, 6
rgb = rng.integers(0, 256, (h, w, 3), dtype=np.uint8)
y, x = np.mgrid[0:8, 0:12]
smooth = np.stack([x * 20, y * 30, 128 + x * 4], -1).astype(np.uint8)
gray16 = rng.integers(0, 65536, (h, w), dtype=np.uint16)
expected = {}


def add(key, array, **options):
    array = np.asarray(array)
    planes = array[None] if array.ndim == 2 else array.transpose(2, 0, 1)
    expected[key] = {"shape": list(planes.shape), "data": planes.ravel().tolist(), **options}


def image(name):
    return Image.open(here / name)


Image.fromarray(rgb).save(here / "rgb.png")
add("rgb.png", image("rgb.png"), mode="rgb")
add("rgb.png gray", image("rgb.png").convert("L"), mode="gray")
add("rgb.png rgba", image("rgb.png").convert("RGBA"), mode="rgba")
add("rgb.png unchanged", image("rgb.png"), mode="unchanged")

Image.fromarray(np.dstack([rgb, rng.integers(0, 256, (h, w), dtype=np.uint8)])).save(here / "rgba.png")
add("rgba.png rgb", image("rgba.png").convert("RGB"), mode="rgb")
add("rgba.png unchanged", image("rgba.png"), mode="unchanged")
add("rgba.png grayAlpha", image("rgba.png").convert("LA"), mode="grayAlpha")

Image.fromarray(rgb[..., 0]).save(here / "gray.png")
add("gray.png rgb", image("gray.png").convert("RGB"), mode="rgb")
add("gray.png gray", image("gray.png"), mode="gray")
add("gray.png unchanged", image("gray.png"), mode="unchanged")

Image.fromarray(rgb).quantize(8).save(here / "palette.png")
add("palette.png rgb", image("palette.png").convert("RGB"), mode="rgb")

Image.fromarray(gray16).save(here / "gray16.png")
add("gray16.png 16", np.asarray(image("gray16.png")), mode="gray", options={"depth": 16})
add("gray16.png 8", gray16 >> 8, mode="gray")
add("gray.png 16", rgb[..., 0].astype(np.uint16) * 257, mode="gray", options={"depth": 16})

Image.fromarray(rgb).save(here / "rgb.webp", lossless=True)
add("rgb.webp", image("rgb.webp"), mode="rgb")
Image.fromarray(rgb).save(here / "rgb.tif")
add("rgb.tif", image("rgb.tif"), mode="rgb")

exif = Image.Exif()
exif[0x0112] = 6
Image.fromarray(smooth).save(here / "rotated.jpg", quality=95, subsampling=0, exif=exif)
add("rotated.jpg rotated", np.rot90(np.asarray(image("rotated.jpg")), -1), mode="rgb")
add("rotated.jpg", image("rotated.jpg"), mode="rgb", options={"autoOrient": False})
Image.fromarray(smooth).convert("CMYK").save(here / "cmyk.jpg", quality=95, subsampling=0)
add("cmyk.jpg", image("cmyk.jpg").convert("RGB"), mode="rgb")

(here / "expected.json").write_text(json.dumps(expected, separators=(",", ":")) + "\n")
