"""Records summaries of torch.utils.tensorboard for the tests: python3 record.py > summaries.json, then prettier. Needs torch, tensorboard and pillow."""

import base64
import io
import json

import numpy as np
import torch
from PIL import Image
from torch.utils.tensorboard import SummaryWriter, summary

import tempfile

with tempfile.TemporaryDirectory() as folder:
    writer = SummaryWriter(folder)
    default_bins = writer.default_bins
    writer.close()

nan, inf = float("nan"), float("inf")
random = np.random.default_rng(7)
values = {
    "normal": random.normal(0, 0.1, 500).astype(np.float32).tolist(),
    "wide": (random.normal(0, 1, 200) * 10.0 ** random.integers(-15, 22, 200)).astype(np.float32).tolist(),
    "zeros": [0.0, 0.0, -0.0],
    "one": [3.0],
    "ends": [-1e-12, 1e-12, 0.5, 1.0, 2.0, 3.0, 3.0, 4.0],
    "notFinite": [1.0, nan, -2.0, inf, -inf],
    "negative": [-5.0, -3.0, -3.0],
}
bins = {"tensorflow": default_bins, "7": 7, "1": 1, "edges": [-3.0, -1.0, 0.5, 1.0, 3.0], "equalEdges": [0.0, 1.0, 1.0, 3.0]}


def text(number):
    return number if np.isfinite(number) else str(number)


def histogram(data, edges):
    try:
        h = summary.make_histogram(np.array(data, np.float32).astype(float), edges)
    except (ValueError, IndexError) as error:
        return {"error": type(error).__name__}
    return {
        "min": text(h.min), "max": text(h.max), "num": h.num, "sum": text(h.sum), "sumSquares": text(h.sum_squares),
        "limits": list(h.bucket_limit), "counts": list(h.bucket),
    }


def image(tensor, formats):
    made = summary.image("image", tensor, dataformats=formats).value[0].image
    pixels = np.array(Image.open(io.BytesIO(made.encoded_image_string)).convert("RGBA"))
    return {
        "shape": list(tensor.shape), "dtype": str(tensor.dtype).removeprefix("torch."),
        "data": [text(v) for v in tensor.flatten().tolist()], "height": made.height, "width": made.width,
        "rgba": base64.b64encode(pixels.tobytes()).decode(),
    }


torch.manual_seed(3)
ramp = torch.linspace(-0.25, 1.25, 36)
print(json.dumps({
    "values": {name: [text(v) for v in data] for name, data in values.items()},
    "histograms": [
        {"name": name, "bins": kind, "result": histogram(data, edges)}
        for name, data in values.items() for kind, edges in bins.items()
    ],
    "images": [
        image(ramp.reshape(1, 6, 6), "CHW"),
        image(ramp.reshape(3, 3, 4), "CHW"),
        image(ramp.reshape(4, 3, 3), "CHW"),
        image(torch.randint(0, 256, (3, 2, 5), dtype=torch.uint8), "CHW"),
        image(torch.rand(10, 1, 2, 3), "NCHW"),
        image(torch.randint(0, 256, (3, 3, 4, 2), dtype=torch.uint8), "NCHW"),
    ],
}))
